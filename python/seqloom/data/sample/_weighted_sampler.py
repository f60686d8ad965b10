"""Items drawn by weight."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import check_sized, quote
from seqloom._key import Key
from seqloom.data._frame import values_by_id
from seqloom.data._state import check_integer
from seqloom.data.sample._samplers import Sampler
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class WeightedSampler(Sampler):
    """Draws items by weight, with replacement.

    Args:
        dataset: What is sampled.
        weights: One number for each item, a dict from id to number, or ``"balanced"``:
            each class is as likely as another. A pandas Series with an index of ids is
            joined by id.
        size: Items in an epoch; None takes as many as the dataset has.
        **dealt: ``seed``, ``rank``, ``world_size``, ``even_ranks``: see ``Sampler``.

    Raises:
        ArgumentError: Weights are negative, not finite, all 0 or of another number; or
            ``"balanced"`` is asked for without classes.

    Examples:
        >>> sampler = WeightedSampler(range(4), [0, 1, 0, 1])
        >>> set(sampler) <= {1, 3}, len(sampler)
        (True, 4)
    """

    def __init__(
        self,
        dataset: Any,
        weights: ArrayLike | str = "balanced",
        *,
        size: int | None = None,
        **dealt: Any,
    ) -> None:
        super().__init__(**dealt)
        check_sized("dataset", dataset)
        self._size = len(dataset) if size is None else size
        check_integer("size", self._size)
        each = _weights_of(dataset, weights)
        self._ends = np.cumsum(each)
        self._last = int(np.flatnonzero(each)[-1])

    def _plan(self, epoch: int) -> list[int]:
        words = Key(self.seed, epoch).bits(2 * self._size).reshape(2, -1).astype(np.uint64)
        # 53 random bits, so that every step here is exact, or rounded alike everywhere.
        bits = (words[0] << np.uint64(21)) | (words[1] >> np.uint64(11))
        points = bits.astype(np.float64) * 2.0**-53 * self._ends[-1]
        found = np.asarray(self._ends.searchsorted(points, side="right"), np.int64)
        # A point may be rounded up to the very end, where there is no item.
        return np.minimum(found, self._last).tolist()


def _weights_of(dataset: Any, weights: ArrayLike | str) -> NDArray[np.float64]:
    """Takes weights as they are, or from the classes."""
    if not isinstance(weights, str):
        by_id = values_by_id("weights", weights, dataset)
        return _check_weights(_numbers(weights if by_id is None else by_id), dataset)
    if weights != "balanced":
        raise ArgumentError(f'weights must be numbers or "balanced", got {weights!r}')
    return _check_weights(_balance_classes(dataset), dataset)


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    """Takes numbers of any type; texts are none, whatever they say."""
    try:
        found = np.asarray(weights)
    except ValueError:
        found = np.array(None)
    if found.dtype.kind == "O" and found.ndim:
        found = np.array(
            [weight if isinstance(weight, Real) else "" for weight in found.flat]
        )
    if found.dtype.kind not in "biuf":
        raise ArgumentError(f'weights must be numbers or "balanced", got {quote(weights)}')
    return found.astype(np.float64)


def _balance_classes(dataset: Any) -> NDArray[np.float64]:
    """Weighs each item by how rare its class is."""
    labels = getattr(dataset, "labels", None)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ArgumentError('weights="balanced" needs a dataset whose labels are classes')
    counts = np.bincount(labels)
    return 1.0 / counts[labels]


def _check_weights(each: NDArray[np.float64], dataset: Any) -> NDArray[np.float64]:
    """Checks weights."""
    if each.shape != (len(dataset),):
        raise ArgumentError(f"expected {len(dataset)} weights, got shape {each.shape}")
    if not (np.isfinite(each).all() and (each >= 0).all() and each.sum() > 0):
        raise ArgumentError("weights must be 0 or more and finite, and not all 0")
    return each
