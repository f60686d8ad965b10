"""Samplers whose order is determined by seed and epoch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool, as_seed, check_has_length, quote
from seqloom._key import Key
from seqloom.data._frame import values_by_id
from seqloom.data._position import (
    STATE_FORMAT,
    Position,
    check_integer,
    check_state,
    find_rank,
    with_epoch,
)
from seqloom.data.loader._order import EpochOrder
from seqloom.data.loader._settings import Batching
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._position import Rank


class Sampler(ABC):
    """Base class of samplers: an order for each epoch, split among ranks.

    Each pass is one epoch, counted from 0. Indices store the epoch, so datasets use the
    augmentation of that epoch in PyTorch loaders too.

    Args:
        seed: Seed of the random order.
        rank: The rank of this process, for a PyTorch loader. ``sl.data.DataLoader`` splits
            items among ranks itself: pass it a sampler without a rank.
        world_size: The number of processes that split an epoch.
        even_ranks: The treatment of items that cannot be divided evenly among the ranks:
            ``"pad"``, ``"drop"`` or ``"error"``.

    Raises:
        ArgumentError: An argument is invalid.

    Examples:
        >>> from seqloom.data import LengthBucketSampler
        >>> issubclass(LengthBucketSampler, Sampler)
        True
    """

    def __init__(
        self, *, seed: int = 0, rank: int = 0, world_size: int = 1, even_ranks: str = "pad"
    ) -> None:
        self.seed = as_seed(seed)
        self._rank: Rank = find_rank(rank, world_size, even_ranks)
        self._next = 0
        self._planned: tuple[int, list[Any]] | None = None

    @property
    def is_whole(self) -> bool:
        """True if the sampler yields whole epochs, which a loader splits among ranks."""
        return self._rank.world == 1

    @abstractmethod
    def _plan_epoch(self, epoch: int) -> list[Any]:
        """Return the indices, or lists of indices, of an epoch for all ranks."""

    def __len__(self) -> int:
        return self._rank.share(0, len(self._cached_plan(self._next)))[1]

    def __iter__(self) -> Iterator[Any]:
        # An epoch begins when its first item is requested, because PyTorch creates an
        # iterator that it never uses.
        epoch, self._next = self._next, self._next + 1
        plan = self._cached_plan(epoch)
        stop, _ = self._rank.share(0, len(plan)) if plan else (0, 0)
        for position in self._rank.positions(0, stop).tolist():
            yield _with_epoch(plan[position % len(plan)], epoch)

    def _cached_plan(self, epoch: int) -> list[Any]:
        """Return the order of an epoch; cache it, as a loader requests its length first."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._plan_epoch(epoch))
        return self._planned[1]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass.

        Args:
            epoch: The epoch, counted from 0.

        Raises:
            ArgumentError: The epoch is negative.

        Examples:
            >>> from seqloom.data import LengthBucketSampler
            >>> sampler = LengthBucketSampler([5, 3, 4], batch_size=2)
            >>> sampler.set_epoch(4)
            >>> next(iter(sampler))[0].epoch
            4
        """
        check_integer("epoch", epoch)
        self._next = epoch


def _with_epoch(rows: int | list[int], epoch: int) -> Position | list[Position]:
    """Return indices that store the epoch."""
    if isinstance(rows, int):
        return Position(rows, epoch=epoch)
    return with_epoch(epoch, rows)


class EpochSampler:
    """Samples in the order of ``sl.data.DataLoader``, for ``torch.utils.data.DataLoader``.

    Indices store the epoch, so the dataset uses the augmentation of that epoch, also in
    persistent workers. The batches equal those of ``sl.data.DataLoader`` with the same
    seed. Each pass is one epoch, counted from 0.

    Args:
        dataset: The dataset, or any object with the same length.
        shuffle: If True, each epoch has a different random order.
        seed: Seed of the random order.
        rank: The rank of this process; None reads the rank from ``torch.distributed``.
        world_size: The number of processes that split an epoch.
        even_ranks: The treatment of items that cannot be divided evenly among the ranks:
            ``"pad"``, ``"drop"`` or ``"error"``.

    Raises:
        ArgumentError: An argument is invalid.

    Examples:
        >>> sampler = EpochSampler(range(5), seed=1)
        >>> first, second = list(sampler), list(sampler)
        >>> sorted(first) == sorted(second), first == second
        (True, False)
        >>> second[0].epoch
        1
    """

    def __init__(
        self,
        dataset: Sized,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        even_ranks: str = "pad",
    ) -> None:
        check_has_length("dataset", dataset)
        self._dataset = dataset
        self._batching = Batching(batch_size=None, shuffle=as_bool("shuffle", shuffle))
        self._seed = as_seed(seed)
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._at = self._next = [0, 0]

    def __len__(self) -> int:
        return len(self._order())

    def __iter__(self) -> Iterator[Position]:
        # An epoch begins when its first item is requested, because trainers create
        # iterators that they never use.
        at = self._at = self._next
        self._next = [at[0] + 1, 0]
        epoch = at[0]
        for request in self._order().requests(epoch, at[1]):
            at[1] = request.position
            yield Position(request.content, epoch=epoch)
        at[:] = [epoch + 1, 0]

    def _order(self) -> EpochOrder:
        return EpochOrder(
            size=len(self._dataset),
            batching=self._batching,
            rank=find_rank(*self._ranks),
            seed=self._seed,
        )

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass.

        Args:
            epoch: The epoch, counted from 0.

        Raises:
            ArgumentError: The epoch is negative.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.set_epoch(4)
            >>> [position.epoch for position in sampler]
            [4, 4, 4]
        """
        check_integer("epoch", epoch)
        self._at = self._next = [epoch, 0]

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last index that the loader has requested.

        A PyTorch loader requests indices ahead of the batches it returns. In contrast, the
        state of an ``sl.data.DataLoader`` is the position after the last batch that it
        returned.

        Returns:
            The state, for ``load_state_dict``.

        Examples:
            >>> EpochSampler(range(3)).state_dict()["position"]
            0
        """
        epoch, position = self._at
        state = {"version": STATE_FORMAT, "epoch": epoch, "position": position}
        return state | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume the next pass at a saved position.

        Args:
            state: A result of ``state_dict``.

        Raises:
            ArgumentError: The state is incomplete, or was saved by a sampler with another
                order.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.load_state_dict({**sampler.state_dict(), "position": 2})
            >>> list(sampler)
            [2]
        """
        check_state(state, self._identity())
        self._at = self._next = [int(state["epoch"]), int(state["position"])]

    def _identity(self) -> dict[str, Any]:
        """Return the settings that must equal those of a saved state."""
        size, shuffle = len(self._dataset), self._batching.shuffle
        return {"size": size, "seed": self._seed, "shuffle": shuffle}


