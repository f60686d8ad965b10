"""Pictures as tables: what a page shows where there is no picture, and beneath one."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from seqloom.report._values import Confusion, Curve, Scatter, Table


def class_table(confusion: Confusion) -> Table:
    """Computes precision, recall and F1 of every class.

    Args:
        confusion: The counts, rows true.

    Returns:
        A table with one row a class; NaN where a class was never called or never there.

    Examples:
        >>> table = class_table(Confusion("test", ("a", "b"), [[3, 1], [0, 4]]))
        >>> table.rows[1]
        ('b', 4, 0.8, 1.0, 0.8888888888888888)
    """
    matrix = confusion.matrix
    hits, called, there = matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1)
    columns = _share(hits, called), _share(hits, there), _share(2 * hits, called + there)
    rows = zip(
        confusion.classes, there.tolist(), *(c.tolist() for c in columns), strict=True
    )
    names = ("class", "records", "precision", "recall", "F1")
    return Table(f"Each class ({confusion.name})", names, [tuple(row) for row in rows])


def confusion_table(confusion: Confusion) -> Table:
    """Spells a confusion matrix out, rows true, columns predicted."""
    names = ("true \\ predicted", *confusion.classes)
    counts = confusion.matrix.tolist()
    rows = [(name, *row) for name, row in zip(confusion.classes, counts, strict=True)]
    return Table(f"Counts ({confusion.name})", names, rows)


def curve_table(curves: Sequence[Curve]) -> Table:
    """Spells the learning curve out, a row an epoch."""
    names = [f"{line} {curve.name}" for curve in curves for line in curve.series]
    lines: Iterable[Sequence[float]] = (
        s for curve in curves for s in curve.series.values()
    )
    rows = list(enumerate(zip(*lines, strict=True), start=1))
    cells = [(epoch, *values) for epoch, values in rows]
    return Table("Every epoch", ("epoch", *names), cells)


def scatter_table(scatters: Sequence[Scatter]) -> Table:
    """Puts each regression output into a few numbers."""
    rows = [(s.name, np.size(s.true), *_describe(s)) for s in scatters]
    names = ("output", "records", "typical error", "correlation")
    residuals = ("mean residual", "their deviation")
    return Table("True against predicted", (*names, *residuals), rows)


def _describe(scatter: Scatter) -> tuple[float, ...]:
    """Gives the error, the correlation, and where residuals lie; NaN without records."""
    residuals = scatter.residuals
    if not residuals.size:
        return (math.nan,) * 4
    pair = _root_mean_squared_error(scatter), _correlation(scatter)
    return (*pair, float(residuals.mean()), float(residuals.std()))


def _root_mean_squared_error(scatter: Scatter) -> float:
    """Computes the root of the mean squared error."""
    gap = scatter.residuals
    return float(np.sqrt(np.mean(gap**2))) if gap.size else math.nan


def _correlation(scatter: Scatter) -> float:
    """Computes Pearson's correlation; NaN where one side does not vary."""
    pair = np.asarray([scatter.true, scatter.predicted], float)
    if not pair.size or not np.all(np.ptp(pair, axis=1)):
        return math.nan
    return float(np.corrcoef(pair)[0, 1])


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divides, with NaN where there is nothing to divide by."""
    missing = np.full(part.shape, np.nan)
    return np.divide(part, whole, out=missing, where=whole > 0)
