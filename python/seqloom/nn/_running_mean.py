"""Mean: an average over batches and processes whose sum is never rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.errors import RecordError
from seqloom.nn._running_metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

# Every float64 is an integer times this power of two.
_UNIT = 1126
_BITS = 53  # of a float's fraction
_HALF = 26
_BYTES = 288  # of a sum: 2,150 bits of a float, and 2 ** 150 of them


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
        """Adds values.

        Args:
            labels: Numbers, of any shape.
            scores: How many records each of them stands for, such as the size of a batch
                whose mean is given.
        """
        values = np.asarray(labels, np.float64).ravel()
        weight = as_integer("scores", scores, least=0)
        finite = np.isfinite(values)
        self._total += weight * _sum_exactly(values[finite])
        self._count += weight * values.size
        if weight and not finite.all():
            with np.errstate(invalid="ignore"):
                self._beyond += float(values[~finite].sum())

    def compute(self) -> float:
        """Returns the mean of all values so far; NaN if there are none."""
        if not self._count:
            return float("nan")
        return self._total / (self._count << _UNIT) + self._beyond

    def reset(self) -> None:
        """Forgets all values."""
        self._total = self._count = 0
        self._beyond = 0.0  # the sum of infinities and NaN

    def _add(self, other: Self) -> None:
        self._total += other._total
        self._count += other._count
        self._beyond += other._beyond

    def to_record(self) -> dict[str, NDArray[Any]]:
        """Returns the sum as bytes, and the count."""
        total = self._total.to_bytes(_BYTES, "little", signed=True)
        return {
            "total": np.frombuffer(total, np.uint8).copy(),
            "count": np.array(self._count),
            "beyond": np.array(self._beyond),
        }

    def load_record(self, record: Mapping[str, Any]) -> Self:
        """Replaces the state by one that `to_record` returned."""
        total, count, beyond = self._read(record, "total", "count", "beyond")
        if total.shape != (_BYTES,) or total.dtype != np.uint8:
            raise RecordError(
                f"total must be {_BYTES} bytes, got {total.dtype} of shape {total.shape}"
            )
        self._total = int.from_bytes(total.tobytes(), "little", signed=True)
        self._count, self._beyond = int(count), float(beyond)
        return self


def _sum_exactly(values: NDArray[np.float64]) -> int:
    """Returns the sum of floats as an integer, in units of ``2 ** -1126``."""
    fractions, powers = np.frexp(values)
    whole = np.ldexp(fractions, _BITS).astype(np.int64)
    total = 0
    for power in np.unique(powers).tolist():
        some = whole[powers == power]
        # In two halves, whose sums stay below 2 ** 63.
        high, low = int((some >> _HALF).sum()), int((some & ((1 << _HALF) - 1)).sum())
        total += ((high << _HALF) + low) << (power - _BITS + _UNIT)
    return total
