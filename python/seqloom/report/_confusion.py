"""The confusion matrix: counts, and each row's shares as colour and as per cent.

What is right takes one colour, what is wrong another, and rare mistakes are lifted, so that
the eye finds the cells that matter.
"""

import numpy as np
from numpy.typing import NDArray

from seqloom.report._percent import percent
from seqloom.report._theme import Axes, Figure, Theme, figure, style_axes
from seqloom.report._values import Confusion

# With more classes than this the figures no longer fit into their cells.
MOST_WITH_FIGURES = 12
# From this share on a cell is so dark that its figures take the colour of the paper.
DARK_CELL = 0.5
# Names longer than this stand upright below their columns.
LONGEST_LEVEL_NAME = 8


def draw_confusion(confusion: Confusion, theme: Theme) -> Figure:
    """Draws the matrix with true classes as rows."""
    side = min(10.0, 2.2 + 0.85 * len(confusion.classes))
    whole = figure(side + 0.4, side, theme)
    axes = whole.subplots()
    axes.imshow(_tint(_row_shares(confusion.matrix), theme))
    _label(axes, confusion, theme)
    if len(confusion.classes) <= MOST_WITH_FIGURES:
        _write_figures(axes, confusion.matrix, theme)
    return whole


def _row_shares(matrix: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divides each row by its sum; an empty row is all zeros."""
    totals = matrix.sum(axis=1, keepdims=True)
    return matrix / np.maximum(totals, 1)


def _tint(shares: NDArray[np.float64], theme: Theme) -> NDArray[np.float64]:
    """Mixes each cell's colour, shape ``(true, predicted, 3)``."""
    from matplotlib.colors import to_rgb

    paper, right, wrong = (
        np.array(to_rgb(c)) for c in (theme.background, theme.accent, theme.wrong)
    )
    diagonal = np.eye(len(shares), dtype=bool)
    weight = np.where(diagonal, shares, np.sqrt(shares))[..., None]
    full = np.where(diagonal[..., None], right, wrong)
    return (1 - weight) * (0.94 * paper + 0.06 * full) + weight * full


def _label(axes: Axes, confusion: Confusion, theme: Theme) -> None:
    """Names rows and columns and parts the cells by the colour of the paper."""
    style_axes(axes, theme, f"{confusion.name}: {confusion.total:,} records")
    positions, names = range(len(confusion.classes)), confusion.classes
    upright = max(map(len, names)) > LONGEST_LEVEL_NAME
    axes.set_xticks(positions, names, rotation=90 if upright else 0)
    axes.set_yticks(positions, names)
    axes.set_xlabel("predicted", fontsize=9)
    axes.set_ylabel("true", fontsize=9)
    edges = np.arange(len(names) + 1) - 0.5
    axes.set_xticks(edges, minor=True)
    axes.set_yticks(edges, minor=True)
    axes.grid(visible=False, which="major")
    axes.grid(which="minor", color=theme.background, linewidth=3)
    axes.tick_params(which="minor", length=0)


def _write_figures(axes: Axes, matrix: NDArray[np.int64], theme: Theme) -> None:
    """Writes the count and, smaller, the share of the row into every cell."""
    shares = _row_shares(matrix)
    for (row, column), count in np.ndenumerate(matrix):
        share = float(shares[row, column])
        colour = theme.background if share > DARK_CELL else theme.text
        centre = {"ha": "center", "color": colour}
        axes.text(column, row - 0.02, f"{count:,}", va="bottom", fontsize=13, **centre)
        axes.text(column, row + 0.06, percent(share), va="top", fontsize=8.5, **centre)
