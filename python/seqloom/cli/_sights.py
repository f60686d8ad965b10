"""What `seqloom inspect` draws: lengths as bars, qualities and letters by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from seqloom.cli._columns import draw_columns, squeeze

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from seqloom.io import Summary

BAR_WIDTH = 40
_QUALITY_ROWS = 4
_TOP_SCORE = 40
_BASES = {"dna": "ACGTN", "rna": "ACGUN"}


def draw_lengths(summary: Summary, *, is_plain: bool) -> Table | None:
    """Draws how the lengths are spread, a bar a bin; nothing where all are the same."""
    if summary.shortest == summary.longest:
        return None
    rows = [(_span(group.start, group.stop), group.records) for group in summary.histogram]
    return _bars("length", rows, is_plain=is_plain)


def draw_means(summary: Summary, *, is_plain: bool) -> Table | None:
    """Draws how the mean qualities of sequences are spread, in fives."""
    if summary.quality is None:
        return None
    fives: dict[int, int] = {}
    for row in summary.quality.by_read:
        fives[row.score // 5 * 5] = fives.get(row.score // 5 * 5, 0) + row.records
    rows = [(f"{score} to {score + 4}", n) for score, n in fives.items()]
    return _bars("mean quality", rows, is_plain=is_plain)


def draw_positions(summary: Summary, *, is_plain: bool) -> Iterator[Text]:
    """Draws qualities and bases by position, a column a position or a few of them."""
    means = [position.mean_quality or 0.0 for position in summary.positions]
    if summary.quality is not None and means:
        yield Text("\nmean quality by position", style="bold")
        yield from _qualities(squeeze(means), is_plain=is_plain)
        yield _axis(summary, len(squeeze(means)))
    if summary.alphabet in _BASES:
        yield from _shares(summary, _BASES[summary.alphabet], is_plain=is_plain)
        yield _axis(summary, len(squeeze(means)))


def _qualities(means: Sequence[float], *, is_plain: bool) -> Iterator[Text]:
    """Draws mean qualities, and writes the scale to the left."""
    top = max(_TOP_SCORE, *means)
    lines = draw_columns(means, top, rows=_QUALITY_ROWS, is_plain=is_plain)
    for row, line in enumerate(lines):
        yield Text(f"{top * (_QUALITY_ROWS - row) / _QUALITY_ROWS:>6.0f} {line}")


def _shares(summary: Summary, bases: str, *, is_plain: bool) -> Iterator[Text]:
    """Draws a line for each base that is met, all to one scale."""
    met = [base for base in bases if base in summary.letters]
    rows = {base: squeeze(_share(summary, base)) for base in met}
    top = max((value for row in rows.values() for value in row), default=1.0)
    total = sum(summary.letters.values())
    yield Text(f"\nbases by position, columns from 0 to {100 * top:.0f} %", style="bold")
    for base, row in rows.items():
        (line,) = draw_columns(row, top, is_plain=is_plain)
        yield Text(f"{base:>6} {line}  {100 * summary.letters[base] / total:.1f} %")


def _share(summary: Summary, base: str) -> list[float]:
    """Gives a base's share at each position."""
    return [
        position.letters.get(base, 0) / max(sum(position.letters.values()), 1)
        for position in summary.positions
    ]


def _axis(summary: Summary, width: int) -> Text:
    """Writes the first and the last position under the columns."""
    last = f"{summary.longest - 1:,}"
    gap = max(width - 1 - len(last), 1)
    return Text(f"{'':>7}0{'':{gap}}{last}" if summary.longest > 1 else f"{'':>7}0", "dim")


def _bars(name: str, rows: Sequence[tuple[str, int]], *, is_plain: bool) -> Table:
    """Draws a bar a row."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column(name, justify="right")
    table.add_column("records", justify="right")
    table.add_column("")
    most = max(records for _, records in rows)
    for words, records in rows:
        width = -(-BAR_WIDTH * records // most)
        table.add_row(words, f"{records:,}", ("#" if is_plain else "█") * width)
    return table


def is_plain(console: Console) -> bool:
    """Says whether a console takes plain characters only."""
    return not console.encoding.startswith("utf")


def _span(start: int, stop: int) -> str:
    """Spells a bin."""
    return f"{start:,}" if start == stop else f"{start:,} to {stop:,}"
