"""Run all benchmarks of .bed files."""

import tempfile
from pathlib import Path

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.bed import (
    _files,
    _partial_reads,
    _speed_by_size,
    _variant_tables,
    _whole_files,
)

SQUARE_FILE_SHAPE = full_or_quick((50_000, 50_000), (10_000, 10_000))
TOUCHED_BYTES = 4 << 30
MAIN_ROWS_PATTERN = (
    r"4,000 x 50,000 float32 F, 1 thread|4,000 x 50,000: (one|random.*float32 F"
    r"(, 1 thread| \|))|from the copy|x 40,000"
)
HIDDEN_ROWS_PATTERN = "new memory|int8 in slices|^The individual-major copy"
NOTES = """
Row names contain the size of the file, individuals x variants. The genotypes are random and
in the page cache. Times are medians. F and C denote the memory order (Fortran or C) of the
result. bed_reader always allocates its result; pgenlib and the NumPy lookup use one thread.
"First touch" writes one byte to each memory page. "All blocks" reads the whole file without
decoding. "From the copy" reads an individual-major copy of the file.
"""


def main() -> None:
    """Create files, check that all libraries read the same values, then time them."""
    _whole_files.touch_new_memory(TOUCHED_BYTES, 1)
    with tempfile.TemporaryDirectory() as name:
        text = "\n\n".join(_page_sections(Path(name)))
    publish_section(
        "bed", text, notes=NOTES, shown=MAIN_ROWS_PATTERN, hidden=HIDDEN_ROWS_PATTERN
    )


def _page_sections(folder: Path) -> list[str]:
    """Yield each table of the page as text."""
    files = [_files.write_bed(folder, shape) for shape in _files.FILE_SHAPES]
    used = [row for file in files for row in _whole_files.time_reused_arrays(file)]
    new = [row for file in files for row in _whole_files.time_new_arrays(file)]
    parts = [row for file in files for row in _partial_reads.partial_read_rows(file)]
    square = _files.write_bed(folder, SQUARE_FILE_SHAPE)
    by_copy, copied = _partial_reads.time_random_samples(square)
    square.path.unlink()
    tables, memory = _variant_tables.bim_reading_rows(folder)
    return [
        markdown_table(_whole_files.REUSED_MEMORY_COLUMNS, used),
        markdown_table(_whole_files.NEW_MEMORY_COLUMNS, new),
        markdown_table(_partial_reads.TABLE_COLUMNS, [*parts, by_copy]),
        markdown_table(_variant_tables.TABLE_COLUMNS, tables),
        markdown_table(_speed_by_size.TABLE_COLUMNS, _speed_by_size.file_size_rows(folder)),
        _describe_copy_and_memory(copied, memory),
    ]


def _describe_copy_and_memory(copied: float, memory: float) -> str:
    """Return sentences about the transposed copy and about the memory of a long allele."""
    size = SQUARE_FILE_SHAPE[0] * SQUARE_FILE_SHAPE[1] / 4e6
    return (
        f"The individual-major copy of {size:,.0f} MB took {copied:.1f} s to create. "
        "Reading a .bim of 300,000 variants with one allele of 2,000 bases adds "
        f"{memory / 1e6:.0f} MB to peak memory.\n\n"
        f"{describe_machine('numpy', 'bed-reader', 'pgenlib', 'seqloom')}"
    )
