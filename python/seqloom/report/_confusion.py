"""Confusion matrices: as a figure, as counts, and as precision and recall of each class."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqloom.report._figure import Figure
from seqloom.report._html import show_text
from seqloom.report._interval import percent
from seqloom.report._values import Confusion, Table

# With more classes than this, cells have no room for numbers.
MAX_WITH_NUMBERS = 12
# A cell with a larger share is so dark that its numbers take the colour of the paper.
_DARK_CELL = 0.5
# The widths of a cell, of all cells of a matrix with few classes, and of a character.
_LARGEST, _WITH_NUMBERS, _SMALLEST = 96, 54, 13
_CELLS, _CHARACTER = 300, 7
# A wider figure would be illegible on a telephone without scrolling.
_WIDEST = 400
# Longer names are cut; the tables have them in full.
_MAX_NAME = 24
# The heights of a line of names and of the name of an axis, and the gap between cells.
_LINE, _AXIS, _GAP = 20, 22, 3


def draw_confusion(confusion: Confusion) -> Figure:
    """Draws the matrix with true classes as rows; colour shows the share of the row."""
    names = [_cut(name) for name in confusion.classes]
    least = _WITH_NUMBERS if len(names) <= MAX_WITH_NUMBERS else _SMALLEST
    cell = max(least, min(_LARGEST, _CELLS // len(names)))
    margin = _CHARACTER * max(map(len, names)) + 8
    side, width = cell * len(names), _AXIS + margin + cell * len(names)
    matrix = "".join((*_cells(confusion, cell), *_labels(names, cell, margin)))
    return Figure(
        title=f"{confusion.name}: {confusion.total:,} records",
        width=width,
        height=side + (margin if margin > cell else _LINE) + _AXIS,
        body=f'<g transform="translate({_AXIS + margin} 0)">{matrix}</g>',
        least_width=round(0.8 * width) if width > _WIDEST else 0,
    )


def _cut(name: str) -> str:
    """Shortens a long name."""
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def _cells(confusion: Confusion, cell: int) -> Iterator[str]:
    """Draws the cells; a pointer on one shows what it counts."""
    matrix, names = confusion.matrix, [show_text(it) for it in confusion.classes]
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    has_numbers, size = len(names) <= MAX_WITH_NUMBERS, cell - _GAP
    for (row, column), count in np.ndenumerate(matrix):
        if not count and not has_numbers:
            continue
        share = float(shares[row, column])
        # The square root makes rare mistakes visible.
        weight = 0.06 + 0.94 * (share if row == column else share**0.5)
        colour = f'class="cell c{int(row != column)}" fill-opacity="{weight:.3f}"'
        title = f"{names[row]} predicted as {names[column]}: {count:,} ({percent(share)})"
        yield f'<g transform="translate({column * cell} {row * cell})">'
        yield f'<title>{title}</title><rect width="{size}" height="{size}" {colour}/>'
        if has_numbers:
            ink = "paper" if share > _DARK_CELL else "ink"
            place = f'text-anchor="middle" x="{size / 2}"'
            yield f'<text class="count {ink}" {place} y="{size / 2}">{count:,}</text>'
            place = f'{place} y="{size / 2 + 16}"'
            yield f'<text class="{ink}" {place}>{percent(share)}</text>'
        yield "</g>"


def _labels(names: list[str], cell: int, margin: int) -> Iterator[str]:
    """Names the rows, the columns (vertically if a name is wider than a cell), and axes."""
    side, is_vertical = cell * len(names), margin > cell
    for number, name in enumerate(map(show_text, names)):
        middle = (number + 0.5) * cell - _GAP / 2
        yield f'<text x="-8" y="{middle + 4:g}" text-anchor="end">{name}</text>'
        place = f'x="{middle:g}" y="{side + 14}" text-anchor="middle"'
        if is_vertical:
            turned = f"translate({middle + 4:g} {side + 4}) rotate(-90)"
            place = f'transform="{turned}" text-anchor="end"'
        yield f"<text {place}>{name}</text>"
    bottom = side + (margin if is_vertical else _LINE) + 14
    yield f'<text x="{side / 2:g}" y="{bottom}" text-anchor="middle">predicted</text>'
    turned = f"translate({-margin - 8} {side / 2:g}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">true</text>'


def class_table(confusion: Confusion) -> Table:
    """Computes precision, recall and F1 of every class.

    Args:
        confusion: The counts, with true classes as rows.

    Returns:
        A table with a row for each class; NaN where a class was never predicted, or has no
        records.

    Examples:
        >>> table = class_table(Confusion("test", ("a", "b"), [[3, 1], [0, 4]]))
        >>> table.rows[1]
        ('b', 4, 0.8, 1.0, 0.8888888888888888)
    """
    matrix = confusion.matrix
    hits, called, records = matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1)
    shares = _divide(hits, called), _divide(hits, records)
    columns = (*shares, _divide(2 * hits, called + records))
    rows = zip(
        confusion.classes,
        records.tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    )
    names = ("class", "records", "precision", "recall", "F1")
    return Table(f"Each class ({confusion.name})", names, [tuple(row) for row in rows])


def _divide(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divides, with NaN where there is nothing to divide by."""
    missing = np.full(part.shape, np.nan)
    return np.divide(part, whole, out=missing, where=whole > 0)


def confusion_table(confusion: Confusion) -> Table:
    """Lists the counts, with true classes as rows."""
    names = ("true \\ predicted", *confusion.classes)
    counts = confusion.matrix.tolist()
    rows = [(name, *row) for name, row in zip(confusion.classes, counts, strict=True)]
    return Table(f"Counts ({confusion.name})", names, rows)
