"""Read files of increasing size in slices of variants, into the same memory."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._measure import full_or_quick, read_blocks, time_alternately
from benchmarks.bed import _files
from benchmarks.bed._whole_files import THREAD_COUNTS
from seqloom.io import open_bed

TABLE_COLUMNS = (
    "reading int8 in slices, GB/s of .bed",
    "file, GB",
    "1 thread",
    "2 threads",
    "blocks only",
)
INDIVIDUAL_COUNT = 50_000
SIZES_GB = full_or_quick((0.1, 0.5, 2.0, 4.0), (0.1, 0.5))
VARIANTS_PER_SLICE = 2000


def file_size_rows(folder: Path) -> list[Sequence[object]]:
    """Read files of up to 4 GB or a tenth of the free disk space."""
    most = min(SIZES_GB[-1], shutil.disk_usage(folder).free / 10 / 1e9)
    sizes = sorted({min(size, most) for size in SIZES_GB})
    return [_measure_size(folder, size) for size in sizes]


def _measure_size(folder: Path, size: float) -> Sequence[object]:
    """Create a .bed file, time its readers, and remove it."""
    variants = int(size * 1e9 / (INDIVIDUAL_COUNT / 4))
    file = _files.write_bed(folder, (INDIVIDUAL_COUNT, variants), name="curve")
    out = np.zeros((INDIVIDUAL_COUNT, VARIANTS_PER_SLICE), np.int8, order="F")
    sides = {
        str(threads): (lambda threads=threads: _read_in_slices(file, out, threads))
        for threads in THREAD_COUNTS
    }
    seconds = time_alternately(
        {**sides, "blocks": lambda: read_blocks(file.path)}, rounds=2
    )
    file.path.unlink()
    speeds = [f"{size / min(taken):.2f}" for taken in seconds.values()]
    return [str(file), f"{size:.1f}", *speeds]


def _read_in_slices(file: _files.BedFile, out: np.ndarray, threads: int) -> None:
    """Read a file in slices of variants."""
    bed = open_bed(file.path, num_threads=threads)
    for first in range(0, file.shape[1], VARIANTS_PER_SLICE):
        part = out[:, : min(VARIANTS_PER_SLICE, file.shape[1] - first)]
        index = np.s_[:, first : first + part.shape[1]]
        bed.read(index, dtype="int8", out=part)
