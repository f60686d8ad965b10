"""Sections of a run's page: the learning curve, and true against predicted values."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from seqloom.report._values import Curve, Plot, Scatter, Section, Table, Trace

Floats = NDArray[np.float64]
# Fewer epochs than these are drawn as points.
_FEWEST_FOR_A_LINE = 3
# The page draws this number of outputs, and of records of each; the tables count all.
_MAX_OUTPUTS = 6
_MAX_POINTS = 2000
_MAX_BINS = 40


def curve_section(curves: Sequence[Curve], best_epoch: int | None) -> Section:
    """Makes a section with a plot of each quantity by epoch."""
    names = [f"{line} {curve.name}" for curve in curves for line in curve.series]
    lines = [values for curve in curves for values in curve.series.values()]
    rows = [(epoch, *values) for epoch, values in enumerate(zip(*lines, strict=True), 1)]
    return Section(
        title="Learning curve",
        drawings=[plot_curve(curve, best_epoch) for curve in curves],
        details=Table("Every epoch", ("epoch", *names), rows),
    )


def plot_curve(curve: Curve, best_epoch: int | None) -> Plot:
    """Plots one quantity; the last series, which chose the epoch, has the first colour."""
    traces = [trace_epochs(name, it) for name, it in reversed([*curve.series.items()])]
    if best_epoch is not None:
        kept = f"epoch {best_epoch}, kept"
        traces.append(Trace(kept, [best_epoch] * 2, [-inf, inf], shape="guide"))
    return Plot(curve.name, traces, x_label="epoch", y_label=curve.name, x_scale="whole")


def trace_epochs(name: str, values: Sequence[float]) -> Trace:
    """Traces the values of all epochs, from the first."""
    shape = "line" if len(values) >= _FEWEST_FOR_A_LINE else "points"
    return Trace(name, range(1, len(values) + 1), values, shape=shape)


def scatter_section(scatters: Sequence[Scatter]) -> Section:
    """Makes a section with the values and the residuals of each output."""
    records = np.size(scatters[0].true)
    note = (
        "On the dashed line both are the same. A residual is the true value minus the "
        "predicted one; where residuals bend or widen, the model has more to learn."
    )
    if records > _MAX_POINTS:
        note += f" Drawn: {_MAX_POINTS:,} of {records:,} records."
    if len(scatters) > _MAX_OUTPUTS:
        note += f" Drawn: the first {_MAX_OUTPUTS} outputs."
    plots = (plot_values, _plot_residuals, _plot_histogram)
    drawn = [it for it in scatters[:_MAX_OUTPUTS] if np.size(it.true)]
    names = ("output", "records", "typical error", "correlation")
    return Section(
        title="True against predicted",
        note=note,
        drawings=[plot(it) for it in drawn for plot in plots],
        table=Table(
            "True against predicted",
            (*names, "mean residual", "their deviation"),
            [(it.name, np.size(it.true), *_describe(it)) for it in scatters],
        ),
    )


def _describe(scatter: Scatter) -> tuple[float, ...]:
    """Gives error, correlation, and mean and deviation of residuals; NaN without any."""
    residuals = scatter.residuals
    if not residuals.size:
        return (nan,) * 4
    pair = np.asarray([scatter.true, scatter.predicted], float)
    varies = bool(np.all(np.ptp(pair, axis=1)))
    correlation = float(np.corrcoef(pair)[0, 1]) if varies else nan
    error = float(np.sqrt(np.mean(residuals**2)))
    return error, correlation, float(residuals.mean()), float(residuals.std())


def plot_values(scatter: Scatter) -> Plot:
    """Plots the true over the predicted values."""
    true, predicted = _sample(scatter)
    both = np.concatenate([true, predicted])
    ends = [float(both.min()), float(both.max())]
    traces = (
        Trace("", ends, ends, shape="guide"),
        Trace("", predicted, true, shape="points"),
    )
    title = f"{scatter.name}: true over predicted"
    return Plot(title, traces, x_label="predicted", y_label="true")


def _plot_residuals(scatter: Scatter) -> Plot:
    """Plots residuals over the predicted values."""
    true, predicted = _sample(scatter)
    traces = (
        Trace("", [-inf, inf], [0, 0], shape="guide"),
        Trace("", predicted, true - predicted, shape="points"),
    )
    title = f"{scatter.name}: residual over prediction"
    return Plot(title, traces, x_label="predicted", y_label="residual")


def _plot_histogram(scatter: Scatter) -> Plot:
    """Plots how the residuals are distributed."""
    residuals = scatter.residuals[np.isfinite(scatter.residuals)]
    bins = min(_MAX_BINS, len(np.histogram_bin_edges(residuals, "auto")) - 1)
    counts, edges = np.histogram(residuals, bins)
    bars = Trace("", edges, counts, shape="bars")
    title = f"{scatter.name}: how residuals are spread"
    return Plot(title, (bars,), x_label="residual", y_label="records", y_scale="whole")


def _sample(scatter: Scatter) -> tuple[Floats, Floats]:
    """Takes records at equal distances, so that the page stays small."""
    step = max(1, -(-np.size(scatter.true) // _MAX_POINTS))
    true, predicted = np.asarray(scatter.true, float), np.asarray(scatter.predicted, float)
    return true[::step], predicted[::step]
