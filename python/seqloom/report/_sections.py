"""Creates the learning curves, regression plots and confusion matrices of a page."""

from collections.abc import Iterator, Sequence
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from seqloom.report._figure import Figure, html_text
from seqloom.report._interval import percent
from seqloom.report._values import Confusion, Curve, Plot, Scatter, Section, Table, Trace

Floats = NDArray[np.float64]
# Learning curves with fewer epochs than this are drawn as points.
_MIN_EPOCHS_FOR_LINE = 3
# Maximum number of regression outputs in plots, and of records per plot. Tables are
# computed from all records.
_MAX_PLOTTED_OUTPUTS = 6
_MAX_PLOTTED_RECORDS = 2000
_MAX_HISTOGRAM_BINS = 40


def make_curve_section(curves: Sequence[Curve], best_epoch: int | None) -> Section:
    """Return a section with a plot of each quantity by epoch."""
    names = [f"{line} {curve.name}" for curve in curves for line in curve.series]
    lines = [values for curve in curves for values in curve.series.values()]
    rows = [(epoch, *values) for epoch, values in enumerate(zip(*lines, strict=True), 1)]
    return Section(
        title="Learning curve",
        drawings=[plot_curve(curve, best_epoch) for curve in curves],
        details=Table("All epochs", ("epoch", *names), rows),
    )


def plot_curve(curve: Curve, best_epoch: int | None) -> Plot:
    """Plot one quantity by epoch; the last line (validation) has the first colour."""
    traces = [make_epoch_trace(name, it) for name, it in reversed([*curve.series.items()])]
    if best_epoch is not None:
        kept = f"epoch {best_epoch} (best)"
        traces.append(Trace(kept, [best_epoch] * 2, [-inf, inf], shape="guide"))
    return Plot(curve.name, traces, x_label="epoch", y_label=curve.name, x_scale="whole")


def make_epoch_trace(name: str, values: Sequence[float]) -> Trace:
    """Return a line of a plot with one value for each epoch."""
    shape = "line" if len(values) >= _MIN_EPOCHS_FOR_LINE else "points"
    return Trace(name, range(1, len(values) + 1), values, shape=shape)


def make_scatter_section(scatters: Sequence[Scatter]) -> Section:
    """Return a section with the values and the residuals of each output."""
    records = np.size(scatters[0].true)
    note = (
        "On the dashed line, the predicted value equals the true value. A residual is the "
        "true value minus the predicted value. If the mean or the spread of "
        "the residuals changes along the axis, the model has systematic errors."
    )
    if records > _MAX_PLOTTED_RECORDS:
        note += f" Shown: {_MAX_PLOTTED_RECORDS:,} of {records:,} records."
    if len(scatters) > _MAX_PLOTTED_OUTPUTS:
        note += f" Shown: the first {_MAX_PLOTTED_OUTPUTS} outputs."
    plots = (plot_predictions, _plot_residuals, _plot_histogram)
    drawn = [it for it in scatters[:_MAX_PLOTTED_OUTPUTS] if np.size(it.true)]
    names = ("output", "records", "RMSE", "correlation")
    return Section(
        title="True and predicted values",
        note=note,
        drawings=[plot(it) for it in drawn for plot in plots],
        table=Table(
            "True and predicted values",
            (*names, "mean residual", "SD of residuals"),
            [(it.name, np.size(it.true), *_compute_metrics(it)) for it in scatters],
        ),
    )


def _compute_metrics(scatter: Scatter) -> tuple[float, ...]:
    """Return RMSE, correlation, and the mean and SD of residuals; NaN without records."""
    residuals = scatter.residuals
    if not residuals.size:
        return (nan,) * 4
    pair = np.asarray([scatter.true, scatter.predicted], float)
    varies = bool(np.all(np.ptp(pair, axis=1)))
    correlation = float(np.corrcoef(pair)[0, 1]) if varies else nan
    error = float(np.sqrt(np.mean(residuals**2)))
    return error, correlation, float(residuals.mean()), float(residuals.std())


