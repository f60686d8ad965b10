"""Which part of an epoch is this process's, where several train together."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data.loader._state import whole_number
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EVEN = ("pad", "drop", "error")  # what a caller may ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One of several processes that share an epoch.

    Args:
        number: Which one, from 0.
        world: How many there are.
        even: What happens to items that cannot be dealt out evenly: ``"pad"`` gives some
            twice and marks them, ``"drop"`` leaves them out, ``"error"`` refuses them,
            ``"uneven"`` gives some ranks one more.

    Examples:
        >>> Rank(number=1, world=3).share(0, 7)
        (9, 3)
    """

    number: int = 0
    world: int = 1
    even: str = "pad"

    def share(self, start: int, stop: int) -> tuple[int, int]:
        """Makes the places from start to stop even: the new stop, and each rank's count."""
        if self.even == "uneven":
            return stop, len(range(start + self.number, stop, self.world))
        rest = (stop - start) % self.world
        if rest and self.even == "error":
            raise ArgumentError(
                f"{stop - start:,} items cannot be dealt evenly to {self.world} ranks; "
                'pass even_ranks="pad" or "drop"'
            )
        if rest:
            stop += self.world - rest if self.even == "pad" else -rest
        return stop, (stop - start) // self.world

    def places(self, start: int, stop: int) -> NDArray[np.int64]:
        """Deals the places from start to stop out one by one; lists this rank's."""
        return np.arange(start + self.number, stop, self.world)


def find_rank(rank: int | None, world: int | None, even: str) -> Rank:
    """Takes rank and world size from the arguments, or from torch.distributed."""
    if even not in _EVEN:
        raise ArgumentError(f'even_ranks must be "pad", "drop" or "error", got {even!r}')
    if (rank is None) != (world is None):
        raise ArgumentError("give rank and world_size together, or neither")
    if rank is None or world is None:
        rank, world = _distributed()
    whole_number("world_size", world, least=1)
    whole_number("rank", rank, most=world - 1)
    return Rank(number=rank, world=world, even=even)


def _distributed() -> tuple[int, int]:
    """Asks torch, where this process uses it."""
    group: Any = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return 0, 1
    return group.get_rank(), group.get_world_size()
