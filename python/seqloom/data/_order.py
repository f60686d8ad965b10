"""Orders that a key decides, and the share that each rank has of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_choice
from seqloom._rust import _native
from seqloom.data._state import check_integer
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._key import Key

_EVEN_RANKS = ("pad", "drop", "error")


def permutation(n: int, key: Key) -> NDArray[np.int64]:
    """Shuffles the integers from 0 to n - 1; the key decides the order."""
    out = np.empty(n, np.int64)
    _native.permutation(n, *key.words, out)
    return out


def permute(positions: NDArray[np.int64], size: int, key: Key | None) -> NDArray[np.int64]:
    """Finds the items at increasing positions of an epoch; without a key unshuffled."""
    # Only these positions are computed. Positions from `size` on start again at 0.
    is_within = not positions.size or positions[-1] < size
    wrapped = positions if is_within else positions % size
    if key is None:
        return wrapped
    out = np.empty_like(wrapped)
    _native.permuted_at(size, key.words, wrapped, out)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One of several processes that share an epoch."""

    number: int = 0
    world: int = 1  # the number of processes
    even: str = "pad"  # what happens to a remainder; "uneven": some ranks get one item more

    def share(self, start: int, stop: int) -> tuple[int, int]:
        """Makes a range divisible by the ranks: its new stop, and the items of a rank."""
        if self.even == "uneven":
            return stop, len(range(start + self.number, stop, self.world))
        rest = (stop - start) % self.world
        if rest and self.even == "error":
            raise ArgumentError(
                f"{stop - start:,} items cannot be divided evenly among {self.world} "
                'ranks; pass even_ranks="pad" or even_ranks="drop"'
            )
        if rest:
            stop += self.world - rest if self.even == "pad" else -rest
        return stop, (stop - start) // self.world

    def positions(self, start: int, stop: int) -> NDArray[np.int64]:
        """Lists the positions from start to stop that belong to this rank."""
        return np.arange(start + self.number, stop, self.world)


def find_rank(rank: int | None, world: int | None, even: str) -> Rank:
    """Takes rank and world size from the arguments, or from torch.distributed."""
    as_choice("even_ranks", even, _EVEN_RANKS)
    if (rank is None) != (world is None):
        raise ArgumentError(
            "rank and world_size must be passed together or not at all, got "
            f"rank={rank!r} and world_size={world!r}"
        )
    if rank is None or world is None:
        rank, world = _torch_rank()
    check_integer("world_size", world, least=1)
    check_integer("rank", rank, most=world - 1)
    return Rank(number=rank, world=world, even=even)


def _torch_rank() -> tuple[int, int]:
    """Reads rank and world size from torch.distributed, if it is initialized."""
    group: Any = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return 0, 1
    return group.get_rank(), group.get_world_size()
