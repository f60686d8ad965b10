"""Hits and misses from each score upwards: what ROC and precision-recall curves show."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankCurve:
    """Counts the records from each distinct score upwards, the highest score first.

    Args:
        hits: The records of the class; the first count is 0.
        misses: The other records.

    Examples:
        >>> curve = RankCurve.of([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> curve.auroc, round(curve.auprc, 4)
        (0.75, 0.8333)
    """

    hits: NDArray[np.int64]
    misses: NDArray[np.int64]

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike) -> "RankCurve":
        """Counts records; a label above 0 means that a record is of the class."""
        values = np.asarray(scores, float)
        order = np.argsort(-values)  # records of one score may come in any order
        ranked = values[order]
        # Compared, not subtracted: infinity minus infinity is NaN.
        is_last = np.append(ranked[1:] != ranked[:-1], True)[: ranked.size]
        last = np.flatnonzero(is_last)
        hits, records = np.cumsum(np.asarray(labels)[order] > 0)[last], last + 1
        return cls(np.append(0, hits), np.append(0, records - hits))

    @property
    def positives(self) -> int:
        """The number of records of the class."""
        return int(self.hits[-1])

    @property
    def negatives(self) -> int:
        """The number of other records."""
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
        """The share that is right of the records taken for the class, from the first on."""
        return self.hits[1:] / (self.hits + self.misses)[1:]

    @property
    def auroc(self) -> float:
        """The area under the ROC curve; NaN if all records are of the class, or none is."""
        if not (self.positives and self.negatives):
            return math.nan
        # Twice the area in whole pairs of records: a sum of fractions may exceed 1.
        pairs = np.diff(self.misses) @ (self.hits[1:] + self.hits[:-1])
        return int(pairs) / (2 * self.positives * self.negatives)

    @property
    def auprc(self) -> float:
        """The average precision; NaN if all records are of the class, or none is."""
        if not (self.positives and self.negatives):
            return math.nan
        return float(self.precision @ np.diff(self.hits) / self.positives)