def plot_predictions(scatter: Scatter) -> Plot:
    """Plot the true values against the predicted values."""
    true, predicted = _sample_records(scatter)
    both = np.concatenate([true, predicted])
    ends = [float(both.min()), float(both.max())]
    traces = (
        Trace("", ends, ends, shape="guide"),
        Trace("", predicted, true, shape="points"),
    )
    title = f"{scatter.name}: true vs. predicted"
    return Plot(title, traces, x_label="predicted", y_label="true")


def _plot_residuals(scatter: Scatter) -> Plot:
    """Plot the residuals against the predicted values."""
    true, predicted = _sample_records(scatter)
    traces = (
        Trace("", [-inf, inf], [0, 0], shape="guide"),
        Trace("", predicted, true - predicted, shape="points"),
    )
    title = f"{scatter.name}: residual vs. predicted"
    return Plot(title, traces, x_label="predicted", y_label="residual")


def _plot_histogram(scatter: Scatter) -> Plot:
    """Plot the distribution of the residuals."""
    residuals = scatter.residuals[np.isfinite(scatter.residuals)]
    bins = min(_MAX_HISTOGRAM_BINS, len(np.histogram_bin_edges(residuals, "auto")) - 1)
    counts, edges = np.histogram(residuals, bins)
    bars = Trace("", edges, counts, shape="bars")
    title = f"{scatter.name}: distribution of residuals"
    return Plot(title, (bars,), x_label="residual", y_label="records", y_scale="whole")


