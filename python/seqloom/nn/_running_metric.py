"""The base of metrics that accumulate over batches and processes, exactly.

A metric of counts holds integers (`_running_counts`). A metric of values holds all that it
was given (`_running_values`). Neither depends on the order of the values, so a result does
not depend on how data were cut into batches or in which order parts were merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from seqloom.errors import ArgumentError, RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Arrays = dict[str, NDArray[Any]]


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
