"""Report sections about probabilities: ROC and precision-recall curves, and calibration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.infer._scores import compute_exact_scores, ranking_values
from seqloom.models import Classify, Multilabel
from seqloom.nn._metric_inputs import RankCurve
from seqloom.report import Plot, Section, Table, Trace, auprc_interval, auroc_interval
from seqloom.report._interval import wilson_bounds
from seqloom.report._plot import N_COLOURS
from seqloom.train._evaluation import Part

# The maximum number of predictions used for calibration. The number of records times
# the number of labels may be much larger.
_MAX_PREDICTIONS = 10**6
# The maximum number of points of a curve; more points would not be visible.
_MAX_CURVE_POINTS = 4000
_AREA_COLUMNS = ("class", "records", "AUROC (95 % interval)", "AUPRC (95 % interval)")
_BINS = 10
_BIN_COLUMNS = ("probability", "predictions", "mean probability", "fraction correct")


def probability_sections(
    task: Classify | Multilabel, name: str, part: Part
) -> Iterator[Section]:
    """Yield the report sections with ROC and precision-recall curves and calibration."""
    scores, labels = compute_exact_scores(task, part.scores), np.asarray(part.labels)
    if isinstance(task, Classify):
        is_class = labels[:, None] == np.arange(len(task.columns))
        answers = task.decide(scores) == labels, scores.max(axis=1)
    else:
        is_class = labels > 0
        step = scores.size // _MAX_PREDICTIONS + 1
        answers = is_class.ravel()[::step], scores.ravel()[::step]
    order = ranking_values(task, part.scores)
    curves = curve_section(is_class, order, classes=task.columns, name=name)
    if curves is not None:
        yield curves
    yield calibration_section(*answers, name=name)


def curve_section(
    is_class: ArrayLike, scores: ArrayLike, *, classes: Sequence[str], name: str
) -> Section | None:
    """Plot the ROC and the precision-recall curve of each class against all other classes.

    Shaded bands are Wilson intervals of the recall (in the ROC plot) and of the precision.

    Args:
        is_class: A boolean array ``(records, classes)``, True if the record has the class.
        scores: The model's scores, in the same shape; a higher score means that the class
            is more likely.
        classes: The names of the classes.
        name: The set of records, such as ``"test"``.

    Returns:
        The section; None if no class has both positive and negative records.
    """
    columns = zip(classes, np.asarray(is_class).T, np.asarray(scores).T, strict=True)
    ranked = [(title, RankCurve.from_scores(*column)) for title, *column in columns]
    curves = {title: it for title, it in ranked if it.positives and it.negatives}
    if not curves:
        return None
    # Only the curves of the classes with the most records are drawn.
    largest = sorted(curves, key=lambda it: -curves[it].positives)[:N_COLOURS]
    drawn = {title: it for title, it in curves.items() if title in largest}
    note = (
        f"Each class against all other classes, on {len(np.asarray(scores)):,} records. "
        "Bands: 95 % intervals (Wilson) at each score. Intervals of areas: Newcombe for "
        "AUROC, and Wilson on the records of the class for AUPRC."
    )
    if len(drawn) < len(curves):
        note += f" Shown: the {len(drawn)} classes with the most records."
    rows: list[tuple[str, int, str, str]] = []
    for title, curve in curves.items():
        roc = auroc_interval(curve.auroc, curve.positives, curve.negatives)
        precision = auprc_interval(curve.auprc, curve.positives)
        areas = (curve.auroc, *roc), (curve.auprc, *precision)
        first, second = (f"{it:.3f} ({low:.3f} to {high:.3f})" for it, low, high in areas)
        rows.append((title, curve.positives, first, second))
    return Section(
        title=f"ROC and precision-recall curves, {name}",
        note=note,
        drawings=(_plot_roc(drawn), _plot_precision(drawn)),
        table=Table("Areas", _AREA_COLUMNS, rows),
    )


def _plot_roc(curves: dict[str, RankCurve]) -> Plot:
    """Plot the true positive rate against the false positive rate."""
    traces = [Trace("chance", [0, 1], [0, 1], shape="guide")]
    for title, curve in curves.items():
        thin = merge_close_points(curve)
        low, high = wilson_bounds(thin.recall, thin.positives)
        label = f"{title} {curve.auroc:.3f}"
        traces.append(Trace(label, thin.fpr, thin.recall, low=low, high=high))
    return Plot(
        "ROC curve",
        traces,
        x_label="false positive rate",
        y_label="true positive rate",
        x_range=(0, 1),
        y_range=(0, 1),
    )


def _plot_precision(curves: dict[str, RankCurve]) -> Plot:
    """Plot precision against recall as steps; their area is the average precision."""
    traces: list[Trace] = []
    for title, curve in curves.items():
        thin = merge_close_points(curve)
        ends = wilson_bounds(
            thin.precision, (thin.true_positives + thin.false_positives)[1:]
        )
        heights, low, high = (np.repeat(it, 2) for it in (thin.precision, *ends))
        x, label = np.repeat(thin.recall, 2)[1:-1], f"{title} {curve.auprc:.3f}"
        traces.append(Trace(label, x, heights, low=low, high=high))
    return Plot(
        "Precision-recall curve",
        traces,
        x_label="recall",
        y_label="precision",
        x_range=(0, 1),
        y_range=(0, 1),
    )


def merge_close_points(curve: RankCurve) -> RankCurve:
    """Remove points within a pixel of other points, to limit the size of the page."""
    if len(curve.true_positives) <= _MAX_CURVE_POINTS:
        return curve
    rows = [
        np.searchsorted(counts, np.linspace(0, int(counts[-1]), _MAX_CURVE_POINTS // 2))
        for counts in (curve.true_positives, curve.false_positives)
    ]
    kept = np.union1d(*rows)
    return RankCurve(curve.true_positives[kept], curve.false_positives[kept])


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted probabilities and fractions of correct predictions in ten bins.

    For each bin, ``counts`` is the number of predictions, ``mean`` their mean
    probability, and ``right`` the fraction of correct predictions. In an empty bin,
    ``mean`` and ``right`` are NaN.
    """

    counts: NDArray[np.int64]
    mean: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def measure(cls, is_right: ArrayLike, probabilities: ArrayLike) -> "Calibration":
        """Sort predictions into bins; a probability at an edge belongs to the lower bin."""
        values = np.asarray(probabilities, float)
        numbers = np.searchsorted(np.linspace(0, 1, _BINS + 1)[1:-1], values)
        counts = np.bincount(numbers, minlength=_BINS)
        sums = [np.bincount(numbers, it, _BINS) for it in (values, np.asarray(is_right))]
        shares = np.full((2, _BINS), np.nan)
        np.divide(sums, counts, out=shares, where=counts > 0)
        return cls(counts, *shares)

    @property
    def error(self) -> float:
        """Mean gap between probability and accuracy of the bins, weighted by bin size."""
        gaps = np.abs(self.mean - self.right)
        return float(np.nansum(gaps * self.counts) / max(self.counts.sum(), 1))


