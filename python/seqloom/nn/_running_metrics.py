"""Metrics that accumulate over batches and ranks, exactly.

A class of counts holds integers, and one of values holds what it was given, because ranks
need all scores. Their functions do not depend on the order of the values, so a result does
not depend on how data were cut into batches or in which order parts were merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, RecordError, ShapeError
from seqloom.nn import _metrics as functions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[Any]]


class Metric(ABC):
    """Base of metrics that accumulate: `update` for each batch, `compute` at the end.

    The result equals that of the function of the same name on all data, bit for bit,
    however the data are cut into batches. On several ranks each updates its own metric, and
    one merges them in any order. `to_record` gives the state as arrays for a checkpoint.

    Examples:
        >>> import seqloom as sl
        >>> metric, other = sl.nn.Accuracy(), sl.nn.Accuracy()
        >>> metric.update([0, 1], [0, 1])
        >>> other.update([1, 1], [0, 1])
        >>> metric.merge(other).compute()
        0.75
    """

    @abstractmethod
    def update(self, labels: ArrayLike, scores: ArrayLike) -> None:
        """Adds a batch.

        Args:
            labels: As for the function of the same name.
            scores: The predictions, as for that function.
        """

    @abstractmethod
    def compute(self) -> float:
        """Returns the metric of all batches so far.

        Returns:
            A number; NaN where the function gives NaN.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forgets all batches."""

    def merge(self, other: Metric) -> Self:
        """Adds what another metric of the same class and settings has seen.

        Args:
            other: The other metric, which does not change.

        Returns:
            This metric.

        Raises:
            ArgumentError: `other` is of another class or has other settings.

        Examples:
            >>> import seqloom as sl
            >>> metric, other = sl.nn.Mean(), sl.nn.Mean()
            >>> metric.update([1.0])
            >>> other.update([2.0])
            >>> metric.merge(other).compute()
            1.5
        """
        self._require_alike(other)
        self._add(other)
        return self

    @abstractmethod
    def _add(self, other: Any) -> None:
        """Adds the state of a metric of the same class and settings."""

    @abstractmethod
    def to_record(self) -> Arrays:
        """Returns the state as arrays by name.

        Returns:
            A dict of copies.
        """

    @abstractmethod
    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replaces the state by one that `to_record` returned.

        Args:
            record: The arrays by name.

        Returns:
            This metric.

        Raises:
            RecordError: `record` is not a state of this class.
        """

    _settings: ClassVar[tuple[str, ...]] = ()  # the attributes that both must share

    def _require_alike(self, other: Metric) -> None:
        """Refuses a metric of another class or with other settings."""
        if type(other) is not type(self):
            name = type(self).__name__
            raise ArgumentError(
                f"{name} merges another {name}, got a {type(other).__name__}"
            )
        for name in self._settings:
            own, theirs = getattr(self, name), getattr(other, name)
            if own != theirs:
                raise ArgumentError(
                    f"both metrics must have the same {name}, got {own!r} and {theirs!r}"
                )

    def _read(self, record: Mapping[str, Any], *names: str) -> list[NDArray[Any]]:
        """Returns the arrays of a record; refuses other names."""
        if set(record) != set(names):
            raise RecordError(
                f"a record of {type(self).__name__} has {', '.join(names)}, got "
                f"{', '.join(record) or 'nothing'}"
            )
        return [np.array(record[name]) for name in names]


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
        true, guess = functions.read_classes(labels, scores)
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


class _OfValues(Metric):
    """Keeps all labels and scores."""

    def __init__(self) -> None:
        self.reset()

    def update(self, labels: ArrayLike, scores: ArrayLike) -> None:
        true, guess = np.array(labels), np.array(scores)  # copies: the caller may write
        if not true.ndim or not guess.ndim or len(true) != len(guess):
            raise ShapeError(
                "labels and scores must have the same length, got shapes "
                f"{true.shape} and {guess.shape}"
            )
        self._append(true, guess)

    def _append(self, true: NDArray[Any], guess: NDArray[Any]) -> None:
        """Adds arrays; refuses other columns than before."""
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
        return self._measure(*self._join())

    @abstractmethod
    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        """Computes the metric of all data."""

    def _join(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns all labels and all scores."""
        return np.concatenate(self._labels), np.concatenate(self._scores)

    def reset(self) -> None:
        self._labels: list[NDArray[Any]] = []
        self._scores: list[NDArray[Any]] = []

    def _add(self, other: Self) -> None:
        for true, guess in list(zip(other._labels, other._scores, strict=True)):
            self._append(true, guess)

    def to_record(self) -> Arrays:
        if not self._labels:
            return {"labels": np.empty(0), "scores": np.empty(0)}
        labels, scores = self._join()
        return {"labels": labels, "scores": scores}

    def load_record(self, record: Mapping[str, Any]) -> Self:
        labels, scores = self._read(record, "labels", "scores")
        if not labels.ndim or not scores.ndim or len(labels) != len(scores):
            raise RecordError(
                "labels and scores of a record must have the same length, got shapes "
                f"{labels.shape} and {scores.shape}"
            )
        self.reset()
        if len(labels):
            self._append(labels, scores)
        return self


class AUROC(_OfValues):
    """Accumulates `auroc`; keeps all labels and scores, as ranks need them.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.AUROC()
        >>> metric.update([0, 0], [0.1, 0.4])
        >>> metric.update([1, 1], [0.35, 0.8])
        >>> metric.compute()
        0.75
    """

    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        return functions.auroc(labels, scores)


class AUPRC(_OfValues):
    """Accumulates `auprc`; keeps all labels and scores, as ranks need them.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.AUPRC()
        >>> metric.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(metric.compute(), 4)
        0.8333
    """

    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        return functions.auprc(labels, scores)


class Pearson(_OfValues):
    """Accumulates `pearson`; keeps all values, so that no sum is rounded on the way.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Pearson()
        >>> metric.update([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
        >>> round(metric.compute(), 6)
        1.0
    """

    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        return functions.pearson(labels, scores)


class Spearman(_OfValues):
    """Accumulates `spearman`; keeps all values, as ranks need them.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Spearman()
        >>> metric.update([1.0, 2.0, 3.0], [1.0, 8.0, 9.0])
        >>> round(metric.compute(), 6)
        1.0
    """

    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        return functions.spearman(labels, scores)


class R2(_OfValues):
    """Accumulates `r2`; keeps all values, so that no sum is rounded on the way.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.R2()
        >>> metric.update([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
        >>> metric.compute()
        0.5
    """

    def _measure(self, labels: NDArray[Any], scores: NDArray[Any]) -> float:
        return functions.r2(labels, scores)
