"""Everything that users of bed_reader 1.1 call, done by seqloom.

Change ``import bed_reader`` to ``import seqloom.compat.bed_reader as bed_reader``.

`open_bed`, `to_bed` and `create_bed` are those of `seqloom.io`. They also take the old
names of paths (``filepath``, ``fam_filepath``, ``bim_filepath``), and accept and ignore
``force_python_only``: genotypes are always decoded in Rust.

What bed_reader offers from its extension module and is no genotype file stays out, for
seqloom would be no better a home for it: ``file_ata_piece_*``, ``file_aat_piece_*``,
``file_dot_piece`` and ``file_b_less_aatbx`` (products of a matrix of float64 in a mapped
file), ``subset_f32_f32`` and ``subset_f32_f64`` (NumPy's indexing), ``standardize_f32`` and
``standardize_f64``. ``read_*``, ``write_*`` and ``encode1_*`` are what `open_bed`, `to_bed`
and `create_bed` call inside bed_reader.
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
