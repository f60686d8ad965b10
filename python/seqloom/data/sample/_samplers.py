"""What samplers have in common: an order that seed and epoch alone decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_seed
from seqloom.data._order import find_rank
from seqloom.data._position import Position, positions_in
from seqloom.data._state import check_integer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data._order import Rank


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
        """Lists what an epoch gives to all ranks: positions, or rows of them."""

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
        """Keeps the plan of one epoch: a loader asks for its length first."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self._plan(epoch))
        return self._planned[1]

    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter`` this epoch.

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
    """Gives positions their epoch."""
    if isinstance(rows, int):
        return Position(rows, epoch=epoch)
    return positions_in(epoch, rows)
