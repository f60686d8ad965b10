"""Metrics that accumulate exactly over batches and processes.

Metrics of counts, such as accuracy, store integers; the other metrics store all values.
The result therefore does not depend on the split of the data into batches, or on the
order in which processes are merged. A running sum of floats would be rounded
differently for each split of the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, RecordError
from seqloom.nn._metric_inputs import read_classes
from seqloom.nn._metrics import (
    balanced_accuracy_from_counts,
    confusion_matrix,
    f1_from_counts,
    mcc_from_counts,
    require_average,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[np.generic]]

# Every float64 is an integer multiple of 2 ** -1126.
_SHIFT_BITS = 1126
_MANTISSA_BITS = 53  # number of significant bits of a float64
_LOW_BITS = 26
_SUM_BYTES = 288  # enough bytes for the sum of 2 ** 150 floats, each of 2,150 bits


class Metric(ABC):
    """Base class of accumulating metrics: `update` for each batch, `compute` at the end.

    The result is bitwise equal to that of the corresponding function, such as
    `accuracy` for `Accuracy`, on all data, for any split into batches. If several
    processes each update a metric, the metrics can be merged in any order. `to_record`
    returns the state as arrays for a checkpoint.

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
            labels: Labels, in the form that the corresponding function accepts.
            scores: Predictions, in the form that the corresponding function accepts.
        """

    @abstractmethod
    def compute(self) -> float:
        """Return the metric over all batches.

        Returns:
            A number; NaN if the corresponding function returns NaN on all data.
        """

    @abstractmethod
    def reset(self) -> None:
        """Remove all batches."""

    def merge(self, other: Metric) -> Self:
        """Add the state of another metric of the same class and settings.

        Args:
            other: Metric to add, which does not change.

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
            A dict from names to copies of the arrays.
        """

    @abstractmethod
    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replace the state by a state that `to_record` returned.

        Args:
            record: Arrays by name, as `to_record` returned them.

        Returns:
            This metric.

        Raises:
            RecordError: `record` is not a state of this class.
        """

    _settings: ClassVar[tuple[str, ...]] = ()  # attributes that merged metrics must share

    def _unpack(self, record: Mapping[str, Any], *names: str) -> list[NDArray[np.generic]]:
        """Return the arrays of a record; raise if the names differ."""
        if set(record) != set(names):
            raise RecordError(
                f"a record of {type(self).__name__} has {', '.join(names)}, got "
                f"{', '.join(record) or 'nothing'}"
            )
        return [np.array(record[name]) for name in names]


class Accuracy(Metric):
    """Accumulates `accuracy` over batches; stores two integers.

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
        self._right, self._total = map(int, self._unpack(record, "right", "total"))
        return self


class _ConfusionMetric(Metric):
    """Base class of the metrics that store a confusion matrix."""

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
        (counts,) = self._unpack(record, "counts")
        if counts.shape != self._counts.shape or counts.dtype.kind not in "iu":
            raise RecordError(
                f"counts must be integers of shape {self._counts.shape}, got "
                f"{counts.dtype} of shape {counts.shape}"
            )
        self._counts = counts.astype(np.int64)
        return self


class BalancedAccuracy(_ConfusionMetric):
    """Accumulates `balanced_accuracy` over batches; stores a confusion matrix of integers.

    Args:
        size: Number of classes.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.BalancedAccuracy(size=2)
        >>> metric.update([0, 0, 0], [0, 0, 0])
        >>> metric.update([1], [0])
        >>> metric.compute()
        0.5
    """

    def compute(self) -> float:
        return balanced_accuracy_from_counts(self._counts)


class MCC(_ConfusionMetric):
    """Accumulates `mcc` over batches; stores a confusion matrix of integers.

    Args:
        size: Number of classes.

    Examples:
        >>> import seqloom as sl
        >>> metric = sl.nn.MCC(size=2)
        >>> metric.update([0, 1, 1], [0, 1, 1])
        >>> metric.compute()
        1.0
    """

    def compute(self) -> float:
        return mcc_from_counts(self._counts)


class F1(_ConfusionMetric):
    """Accumulates `f1` over batches; stores a confusion matrix of integers.

    Args:
        size: Number of classes.
        average: ``"binary"``, ``"macro"``, ``"micro"`` or ``"weighted"``, as for `f1`.

    Raises:
        ArgumentError: `average` is unknown, or is ``"binary"`` and `size` is not 2.

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
        return f1_from_counts(self._counts, self.average)


class Mean(Metric):
    """Accumulates a mean over batches, such as a mean loss, from an exact sum.

    The sum is stored as an integer. The result is therefore the mean of all values,
    rounded once, for any split into batches and any order of merging.

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
            scores: Number of records that each value represents, such as the batch size
                if the value is the mean of a batch.
        """
        values = np.asarray(labels, np.float64).ravel()
        weight = as_integer("scores", scores, least=0)
        finite = np.isfinite(values)
        fractions, powers = np.frexp(values[finite])
        whole = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
        total = 0
        for power in np.unique(powers).tolist():
            some = whole[powers == power]
            # Sum the high and the low bits separately, so that both sums remain below 2
            # ** 63.
            high = int((some >> _LOW_BITS).sum())
            low = int((some & ((1 << _LOW_BITS) - 1)).sum())
            total += ((high << _LOW_BITS) + low) << (power - _MANTISSA_BITS + _SHIFT_BITS)
        self._total += weight * total
        self._count += weight * values.size
        if weight and not finite.all():
            with np.errstate(invalid="ignore"):
                self._beyond += float(values[~finite].sum())

    def compute(self) -> float:
        """Return the mean of all values; NaN if there are no values."""
        if not self._count:
            return float("nan")
        return self._total / (self._count << _SHIFT_BITS) + self._beyond

    def reset(self) -> None:
        """Remove all values."""
        self._total = self._count = 0
        self._beyond = 0.0  # sum of all infinite and NaN values

    def _add(self, other: Self) -> None:
        self._total += other._total
        self._count += other._count
        self._beyond += other._beyond

    def to_record(self) -> dict[str, NDArray[np.generic]]:
        """Return the sum as bytes, with the count."""
        total = self._total.to_bytes(_SUM_BYTES, "little", signed=True)
        return {
            "total": np.frombuffer(total, np.uint8).copy(),
            "count": np.array(self._count),
            "beyond": np.array(self._beyond),
        }

    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replace the state by a state that `to_record` returned."""
        total, count, beyond = self._unpack(record, "total", "count", "beyond")
        if total.shape != (_SUM_BYTES,) or total.dtype != np.uint8:
            raise RecordError(
                f"total must be {_SUM_BYTES} bytes, got {total.dtype} of shape "
                f"{total.shape}"
            )
        self._total = int.from_bytes(total.tobytes(), "little", signed=True)
        self._count, self._beyond = int(count), float(beyond)
        return self
