"""Metrics that store all labels and scores.

Areas under curves and rank correlations sort all values at the end. Pearson correlation
and R2 also store all values, because a running sum would be rounded differently for
each split into batches.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import RecordError, ShapeError
from seqloom.nn._metric_inputs import read_label_columns, read_values
from seqloom.nn._metrics import auprc, auroc, pearson, r2, spearman
from seqloom.nn._running_counts import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from seqloom.nn._running_counts import Arrays


class _StoredValuesMetric(Metric):
    """Base class of the metrics that store all labels and scores."""

    _has_classes = False  # True if labels are 0/1 or classes

    def __init__(self) -> None:
        self.reset()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> None:
        true, guess = np.array(labels), np.array(scores)  # callers may reuse the arrays
        if not true.ndim or not guess.ndim or len(true) != len(guess):
            raise ShapeError(
                "labels and scores must have the same length, got shapes "
                f"{true.shape} and {guess.shape}"
            )
        read = read_label_columns if self._has_classes else read_values
        read(true, guess)
        self._append_batch(true, guess)

    def _append_batch(self, true: NDArray[np.generic], guess: NDArray[np.generic]) -> None:
        """Append arrays; raise if the number of columns changes."""
        if self._labels:
            before = self._labels[0].shape[1:], self._scores[0].shape[1:]
            if before != (true.shape[1:], guess.shape[1:]):
                raise ShapeError(
                    f"labels and scores had the shapes {self._labels[0].shape} and "
                    f"{self._scores[0].shape}, got {true.shape} and {guess.shape}"
                )
        self._labels.append(true)
        self._scores.append(guess)

    def compute(self) -> float:
        if not self._labels:
            return float("nan")
        return self._evaluate(*self._join_batches())

    @abstractmethod
    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        """Compute the metric over all data."""

    def _join_batches(self) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        """Return all labels and all scores."""
        return np.concatenate(self._labels), np.concatenate(self._scores)

    def reset(self) -> None:
        self._labels: list[NDArray[np.generic]] = []
        self._scores: list[NDArray[np.generic]] = []

    def _add(self, other: Self) -> None:
        for true, guess in list(zip(other._labels, other._scores, strict=True)):
            self._append_batch(true, guess)

    def to_record(self) -> Arrays:
        if not self._labels:
            return {"labels": np.empty(0), "scores": np.empty(0)}
        labels, scores = self._join_batches()
        return {"labels": labels, "scores": scores}

    def load_record(self, record: Mapping[str, Any]) -> Self:
        labels, scores = self._unpack(record, "labels", "scores")
        if not labels.ndim or not scores.ndim or len(labels) != len(scores):
            raise RecordError(
                "labels and scores of a record must have the same length, got shapes "
                f"{labels.shape} and {scores.shape}"
            )
        self.reset()
        if len(labels):
            self._append_batch(labels, scores)
        return self


class AUROC(_StoredValuesMetric):
    """Accumulates `auroc` over batches; stores all values, and sorts them at the end.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.AUROC()
        >>> metric.update([0, 0], [0.1, 0.4])
        >>> metric.update([1, 1], [0.35, 0.8])
        >>> metric.compute()
        0.75
    """

    _has_classes = True

    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        return auroc(labels, scores)


class AUPRC(_StoredValuesMetric):
    """Accumulates `auprc` over batches; stores all values, and sorts them at the end.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.AUPRC()
        >>> metric.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(metric.compute(), 4)
        0.8333
    """

    _has_classes = True

    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        return auprc(labels, scores)


class Pearson(_StoredValuesMetric):
    """Accumulates `pearson` over batches; stores all values, so no sum is rounded early.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Pearson()
        >>> metric.update([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
        >>> round(metric.compute(), 6)
        1.0
    """

    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        return pearson(labels, scores)


class Spearman(_StoredValuesMetric):
    """Accumulates `spearman` over batches; stores all values, and sorts them at the end.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Spearman()
        >>> metric.update([1.0, 2.0, 3.0], [1.0, 8.0, 9.0])
        >>> round(metric.compute(), 6)
        1.0
    """

    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        return spearman(labels, scores)


class R2(_StoredValuesMetric):
    """Accumulates `r2` over batches; stores all values, so no sum is rounded early.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.R2()
        >>> metric.update([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
        >>> metric.compute()
        0.5
    """

    def _evaluate(self, labels: NDArray[np.generic], scores: NDArray[np.generic]) -> float:
        return r2(labels, scores)
