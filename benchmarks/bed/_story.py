"""Everything about .bed files, in one run."""

import tempfile
from pathlib import Path

from benchmarks._measure import pick
from benchmarks._page import machine, publish, table
from benchmarks.bed import _curve, _files, _parts, _tables, _whole

SQUARE = pick((50_000, 50_000), (10_000, 10_000))
TOUCHED = 4 << 30


def main() -> None:
    """Make files, checks that all sides read the same, then times them."""
    _whole.touch(TOUCHED, 1)
    with tempfile.TemporaryDirectory() as name:
        publish("bed", "\n\n".join(_sections(Path(name))))


def _sections(folder: Path) -> list[str]:
    """Measure every table."""
    files = [_files.write(folder, shape) for shape in _files.SHAPES]
    used = [row for file in files for row in _whole.into_used(file)]
    new = [row for file in files for row in _whole.into_new(file)]
    parts = [row for file in files for row in _parts.rows(file)]
    square = _files.write(folder, SQUARE)
    by_copy, copied = _parts.samples(square)
    square.path.unlink()
    tables, memory = _tables.rows(folder)
    return [
        table(_whole.HEAD_USED, used),
        table(_whole.HEAD_NEW, new),
        table(_parts.HEAD, [*parts, by_copy]),
        table(_tables.HEAD, tables),
        table(_curve.HEAD, _curve.rows(folder)),
        _notes(copied, memory),
    ]


def _notes(copied: float, memory: float) -> str:
    """Say what was measured."""
    size = SQUARE[0] * SQUARE[1] / 4e6
    return (
        f"Random genotypes; files in the system's cache; {TOUCHED >> 30} GiB of memory "
        "were touched and given back before. All sides of a row were seen to read the "
        "same, then timed in turn; a figure is a median (of one variant, of 50 calls in a "
        "row). bed_reader gives new memory each "
        "time; pgenlib and the NumPy look-up have one thread and write variants by "
        "individuals. First touch: as much new memory, a byte of each page written by as "
        "many threads (of parts, one). All blocks: the whole file read block by block, and "
        "nothing done with it. "
        f"The individual-major copy of {size:,.0f} MB took {copied:.1f} s to make, once. "
        "Reading a .bim of 300,000 variants with one allele of 2,000 letters "
        f"adds {memory / 1e6:.0f} MB to the peak of memory.\n\n"
        f"{machine('numpy', 'bed-reader', 'pgenlib', 'seqloom')}"
    )