class WeightedSampler(Sampler):
    """Samples items by weight, with replacement.

    Args:
        dataset: The dataset to sample from.
        weights: One number for each item, a dict or an indexed pandas series from id to
            number, or ``"balanced"``, which samples all classes equally often.
        size: The number of items in an epoch; None for the size of the dataset.
        **options: ``seed``, ``rank``, ``world_size`` and ``even_ranks``; see ``Sampler``.

    Raises:
        ArgumentError: Weights are negative, not finite or all 0; their number is wrong; or
            ``"balanced"`` is used without classes.

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
        **options: Any,
    ) -> None:
        super().__init__(**options)
        check_has_length("dataset", dataset)
        self._size = len(dataset) if size is None else size
        check_integer("size", self._size)
        each = _read_weights(dataset, weights)
        self._ends = np.cumsum(each)
        self._last = int(np.flatnonzero(each)[-1])

    def _plan_epoch(self, epoch: int) -> list[int]:
        words = Key(self.seed, epoch).bits(2 * self._size).reshape(2, -1).astype(np.uint64)
        # The 53 random bits fit into a float64, so all machines compute the same
        # points.
        bits = (words[0] << np.uint64(21)) | (words[1] >> np.uint64(11))
        points = bits.astype(np.float64) * 2.0**-53 * self._ends[-1]
        found = np.asarray(self._ends.searchsorted(points, side="right"), np.int64)
        # Rounding may move a point to the end of the range, after the last item.
        return np.minimum(found, self._last).tolist()


def _read_weights(dataset: Any, weights: ArrayLike | str) -> NDArray[np.float64]:
    if not isinstance(weights, str):
        by_id = values_by_id("weights", weights, dataset)
        return _check_weights(_to_float64(weights if by_id is None else by_id), dataset)
    if weights != "balanced":
        raise ArgumentError(f'weights must be numbers or "balanced", got {weights!r}')
    return _check_weights(_class_weights(dataset), dataset)


def _to_float64(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights of any numeric type as float64; raise for strings."""
    try:
        array = np.asarray(weights)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind == "O" and array.ndim:
        array = np.array(
            [weight if isinstance(weight, Real) else "" for weight in array.flat]
        )
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f'weights must be numbers or "balanced", got {quote(weights)}')
    return array.astype(np.float64)


def _class_weights(dataset: Any) -> NDArray[np.float64]:
    """Return 1 / (number of items of the class) for each item."""
    labels = getattr(dataset, "labels", None)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ArgumentError('weights="balanced" needs a dataset whose labels are classes')
    counts = np.bincount(labels)
    return 1.0 / counts[labels]


def _check_weights(weights: NDArray[np.float64], dataset: Any) -> NDArray[np.float64]:
    if weights.shape != (len(dataset),):
        raise ArgumentError(f"expected {len(dataset)} weights, got shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ArgumentError("weights must be 0 or more and finite, and not all 0")
    return weights
