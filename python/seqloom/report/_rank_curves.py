"""ROC and precision-recall curves: how well scores part a class from all others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqloom.report._interval import auprc_interval, auroc_interval, wilson_bounds
from seqloom.report._panels import Plot, Trace
from seqloom.report._svg import COLOURS
from seqloom.report._values import Section, Table

Floats = NDArray[np.float64]
# So many counts draw a curve as exactly as the page can show it.
_MOST = 4000
_COLUMNS = ("class", "records", "AUROC (95 % interval)", "AUPRC (95 % interval)")


@dataclass(frozen=True, slots=True)
class RankCurve:
    """Counts the records from each distinct score upwards, the highest score first.

    Args:
        hits: Those of the class; the first count is 0.
        misses: The others.

    Examples:
        >>> curve = RankCurve.of([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> curve.auroc, round(curve.auprc, 4)
        (0.75, 0.8333)
    """

    hits: NDArray[np.int64]
    misses: NDArray[np.int64]

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike) -> "RankCurve":
        """Counts records; labels say of each whether it is of the class."""
        values = np.asarray(scores, float)
        order = np.argsort(-values, kind="stable")
        ranked = values[order]
        # Compared, not subtracted: infinity minus infinity is NaN.
        is_last = np.append(ranked[1:] != ranked[:-1], True)[: ranked.size]
        last = np.flatnonzero(is_last)
        found, seen = np.cumsum(np.asarray(labels)[order] > 0)[last], last + 1
        return cls(np.append(0, found), np.append(0, seen - found))

    @property
    def positives(self) -> int:
        """How many records are of the class."""
        return int(self.hits[-1])

    @property
    def negatives(self) -> int:
        """How many are not."""
        return int(self.misses[-1])

    @property
    def recall(self) -> Floats:
        """The share of the class that is found; on the ROC curve the height."""
        return self.hits / self.positives

    @property
    def false_alarms(self) -> Floats:
        """The share of the others that is taken for the class."""
        return self.misses / self.negatives

    @property
    def precision(self) -> Floats:
        """The share of what is taken for the class that is of it, without the first 0."""
        return self.hits[1:] / (self.hits + self.misses)[1:]

    @property
    def auroc(self) -> float:
        """The area under the ROC curve."""
        # Twice the area in whole pairs of records: a sum of fractions may exceed 1.
        pairs = np.diff(self.misses) @ (self.hits[1:] + self.hits[:-1])
        return int(pairs) / (2 * self.positives * self.negatives)

    @property
    def auprc(self) -> float:
        """The area under the precision-recall curve, as average precision."""
        return float(self.precision @ np.diff(self.hits) / self.positives)

    def thin(self) -> "RankCurve":
        """Leaves out counts that a drawing cannot show: those within a pixel of others."""
        if len(self.hits) <= _MOST:
            return self
        kept = np.union1d(_spread(self.hits), _spread(self.misses))
        return RankCurve(self.hits[kept], self.misses[kept])


def _spread(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Chooses places of a count that rises, evenly from its first value to its last."""
    evenly: Floats = np.linspace(0, int(counts[-1]), _MOST // 2)
    return np.searchsorted(counts, evenly)


@dataclass(frozen=True, slots=True, eq=False)
class ClassCurve:
    """Holds the curve of a class, thinned, and its areas, which are of all records."""

    name: str
    curve: RankCurve
    auroc: float
    auprc: float

    @classmethod
    def of(cls, name: str, curve: RankCurve) -> "ClassCurve":
        """Computes the areas."""
        return cls(name, curve.thin(), curve.auroc, curve.auprc)


def class_curves(
    is_class: ArrayLike, scores: ArrayLike, *, classes: Sequence[str], name: str
) -> Section | None:
    """Draws the ROC and the precision-recall curve of each class against all others.

    The intervals around a curve are Wilson's, of the recall (ROC) and of the precision at
    each score. Those of the areas are `auroc_interval` and `auprc_interval`.

    Args:
        is_class: Whether a record is of a class, ``(records, classes)``.
        scores: What the model says, in the same shape; higher is likelier.
        classes: The classes' names.
        name: Which records were scored, such as ``"test"``.

    Returns:
        The section; None where no class has both records of it and others.

    Examples:
        >>> table = [[1, 0], [0, 1]]
        >>> section = class_curves(table, table, classes=("a", "b"), name="test")
        >>> section.table.rows[0]
        ('a', 1, '1.000 (0.207 to 1.000)', '1.000 (0.207 to 1.000)')
    """
    found = list(_part(classes, np.asarray(is_class).T, np.asarray(scores).T))
    if not found:
        return None
    # Of many classes those with the most records are drawn; the table has them all.
    most = sorted(found, key=lambda it: -it.curve.positives)[:COLOURS]
    drawn = [it for it in found if it in most]
    return Section(
        title=f"ROC and precision-recall curves, {name}",
        note=_note(len(np.asarray(scores)), len(drawn), len(found)),
        drawings=(_roc(drawn), _precision_recall(drawn)),
        table=Table("Areas", _COLUMNS, list(_rows(found))),
    )


def _part(
    classes: Sequence[str], labels: NDArray[Any], scores: NDArray[Any]
) -> Iterator[ClassCurve]:
    """Gives the curve of each class that has both records of it and others."""
    for name, is_class, values in zip(classes, labels, scores, strict=True):
        curve = RankCurve.of(is_class, values)
        if curve.positives and curve.negatives:
            yield ClassCurve.of(name, curve)


def _note(records: int, drawn: int, parted: int) -> str:
    """Says what is compared, and how sure it is."""
    left = f" Drawn: the {drawn} classes with the most records." if drawn < parted else ""
    return (
        f"Each class against all others, on {records:,} records. Bands: 95 % intervals "
        "(Wilson) at each score. Intervals of areas: Newcombe (AUROC), Wilson on the "
        f"records of the class (AUPRC).{left}"
    )


def _rows(found: Sequence[ClassCurve]) -> Iterator[tuple[str | int, ...]]:
    """Lists the areas with their intervals."""
    for it in found:
        positives = it.curve.positives
        roc = auroc_interval(it.auroc, positives, it.curve.negatives)
        precision = auprc_interval(it.auprc, positives)
        areas = _spell(it.auroc, *roc), _spell(it.auprc, *precision)
        yield (it.name, positives, *areas)


def _spell(area: float, low: float, high: float) -> str:
    """Spells an area with its interval."""
    return f"{area:.3f} ({low:.3f} to {high:.3f})"


def _roc(drawn: Sequence[ClassCurve]) -> Plot:
    """Draws recall over false alarms."""
    traces = [Trace("chance", [0, 1], [0, 1], shape="guide")]
    for it in drawn:
        x, y = it.curve.false_alarms, it.curve.recall
        low, high = wilson_bounds(y, it.curve.positives)
        traces.append(Trace(f"{it.name} {it.auroc:.3f}", x, y, low=low, high=high))
    labels = "share of others taken for the class", "share of the class found"
    return _plot("ROC curve", traces, labels)


def _precision_recall(drawn: Sequence[ClassCurve]) -> Plot:
    """Draws precision over recall, as the steps whose area is the average precision."""
    traces: list[Trace] = []
    for it in drawn:
        precision, called = it.curve.precision, (it.curve.hits + it.curve.misses)[1:]
        ends = wilson_bounds(precision, called)
        heights, low, high = (np.repeat(each, 2) for each in (precision, *ends))
        x = np.repeat(it.curve.recall, 2)[1:-1]
        traces.append(Trace(f"{it.name} {it.auprc:.3f}", x, heights, low=low, high=high))
    labels = "recall: share of the class found", "precision: share that is right"
    return _plot("Precision-recall curve", traces, labels)


def _plot(title: str, traces: list[Trace], labels: tuple[str, str]) -> Plot:
    """Plots shares over shares."""
    x_label, y_label = labels
    every = (0, 1)
    return Plot(
        title, traces, x_label=x_label, y_label=y_label, x_range=every, y_range=every
    )