def calibration_section(
    is_right: ArrayLike, probabilities: ArrayLike, *, name: str
) -> Section:
    """Return the report section about the calibration of predicted probabilities."""
    # The expected calibration error is that of Guo et al. (ICML 2017).
    bins = Calibration.measure(is_right, probabilities)
    rows = [
        (
            f"{number / _BINS:.1f} to {(number + 1) / _BINS:.1f}",
            int(bins.counts[number]),
            float(bins.mean[number]),
            float(bins.right[number]),
        )
        for number in np.flatnonzero(bins.counts).tolist()
    ]
    return Section(
        title=f"Calibration, {name}",
        note="The probability of predictions, and the fraction of them that is correct; on "
        f"the dashed line both are equal. On {bins.counts.sum():,} predictions; expected "
        f"calibration error {bins.error:.3f} (mean gap over {_BINS} bins, weighted by "
        "predictions). Bars: 95 % intervals (Wilson).",
        drawings=_plot_calibration(bins),
        details=Table("Calibration by bin", _BIN_COLUMNS, rows),
    )


def _plot_calibration(bins: Calibration) -> tuple[Plot, Plot]:
    """Plot the fraction of correct predictions against the probability, and bin sizes."""
    full = bins.counts > 0
    mean, right = bins.mean[full], bins.right[full]
    low, high = wilson_bounds(right, bins.counts[full])
    name = "fraction correct"
    reliability = Plot(
        "Reliability",
        (
            Trace("perfectly calibrated", [0, 1], [0, 1], shape="guide"),
            Trace(name, mean, right, low=low, high=high, shape="points"),
        ),
        x_label="mean probability in the bin",
        y_label=name,
        x_range=(0, 1),
        y_range=(0, 1),
    )
    counts = Plot(
        "Predictions in each bin",
        (Trace("", np.linspace(0, 1, _BINS + 1), bins.counts, shape="bars"),),
        x_label="probability",
        y_label="predictions",
        x_range=(0, 1),
        y_scale="whole",
    )
    return reliability, counts