def _sample_records(scatter: Scatter) -> tuple[Floats, Floats]:
    """Select records at equal steps, to limit the size of the page."""
    step = max(1, -(-np.size(scatter.true) // _MAX_PLOTTED_RECORDS))
    true, predicted = np.asarray(scatter.true, float), np.asarray(scatter.predicted, float)
    return true[::step], predicted[::step]


# Confusion matrices with more classes than this have no numbers in their cells.
MAX_NUMBERED_CLASSES = 12
# Cells above this fraction are dark, so their numbers have the background colour.
_MIN_DARK_CELL_SHARE = 0.5
# Widths of a cell (minimum, maximum), of all cells of a small matrix, of a character.
_MAX_CELL_PX, _MIN_NUMBERED_CELL_PX, _MIN_CELL_PX = 96, 54, 13
_CELLS_WIDTH, _CHARACTER_WIDTH = 300, 7
# Wider plots than this have a scroll bar, so that they are legible on a phone.
_MAX_PLOT_WIDTH = 400
# Class names longer than this are shortened in plots; tables contain the full names.
_MAX_NAME_CHARACTERS = 24
# Heights of a row of class names and of an axis label, and the gap between cells.
_NAME_HEIGHT, _AXIS_HEIGHT, _CELL_GAP = 20, 22, 3


def draw_confusion(confusion: Confusion) -> Figure:
    """Draw a confusion matrix, with colours for the fractions of a true class (row)."""
    names = [_shorten_class_name(name) for name in confusion.classes]
    least = _MIN_NUMBERED_CELL_PX if len(names) <= MAX_NUMBERED_CLASSES else _MIN_CELL_PX
    cell = max(least, min(_MAX_CELL_PX, _CELLS_WIDTH // len(names)))
    margin = _CHARACTER_WIDTH * max(map(len, names)) + 8
    side, width = cell * len(names), _AXIS_HEIGHT + margin + cell * len(names)
    matrix = "".join((*_draw_cells(confusion, cell), *_draw_names(names, cell, margin)))
    return Figure(
        title=f"{confusion.name}: {confusion.total:,} records",
        width=width,
        height=side + (margin if margin > cell else _NAME_HEIGHT) + _AXIS_HEIGHT,
        body=f'<g transform="translate({_AXIS_HEIGHT + margin} 0)">{matrix}</g>',
        least_width=round(0.8 * width) if width > _MAX_PLOT_WIDTH else 0,
    )


def _shorten_class_name(name: str) -> str:
    """Shorten a long name with an ellipsis."""
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    return f"{name[: _MAX_NAME_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"


def _draw_cells(confusion: Confusion, cell: int) -> Iterator[str]:
    """Draw the cells of a confusion matrix, with tooltips that describe the counts."""
    matrix, names = confusion.matrix, [html_text(it) for it in confusion.classes]
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    has_numbers, size = len(names) <= MAX_NUMBERED_CLASSES, cell - _CELL_GAP
    for (row, column), count in np.ndenumerate(matrix):
        if not count and not has_numbers:
            continue
        share = float(shares[row, column])
        # The square root makes the colour of rare mistakes visible.
        weight = 0.06 + 0.94 * (share if row == column else share**0.5)
        colour = f'class="cell c{int(row != column)}" fill-opacity="{weight:.3f}"'
        title = f"{names[row]} predicted as {names[column]}: {count:,} ({percent(share)})"
        yield f'<g transform="translate({column * cell} {row * cell})">'
        yield f'<title>{title}</title><rect width="{size}" height="{size}" {colour}/>'
        if has_numbers:
            ink = "paper" if share > _MIN_DARK_CELL_SHARE else "ink"
            place = f'text-anchor="middle" x="{size / 2}"'
            yield f'<text class="count {ink}" {place} y="{size / 2}">{count:,}</text>'
            place = f'{place} y="{size / 2 + 16}"'
            yield f'<text class="{ink}" {place}>{percent(share)}</text>'
        yield "</g>"


def _draw_names(names: list[str], cell: int, margin: int) -> Iterator[str]:
    """Draw the labels of rows, columns and axes; wide column names are vertical."""
    side, is_vertical = cell * len(names), margin > cell
    for number, name in enumerate(map(html_text, names)):
        middle = (number + 0.5) * cell - _CELL_GAP / 2
        yield f'<text x="-8" y="{middle + 4:g}" text-anchor="end">{name}</text>'
        place = f'x="{middle:g}" y="{side + 14}" text-anchor="middle"'
        if is_vertical:
            turned = f"translate({middle + 4:g} {side + 4}) rotate(-90)"
            place = f'transform="{turned}" text-anchor="end"'
        yield f"<text {place}>{name}</text>"
    bottom = side + (margin if is_vertical else _NAME_HEIGHT) + 14
    yield f'<text x="{side / 2:g}" y="{bottom}" text-anchor="middle">predicted</text>'
    turned = f"translate({-margin - 8} {side / 2:g}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">true</text>'


def class_table(confusion: Confusion) -> Table:
    """Compute precision, recall and F1 of every class.

    Args:
        confusion: The counts, with true classes as rows.

    Returns:
        A table with a row for each class. The precision of a class that was never
        predicted is NaN, like the recall of a class without records.

    Examples:
        >>> table = class_table(Confusion("test", ("a", "b"), [[3, 1], [0, 4]]))
        >>> table.rows[1]
        ('b', 4, 0.8, 1.0, 0.8888888888888888)
    """
    matrix = confusion.matrix
    hits, called, records = matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1)
    shares = _safe_divide(hits, called), _safe_divide(hits, records)
    columns = (*shares, _safe_divide(2 * hits, called + records))
    rows = zip(
        confusion.classes,
        records.tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    )
    names = ("class", "records", "precision", "recall", "F1")
    return Table(f"Each class ({confusion.name})", names, [tuple(row) for row in rows])


def _safe_divide(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divide two arrays; a quotient is NaN if the denominator is 0."""
    missing = np.full(part.shape, np.nan)
    return np.divide(part, whole, out=missing, where=whole > 0)


def confusion_table(confusion: Confusion) -> Table:
    """Return the confusion matrix as a table of counts, with true classes as rows."""
    names = ("true \\ predicted", *confusion.classes)
    counts = confusion.matrix.tolist()
    rows = [(name, *row) for name, row in zip(confusion.classes, counts, strict=True)]
    return Table(f"Counts ({confusion.name})", names, rows)
