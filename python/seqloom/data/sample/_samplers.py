"""What samplers have in common: an order that seed and epoch alone decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_flag, as_seed, check_sized, quote
from seqloom._key import Key
from seqloom.data._frame import values_by_id
from seqloom.data._position import (
    STATE_FORMAT,
    Position,
    check_integer,
    check_state,
    find_rank,
    positions_in,
)
from seqloom.data.loader._order import EpochOrder
from seqloom.data.loader._settings import Batching
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._position import Rank


class Sampler(ABC):
    """What all samplers have in common: an epoch, and a share of it for each rank.

    The k-th pass is epoch k. Positions carry the epoch, so that a dataset draws the
    augmentation of that epoch in PyTorch's loader too.

    Args:
        seed: Seed of the random order.
        rank: Which of several processes this is, for PyTorch's loader. Our ``DataLoader``
            deals to ranks itself: give it a sampler without.
        world_size: How many processes share an epoch.
        even_ranks: What happens to what cannot be dealt evenly: ``"pad"``, ``"drop"`` or
            ``"error"``.

    Raises:
        ArgumentError: An argument makes no sense.

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
        """Whether it gives whole epochs, so that a loader must deal them to ranks."""
        return self._rank.world == 1

    @abstractmethod
    def _plan(self, epoch: int) -> list[Any]:
        """List what an epoch gives to all ranks: positions, or rows of them."""

    def __len__(self) -> int:
        return self._rank.share(0, len(self._plan_once(self._next)))[1]

    def __iter__(self) -> Iterator[Any]:
        # An epoch begins with its first step: PyTorch's loader makes an iterator too many.
        epoch, self._next = self._next, self._next + 1
        plan = self._plan_once(epoch)
        stop, _ = self._rank.share(0, len(plan)) if plan else (0, 0)
        for position in self._rank.positions(0, stop).tolist():
            yield _carrying(plan[position % len(plan)], epoch)

    def _plan_once(self, epoch: int) -> list[Any]:
        """Keep the plan of one epoch: a loader asks for its length first."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._plan(epoch))
        return self._planned[1]

    def set_epoch(self, epoch: int) -> None:
        """Make the next ``iter`` this epoch.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> from seqloom.data import LengthBucketSampler
            >>> sampler = LengthBucketSampler([5, 3, 4], batch_size=2)
            >>> sampler.set_epoch(4)
            >>> next(iter(sampler))[0].epoch
            4
        """
        check_integer("epoch", epoch)
        self._next = epoch


def _carrying(rows: int | list[int], epoch: int) -> Position | list[Position]:
    """Return positions their epoch."""
    if isinstance(rows, int):
        return Position(rows, epoch=epoch)
    return positions_in(epoch, rows)


class EpochSampler:
    """Gives ``torch.utils.data.DataLoader`` our order, each position with its epoch.

    The dataset then draws the augmentation of that epoch, in persistent workers too, so
    the batches are those of our ``DataLoader`` with the same seed. The k-th pass is epoch
    k.

    Args:
        dataset: What is sampled, or anything of its length.
        shuffle: Whether each epoch has an order of its own.
        seed: Seed of the random order.
        rank: Which of several processes this is; None asks ``torch.distributed``.
        world_size: How many processes share an epoch.
        even_ranks: What happens to items that cannot be dealt evenly: ``"pad"``, ``"drop"``
            or ``"error"``.

    Raises:
        ArgumentError: An argument makes no sense.

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
        check_sized("dataset", dataset)
        self._dataset = dataset
        self._batching = Batching(batch_size=None, shuffle=as_flag("shuffle", shuffle))
        self._seed = as_seed(seed)
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._at = self._next = [0, 0]

    def __len__(self) -> int:
        return len(self._order())

    def __iter__(self) -> Iterator[Position]:
        # An epoch begins with its first step: trainers make an iterator too many.
        at = self._at = self._next
        self._next = [at[0] + 1, 0]
        epoch = at[0]
        for request in self._order().requests(epoch, at[1]):
            at[1] = request.position
            yield Position(request.content, epoch=epoch)
        at[:] = [epoch + 1, 0]

    def _order(self) -> EpochOrder:
        """Return the order of an epoch, by the dataset's length and the rank of now."""
        return EpochOrder(
            size=len(self._dataset),
            batching=self._batching,
            rank=find_rank(*self._ranks),
            seed=self._seed,
        )

    def set_epoch(self, epoch: int) -> None:
        """Make the next ``iter`` this epoch.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.set_epoch(4)
            >>> [position.epoch for position in sampler]
            [4, 4, 4]
        """
        check_integer("epoch", epoch)
        self._at = self._next = [epoch, 0]

    def state_dict(self) -> dict[str, Any]:
        """Say which position comes next, as far as the loader has asked.

        PyTorch's loader asks ahead of the batches that it hands out; our ``DataLoader`` has
        the state of the batch in hand.

        Returns:
            What ``load_state_dict`` takes.

        Examples:
            >>> EpochSampler(range(3)).state_dict()["position"]
            0
        """
        epoch, position = self._at
        state = {"version": STATE_FORMAT, "epoch": epoch, "position": position}
        return state | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Make the next ``iter`` go on where a state was taken.

        Args:
            state: What ``state_dict`` gave.

        Raises:
            ArgumentError: It is no whole state, or of another order.

        Examples:
            >>> sampler = EpochSampler(range(3), shuffle=False)
            >>> sampler.load_state_dict({**sampler.state_dict(), "position": 2})
            >>> list(sampler)
            [2]
        """
        check_state(state, self._identity())
        self._at = self._next = [int(state["epoch"]), int(state["position"])]

    def _identity(self) -> dict[str, Any]:
        """Name what a state belongs to."""
        size, shuffle = len(self._dataset), self._batching.shuffle
        return {"size": size, "seed": self._seed, "shuffle": shuffle}


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
    """Take weights as they are, or from the classes."""
    if not isinstance(weights, str):
        by_id = values_by_id("weights", weights, dataset)
        return _check_weights(_numbers(weights if by_id is None else by_id), dataset)
    if weights != "balanced":
        raise ArgumentError(f'weights must be numbers or "balanced", got {weights!r}')
    return _check_weights(_balance_classes(dataset), dataset)


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    """Take numbers of any type; texts are none, whatever they say."""
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
    """Weigh each item by how rare its class is."""
    labels = getattr(dataset, "labels", None)
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ArgumentError('weights="balanced" needs a dataset whose labels are classes')
    counts = np.bincount(labels)
    return 1.0 / counts[labels]


def _check_weights(each: NDArray[np.float64], dataset: Any) -> NDArray[np.float64]:
    """Check weights."""
    if each.shape != (len(dataset),):
        raise ArgumentError(f"expected {len(dataset)} weights, got shape {each.shape}")
    if not (np.isfinite(each).all() and (each >= 0).all() and each.sum() > 0):
        raise ArgumentError("weights must be 0 or more and finite, and not all 0")
    return each
