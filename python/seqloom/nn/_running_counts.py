"""Metrics that keep counts: their size does not grow with the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import RecordError
from seqloom.nn import _metrics as functions
from seqloom.nn._metric_inputs import read_classes
from seqloom.nn._running_metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from seqloom.nn._running_metric import Arrays


class Accuracy(Metric):
    """Accumulates `accuracy`; keeps two integers.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Accuracy()
        >>> metric.update([0, 1, 1], [0, 1, 0])
        >>> round(metric.compute(), 4)
        0.6667
    """

    def __init__(self) -> None:
        self.reset()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> None:
        true, guess = read_classes(labels, scores)
        self._right += int((true == guess).sum())
        self._total += true.size

    def compute(self) -> float:
        return self._right / self._total if self._total else float("nan")

    def reset(self) -> None:
        self._right = self._total = 0

    def _add(self, other: Self) -> None:
        self._right += other._right
        self._total += other._total

    def to_record(self) -> Arrays:
        return {"right": np.array(self._right), "total": np.array(self._total)}

    def load_record(self, record: Mapping[str, Any]) -> Self:
        self._right, self._total = map(int, self._read(record, "right", "total"))
        return self


class _OfCounts(Metric):
    """Keeps a confusion matrix."""

    _settings = ("size",)

    def __init__(self, *, size: int) -> None:
        self.size = as_integer("size", size, least=1)
        self.reset()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> None:
        self._counts += functions.confusion_matrix(labels, scores, size=self.size)

    def reset(self) -> None:
        self._counts = np.zeros((self.size, self.size), np.int64)

    def _add(self, other: Self) -> None:
        self._counts += other._counts

    def to_record(self) -> Arrays:
        return {"counts": self._counts.copy()}

    def load_record(self, record: Mapping[str, Any]) -> Self:
        (counts,) = self._read(record, "counts")
        if counts.shape != self._counts.shape or counts.dtype.kind not in "iu":
            raise RecordError(
                f"counts must be integers of shape {self._counts.shape}, got "
                f"{counts.dtype} of shape {counts.shape}"
            )
        self._counts = counts.astype(np.int64)
        return self


class BalancedAccuracy(_OfCounts):
    """Accumulates `balanced_accuracy`; keeps a confusion matrix of integers.

    Args:
        size: The number of classes.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.BalancedAccuracy(size=2)
        >>> metric.update([0, 0, 0], [0, 0, 0])
        >>> metric.update([1], [0])
        >>> metric.compute()
        0.5
    """

    def compute(self) -> float:
        return functions.balanced_accuracy_of(self._counts)


class MCC(_OfCounts):
    """Accumulates `mcc`; keeps a confusion matrix of integers.

    Args:
        size: The number of classes.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.MCC(size=2)
        >>> metric.update([0, 1, 1], [0, 1, 1])
        >>> metric.compute()
        1.0
    """

    def compute(self) -> float:
        return functions.mcc_of(self._counts)


class F1(_OfCounts):
    """Accumulates `f1`; keeps a confusion matrix of integers.

    Args:
        size: The number of classes.
        average: ``"binary"``, ``"macro"``, ``"micro"`` or ``"weighted"``, as for `f1`.

    Raises:
        ArgumentError: `average` is unknown, or is ``"binary"`` with another `size` than 2.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.F1()
        >>> metric.update([0, 1], [0, 0])
        >>> metric.update([1, 1], [1, 1])
        >>> metric.compute()
        0.8
    """

    _settings = ("size", "average")

    def __init__(self, *, size: int = 2, average: str = "binary") -> None:
        functions.require_average(average, size)
        self.average = average
        super().__init__(size=size)

    def compute(self) -> float:
        return functions.f1_of(self._counts, self.average)
