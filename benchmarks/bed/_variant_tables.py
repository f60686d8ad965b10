"""Read a .bim of 300,000 variants, optionally with one allele of 2,000 bases."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks._measure import peak_memory_increase, run_module
from benchmarks.bed._files import write_fam_and_bim
from benchmarks.bed._partial_reads import time_readers
from seqloom.io import open_bed

Reader: TypeAlias = Callable[..., Any]

VARIANT_COUNT = 300_000
INDIVIDUAL_COUNT = 100
TABLE_COLUMNS = (
    "read all six columns of a .bim, ms",
    "seqloom",
    "bed_reader",
    "bed_reader / seqloom",
)
COLUMN_NAMES = ("chromosome", "sid", "cm_position", "bp_position", "allele_1", "allele_2")


def bim_reading_rows(folder: Path) -> tuple[list[Sequence[object]], float]:
    """Time reading .bim files, and return the peak memory with a long allele."""
    path = folder / "table.bed"
    write_fam_and_bim(path, (INDIVIDUAL_COUNT, VARIANT_COUNT))
    ours, theirs = (
        (lambda: _read_all_columns(open_bed, path)),
        (lambda: _read_all_columns(_load_open_bed(), path)),
    )
    for one, other in zip(ours(), theirs(), strict=True):
        assert (one == other).all(), "the readers disagree"
    row = [f"{VARIANT_COUNT:,} variants", *time_readers(ours, theirs, rounds=5)]
    write_fam_and_bim(path, (INDIVIDUAL_COUNT, VARIANT_COUNT), long_allele=2000)
    return [row], run_module("benchmarks.bed._variant_tables", str(path))


def _load_open_bed() -> Reader:
    """Return the class `open_bed` of bed_reader."""
    return import_module("bed_reader").open_bed


def _read_all_columns(reader: Reader, path: Path) -> list[Any]:
    """Read every column of the .bim."""
    bed = reader(path, iid_count=INDIVIDUAL_COUNT, skip_format_check=True)
    return [getattr(bed, name) for name in COLUMN_NAMES]


if __name__ == "__main__":
    print(peak_memory_increase(lambda: _read_all_columns(open_bed, Path(sys.argv[1]))))
