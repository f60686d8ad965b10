"""Regression: true against predicted values, and what is left between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.report._panels import Plot, Trace
from seqloom.report._tables import scatter_table
from seqloom.report._theme import Axes, Figure, Theme, figure, style_axes
from seqloom.report._values import Scatter, Section

Floats = NDArray[np.float64]
PANELS_PER_ROW = 3
# The page draws so many outputs and so many records of each; the tables count all.
_MOST_OUTPUTS = 6
_MOST_POINTS = 2000
_MOST_BINS = 40


def scatter_section(scatters: Sequence[Scatter]) -> Section:
    """Makes the section of the page: for each output the values and the residuals."""
    drawn = [it for it in scatters[:_MOST_OUTPUTS] if np.size(it.true)]
    plots = (_values, _over_predicted, _histogram)
    return Section(
        title="True against predicted",
        note="On the dashed line both are the same. A residual is the true value minus the "
        "predicted one; where residuals bend or widen, the model has more to learn."
        f"{_left_out(scatters)}",
        drawings=[plot(it) for it in drawn for plot in plots],
        table=scatter_table(scatters),
    )


def _left_out(scatters: Sequence[Scatter]) -> str:
    """Says what is not drawn."""
    records = np.size(scatters[0].true)
    few = f" Drawn: {_MOST_POINTS:,} of {records:,} records." * (records > _MOST_POINTS)
    others = f" Drawn: the first {_MOST_OUTPUTS} outputs." * (len(scatters) > _MOST_OUTPUTS)
    return few + others


def _values(scatter: Scatter) -> Plot:
    """Plots the true over the predicted values."""
    true, predicted = _sample(scatter)
    ends = [
        float(min(true.min(), predicted.min())),
        float(max(true.max(), predicted.max())),
    ]
    traces = (
        Trace("", ends, ends, shape="guide"),
        Trace("", predicted, true, shape="points"),
    )
    title = f"{scatter.name}: true over predicted"
    return Plot(title, traces, x_label="predicted", y_label="true")


def _over_predicted(scatter: Scatter) -> Plot:
    """Plots residuals over the predicted values."""
    true, predicted = _sample(scatter)
    ends = [float(predicted.min()), float(predicted.max())]
    traces = (
        Trace("", ends, [0, 0], shape="guide"),
        Trace("", predicted, true - predicted, shape="points"),
    )
    title = f"{scatter.name}: residual over prediction"
    return Plot(title, traces, x_label="predicted", y_label="residual")


def _histogram(scatter: Scatter) -> Plot:
    """Plots how the residuals are spread."""
    residuals = scatter.residuals[np.isfinite(scatter.residuals)]
    bins = min(_MOST_BINS, len(np.histogram_bin_edges(residuals, "auto")) - 1)
    counts, edges = np.histogram(residuals, bins)
    bars = Trace("", edges, counts, shape="bars")
    title = f"{scatter.name}: how residuals are spread"
    return Plot(title, (bars,), x_label="residual", y_label="records")


def _sample(scatter: Scatter) -> tuple[Floats, Floats]:
    """Takes every so-manieth record, so that the page stays small."""
    step = -(-np.size(scatter.true) // _MOST_POINTS)
    true, predicted = np.asarray(scatter.true, float), np.asarray(scatter.predicted, float)
    return true[:: max(step, 1)], predicted[:: max(step, 1)]


def draw_scatters(scatters: Sequence[Scatter], theme: Theme) -> Figure:
    """Draws one square panel for each output, for a file of their own."""
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
    style_axes(axes, theme, scatter.name)
    true, predicted = np.asarray(scatter.true), np.asarray(scatter.predicted)
    fade = float(np.clip(40 / np.sqrt(max(true.size, 1)), 0.05, 0.8))
    axes.scatter(true, predicted, s=16, alpha=fade, color=theme.accent, linewidths=0)
    axes.axline((0, 0), slope=1, color=theme.faint_text, lw=1, ls=(0, (3, 3)), zorder=1)
    bounds = np.concatenate([true, predicted, [0.0] if not true.size else []])
    margin = 0.04 * float(np.ptp(bounds)) or 0.5
    limits = float(bounds.min()) - margin, float(bounds.max()) + margin
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    axes.set_xlabel("true", fontsize=9)
    axes.set_ylabel("predicted", fontsize=9)
