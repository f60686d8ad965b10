"""True against predicted values, with the line on which a perfect model would lie."""

from collections.abc import Sequence

import numpy as np

from seqloom.report._theme import Axes, Figure, Theme, dress, figure
from seqloom.report._values import Scatter

PANELS_PER_ROW = 3


def draw_scatters(scatters: Sequence[Scatter], theme: Theme) -> Figure:
    """Draws one square panel for each output."""
    columns = min(PANELS_PER_ROW, len(scatters))
    rows = -(-len(scatters) // columns)
    whole = figure(4.6 * columns, 4.4 * rows, theme)
    grid = whole.subplots(rows, columns, squeeze=False).ravel()
    for axes, scatter in zip(grid, scatters, strict=False):
        _draw_panel(axes, scatter, theme)
    for axes in grid[len(scatters) :]:
        axes.set_visible(False)
    return whole


def _draw_panel(axes: Axes, scatter: Scatter, theme: Theme) -> None:
    """Draws the points on equal axes; many points fade, so that their density shows."""
    dress(axes, theme, scatter.name)
    true, predicted = np.asarray(scatter.true), np.asarray(scatter.predicted)
    fade = float(np.clip(40 / np.sqrt(max(true.size, 1)), 0.05, 0.8))
    axes.scatter(true, predicted, s=16, alpha=fade, color=theme.accent, linewidths=0)
    axes.axline((0, 0), slope=1, color=theme.quiet, lw=1, ls=(0, (3, 3)), zorder=1)
    bounds = np.concatenate([true, predicted, [0.0] if not true.size else []])
    margin = 0.04 * float(np.ptp(bounds)) or 0.5
    limits = float(bounds.min()) - margin, float(bounds.max()) + margin
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    axes.set_xlabel("true", fontsize=9)
    axes.set_ylabel("predicted", fontsize=9)
