"""The functions and classes of bed_reader 1.1, implemented by seqloom.

To use seqloom, change ``import bed_reader`` to ``import seqloom.compat.bed_reader as
bed_reader``.

`open_bed`, `to_bed` and `create_bed` behave like the functions of `seqloom.io`, but also
accept the old argument names ``filepath``, ``fam_filepath`` and ``bim_filepath``. The
argument ``force_python_only`` is ignored, because seqloom always decodes genotypes in Rust.

Some functions of bed_reader's extension module are missing, because they do not read
genotypes. The missing functions multiply a memory-mapped matrix (``file_ata_piece_*``,
``file_aat_piece_*``, ``file_dot_piece``, ``file_b_less_aatbx``), copy float32 subsets
(``subset_f32_f32``, ``subset_f32_f64``) or standardise values (``standardize_*``). The
functions ``read_*``, ``write_*`` and ``encode1_*`` are missing because bed_reader uses
them only internally.
"""

from seqloom.compat.bed_reader._open_bed import (
    create_bed,
    get_num_threads,
    open_bed,
    subset_f64_f64,
    to_bed,
)
from seqloom.compat.bed_reader._sample_data import sample_file, sample_url, tmp_path

__all__ = [
    "create_bed",
    "get_num_threads",
    "open_bed",
    "sample_file",
    "sample_url",
    "subset_f64_f64",
    "tmp_path",
    "to_bed",
]
