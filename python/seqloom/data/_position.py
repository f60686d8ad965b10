"""Positions in a dataset, and the epoch they are asked for in."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data._frame import index_of
from seqloom.data._state import check_integer
from seqloom.errors import ArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


class Position(int):
    """A position that carries its epoch, through torch's loader and its workers too."""

    # It behaves as an integer in every other respect.

    epoch: int

    def __new__(cls, number: int, *, epoch: int = 0) -> Self:
        new = super().__new__(cls, number)
        new.epoch = epoch
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return _position, (int(self), self.epoch)


def _position(number: int, epoch: int) -> Position:
    """Makes a position again in another process."""
    return Position(number, epoch=epoch)


def positions_in(epoch: int, numbers: Iterable[int]) -> list[Position]:
    """Gives positions the epoch they are asked for in."""
    return [Position(number, epoch=epoch) for number in numbers]


def epoch_of(indices: Any) -> int | None:
    """Reads the epoch that positions carry; None where they are plain numbers."""
    # All positions of one request are of one epoch, so the first one tells.
    if isinstance(indices, Position):
        return indices.epoch
    if isinstance(indices, (list, tuple)) and indices:
        return epoch_of(indices[0])
    return None


def position(index: Any, size: int) -> int:
    """Checks one position; below 0 it counts from the end."""
    try:
        row = operator.index(index)
    except TypeError:
        row = None
    if row is None or isinstance(index, bool):
        raise ArgumentError(
            f"an index must be one integer, got {index!r}; "
            "take several with .batch or sl.data.Subset"
        )
    if not -size <= row < size:
        raise OutOfRangeError(f"index {row} is out of range for {size:,} items")
    return row % size


def positions(indices: ArrayLike, size: int) -> NDArray[np.int64]:
    """Checks positions, of which those below 0 count from the end, or takes a mask's."""
    rows = np.array(indices, ndmin=1)
    # A loader's positions are 0 to size. As unsigned, a number below 0 is beyond any size.
    is_plain = rows.dtype == np.int64 and rows.ndim == 1 and rows.size > 0
    if is_plain and int(rows.view(np.uint64).max()) < size:
        return rows
    if rows.dtype == np.bool_:
        if index_of(indices) is not None:
            raise ArgumentError(
                "the mask has an index, which sl.data.Subset(dataset, mask) joins by id; "
                "give mask.to_numpy() for a mask in the order of the items"
            )
        return _mask_positions(np.asarray(indices), size)
    if rows.size and (rows.dtype.kind not in "iu" or rows.ndim > 1):
        raise ArgumentError(
            "indices must be one row of integers or a mask of True and False, got "
            f"{rows.dtype} of shape {rows.shape}"
        )
    wrong = rows[(rows < -size) | (rows >= size)]
    if wrong.size:
        raise OutOfRangeError(f"index {wrong[0]} is out of range for {size:,} items")
    rows = rows.reshape(-1).astype(np.int64)
    return np.where(rows < 0, rows + size, rows)


def _mask_positions(mask: NDArray[np.bool_], size: int) -> NDArray[np.int64]:
    """Lists the positions that a mask marks."""
    if not mask.ndim:
        raise ArgumentError(f"an index must be an integer, got {mask}")
    if mask.shape != (size,):
        raise OutOfRangeError(f"a mask must have shape ({size},), got {mask.shape}")
    return np.flatnonzero(mask)


class Epoch:
    """A number that the processes of a loader share, so that setting it reaches them all.

    It lives in shared memory, which a forked process inherits; into a pickle it goes only
    while a process is being spawned, else the pickle holds its value.
    """

    def __init__(self, shared: Any = None) -> None:
        self._shared: Any = _cells() if shared is None else shared
        self._seen = 0
        self._made = 0

    def get(self) -> int:
        """Tells the epoch that was set last."""
        return self._shared[1]

    def set(self, epoch: int) -> None:
        """Sets it, here and in all processes that came from this one."""
        check_integer("epoch", epoch)
        self._shared[1] = epoch
        self._shared[0] += 1

    def next(self) -> int:
        """Counts on from the epoch that was set last: each call is one epoch later."""
        times, epoch = self._shared[:]
        if times != self._seen:
            self._seen, self._made = times, 0
        self._made += 1
        return epoch + self._made - 1

    def apart(self) -> Epoch:
        """Counts apart, from the same epoch that is set for all."""
        return Epoch(self._shared)

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.context import get_spawning_popen

        if get_spawning_popen() is not None:
            return self.__dict__
        return {**self.__dict__, "_shared": self._shared[:]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shared = state["_shared"]
        if isinstance(shared, list):
            cells = _cells()
            cells[:] = shared
            state = {**state, "_shared": cells}
        self.__dict__.update(state)


def _cells() -> Any:
    """Makes two integers in shared memory: how often it was set, and the epoch."""
    from multiprocessing import sharedctypes  # takes 20 ms, which most programs never need

    return sharedctypes.RawArray("q", 2)
