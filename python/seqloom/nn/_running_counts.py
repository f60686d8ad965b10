"""Metrics that accumulate over batches and processes, exactly.

A metric of counts holds integers, and a metric of values all values that it was given.
Neither depends on their order: a result does not depend on how data were cut into batches,
or in which order parts were merged. A running sum would round differently for each cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._metric_inputs import read_classes
from seqloom.nn._metrics import (
    balanced_accuracy_of,
    confusion_matrix,
    f1_of,
    mcc_of,
    require_average,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[np.generic]]

# Every float64 is an integer times this power of two.
_UNIT = 1126
_BITS = 53  # of a float's fraction
_HALF = 26
_BYTES = 288  # of a sum: 2,150 bits of a float, and 2 ** 150 of them


class Metric(ABC):
    """Base of metrics that accumulate: `update` for each batch, `compute` at the end.

    The result equals that of the function of the same name on all data, bit for bit,
    however the data are cut into batches. Each of several processes updates its own metric,
    and one merges them in any order. `to_record` returns the state as arrays for a
    checkpoint.

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
        """Add a batch.

        Args:
            labels: As for the function of the same name.
            scores: The predictions, as for that function.
        """

    @abstractmethod
    def compute(self) -> float:
        """Return the metric of all batches so far.

        Returns:
            A number; NaN where the function gives NaN.
        """

    @abstractmethod
    def reset(self) -> None:
        """Forget all batches."""

    def merge(self, other: Metric) -> Self:
        """Add what another metric of the same class and settings has seen.

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
        name = type(self).__name__
        if type(other) is not type(self):
            raise ArgumentError(
                f"{name} merges another {name}, got a {type(other).__name__}"
            )
        for setting in self._settings:
            own, theirs = getattr(self, setting), getattr(other, setting)
            if own != theirs:
                raise ArgumentError(
                    f"both metrics must have the same {setting}, got {own!r} and {theirs!r}"
                )
        self._add(other)
        return self

    @abstractmethod
    def _add(self, other: Any) -> None:
        """Add the state of a metric of the same class and settings."""

    @abstractmethod
    def to_record(self) -> Arrays:
        """Return the state as arrays by name.

        Returns:
            A dict of copies.
        """

    @abstractmethod
    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replace the state by one that `to_record` returned.

        Args:
            record: The arrays by name.

        Returns:
            This metric.

        Raises:
            RecordError: `record` is not a state of this class.
        """

    _settings: ClassVar[tuple[str, ...]] = ()  # the attributes that both must share

    def _read(self, record: Mapping[str, Any], *names: str) -> list[NDArray[np.generic]]:
        """Return the arrays of a record; refuses other names."""
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
        self._counts += confusion_matrix(labels, scores, size=self.size)

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
        return balanced_accuracy_of(self._counts)


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
        return mcc_of(self._counts)


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
        require_average(average, size)
        self.average = average
        super().__init__(size=size)

    def compute(self) -> float:
        return f1_of(self._counts, self.average)


class Mean(Metric):
    """Accumulates a mean, such as that of losses; keeps an exact sum and a count.

    The sum is an integer multiple of the smallest float, so the result is the mean of all
    values, rounded once, whatever the batches and the order of merging.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.Mean()
        >>> metric.update(0.5, 3)  # the mean of three records
        >>> metric.update([1.0, 1.0])
        >>> metric.compute()
        0.7
    """

    def __init__(self) -> None:
        self.reset()

    def update(self, labels: ArrayLike, scores: ArrayLike = 1) -> None:
        """Add values.

        Args:
            labels: Numbers, of any shape.
            scores: How many records each of them stands for, such as the size of a batch
                whose mean is given.
        """
        values = np.asarray(labels, np.float64).ravel()
        weight = as_integer("scores", scores, least=0)
        finite = np.isfinite(values)
        fractions, powers = np.frexp(values[finite])
        whole = np.ldexp(fractions, _BITS).astype(np.int64)
        total = 0
        for power in np.unique(powers).tolist():
            some = whole[powers == power]
            # In two halves, whose sums stay below 2 ** 63.
            high, low = int((some >> _HALF).sum()), int((some & ((1 << _HALF) - 1)).sum())
            total += ((high << _HALF) + low) << (power - _BITS + _UNIT)
        self._total += weight * total
        self._count += weight * values.size
        if weight and not finite.all():
            with np.errstate(invalid="ignore"):
                self._beyond += float(values[~finite].sum())

    def compute(self) -> float:
        """Return the mean of all values so far; NaN if there are none."""
        if not self._count:
            return float("nan")
        return self._total / (self._count << _UNIT) + self._beyond

    def reset(self) -> None:
        """Forget all values."""
        self._total = self._count = 0
        self._beyond = 0.0  # the sum of infinities and NaN

    def _add(self, other: Self) -> None:
        self._total += other._total
        self._count += other._count
        self._beyond += other._beyond

    def to_record(self) -> dict[str, NDArray[np.generic]]:
        """Return the sum as bytes, and the count."""
        total = self._total.to_bytes(_BYTES, "little", signed=True)
        return {
            "total": np.frombuffer(total, np.uint8).copy(),
            "count": np.array(self._count),
            "beyond": np.array(self._beyond),
        }

    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replace the state by one that `to_record` returned."""
        total, count, beyond = self._read(record, "total", "count", "beyond")
        if total.shape != (_BYTES,) or total.dtype != np.uint8:
            raise RecordError(
                f"total must be {_BYTES} bytes, got {total.dtype} of shape {total.shape}"
            )
        self._total = int.from_bytes(total.tobytes(), "little", signed=True)
        self._count, self._beyond = int(count), float(beyond)
        return self
