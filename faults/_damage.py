"""Test reading of files that are truncated anywhere, or that have a flipped bit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from faults._apart import run_apart
from faults._story import Case, digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from faults._sweep import ReaderSweep

# Maximum numbers of prefixes and bits to try for a file, at equal distances.
MAX_PREFIXES, MAX_BITS = 100, 400


def damage_cases(sweep: ReaderSweep) -> Iterator[Case]:
    """Yield a case for each prefix, and for each flipped bit, of each file of a reader."""
    for path in sorted(path for path in sweep.before.rglob("*") if path.is_file()):
        name, size = str(path.relative_to(sweep.before)), path.stat().st_size
        for length in range(0, size, -(-size // MAX_PREFIXES)):
            place = f"{name}, cut at byte {length}"
            yield Case(place, partial(_try_damage, sweep, name, length=length))
        for bit in range(0, 8 * size, -(-8 * size // MAX_BITS)):
            place = f"{name}, bit {bit} flipped"
            yield Case(place, partial(_try_damage, sweep, name, bit=bit))


def _try_damage(
    sweep: ReaderSweep, name: str, *, length: int | None = None, bit: int = 0
) -> Iterator[str]:
    """Damage a file, read it, and yield the errors."""
    sweep.reset()
    path = sweep.place / name
    _damage(path, length=length, bit=bit)
    before = digest(path)
    outcome = run_apart(lambda: sweep.reader.read(sweep.place))
    yield from sweep.check(
        outcome, [sweep.whole.value] if sweep.reader.is_checked else None
    )
    if digest(path) != before:
        yield "the reader has changed the file"


def _damage(path: Path, *, length: int | None, bit: int) -> None:
    """Truncate a file, or flip one of its bits."""
    data = bytearray(path.read_bytes())
    if length is None:
        data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data[:length])
