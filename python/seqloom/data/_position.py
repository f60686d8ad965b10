"""Indices in a dataset, their order in an epoch, and saved states of loaders."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_choice, as_integer, quote
from seqloom._rust import _native
from seqloom.data._frame import frame_index
from seqloom.errors import ArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from seqloom._key import Key


STATE_FORMAT = 1
_EVEN_CHOICES = ("pad", "drop", "error")


def check_state(state: Any, identity: dict[str, Any], *, owner: str = "loader") -> None:
    """Raise if a state is incomplete, or was saved by a different object."""
    names = ["version", "epoch", "position", *identity]
    if not isinstance(state, Mapping) or any(name not in state for name in names):
        raise ArgumentError(
            f"a {owner}'s state is a dict with {', '.join(names)}, as state_dict() returns "
            f"it; got {quote(state)}"  # pyright: ignore[reportUnknownArgumentType]
        )
    if state["version"] != STATE_FORMAT:
        raise ArgumentError(
            f"the state has version {state['version']!r}, but this version of seqloom "
            f"reads version {STATE_FORMAT}"
        )
    for name, value in identity.items():
        if state[name] != value:
            raise ArgumentError(
                f"the state is of a {owner} with {name} {state[name]!r}; this {owner} has "
                f"{name} {value!r}"
            )
    check_integer("the state's epoch", state["epoch"])
    check_integer("the state's position", state["position"], most=identity.get("size"))


def check_integer(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Return an integer as ``int``; raise if it is not from `least` to `most`."""
    try:
        number = as_integer(name, value, least=least)
    except ArgumentError:
        if most is None:
            raise
        number = None
    if most is not None and (number is None or number > most):
        raise ArgumentError(
            f"{name} must be an integer from {least} to {most}, got {quote(value)}"
        ) from None
    return 0 if number is None else number


class Position(int):
    """An index that also contains its epoch, for the workers of PyTorch loaders."""

    epoch: int

    def __new__(cls, number: int, *, epoch: int = 0) -> Self:
        new = super().__new__(cls, number)
        new.epoch = epoch
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_position, (int(self), self.epoch)


def _unpickle_position(number: int, epoch: int) -> Position:
    return Position(number, epoch=epoch)


def with_epoch(epoch: int, numbers: Iterable[int]) -> list[Position]:
    """Return indices as `Position` objects, which store the epoch."""
    return [Position(number, epoch=epoch) for number in numbers]


def stored_epoch(indices: Any) -> int | None:
    """Return the epoch that `Position` objects store; None for plain integers."""
    # All positions of a batch request have the same epoch.
    if isinstance(indices, Position):
        return indices.epoch
    if isinstance(indices, (list, tuple)) and indices:
        return stored_epoch(indices[0])
    return None


def as_index(index: Any, size: int) -> int:
    """Return a non-negative index; negative indices count from the end."""
    try:
        row = operator.index(index)
    except TypeError:
        row = None
    if row is None or isinstance(index, bool):
        raise ArgumentError(
            f"an index must be one integer, got {index!r}; "
            "select several items with .batch or sl.data.Subset"
        )
    if not -size <= row < size:
        raise OutOfRangeError(f"index {row} is out of range for {size:,} items")
    return row % size


def as_indices(indices: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return non-negative indices from indices or a boolean mask."""
    rows = np.array(indices, ndmin=1)
    # Fast path for the index arrays of loaders. Viewed as unsigned integers, negative
    # indices exceed any size.
    is_plain = rows.dtype == np.int64 and rows.ndim == 1 and rows.size > 0
    if is_plain and int(rows.view(np.uint64).max()) < size:
        return rows
    if rows.dtype == np.bool_:
        if frame_index(indices) is not None:
            raise ArgumentError(
                "the mask has an index: sl.data.Subset(dataset, mask) joins it by id; "
                "if the mask is in item order, pass mask.to_numpy()"
            )
        mask = np.asarray(indices)
        if not mask.ndim:
            raise ArgumentError(f"an index must be an integer, got {mask}")
        if mask.shape != (size,):
            raise OutOfRangeError(f"a mask must have shape ({size},), got {mask.shape}")
        return np.flatnonzero(mask)
    if rows.size and (rows.dtype.kind not in "iu" or rows.ndim > 1):
        raise ArgumentError(
            "indices must be a one-dimensional array of integers or booleans, got "
            f"{rows.dtype} of shape {rows.shape}"
        )
    wrong = rows[(rows < -size) | (rows >= size)]
    if wrong.size:
        raise OutOfRangeError(f"index {wrong[0]} is out of range for {size:,} items")
    rows = rows.reshape(-1).astype(np.int64)
    return np.where(rows < 0, rows + size, rows)


class Epoch:
    """The current epoch in shared memory, so that all processes of a loader read it.

    Forked and spawned processes share the memory. Pickling an epoch for any purpose other
    than starting a process copies its value.
    """

    def __init__(self, shared: Any = None) -> None:
        self._shared: Any = _allocate_shared_epoch() if shared is None else shared
        self._seen = 0
        self._made = 0

    def get(self) -> int:
        """Return the epoch that was set last."""
        return self._shared[1]

    def set(self, epoch: int) -> None:
        """Set the epoch in this process and in its child processes."""
        check_integer("epoch", epoch)
        self._shared[1] = epoch
        self._shared[0] += 1

    def next(self) -> int:
        """Return the next epoch; the first call returns the epoch that was set last."""
        set_count, epoch = self._shared[:]
        if set_count != self._seen:
            self._seen, self._made = set_count, 0
        self._made += 1
        return epoch + self._made - 1

    def independent_counter(self) -> Epoch:
        """Return a counter that shares the epoch, but counts passes independently."""
        return Epoch(self._shared)

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.context import get_spawning_popen

        if get_spawning_popen() is not None:
            return self.__dict__
        return {**self.__dict__, "_shared": self._shared[:]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shared = state["_shared"]
        if isinstance(shared, list):
            cells = _allocate_shared_epoch()
            cells[:] = shared
            state = {**state, "_shared": cells}
        self.__dict__.update(state)


def _allocate_shared_epoch() -> Any:
    """Allocate two integers in shared memory: the number of `set` calls, and the epoch."""
    from multiprocessing import sharedctypes  # imported late: takes 20 ms

    return sharedctypes.RawArray("q", 2)


def permutation(n: int, key: Key) -> NDArray[np.int64]:
    """Return a permutation of the integers 0 to n - 1, determined by the key."""
    out = np.empty(n, np.int64)
    _native.permutation(n, *key.words, out)
    return out


def permuted_positions(
    positions: NDArray[np.int64], size: int, key: Key | None
) -> NDArray[np.int64]:
    """Return the indices at some positions of an epoch, shuffled if there is a key."""
    # Positions of `size` or more wrap around to 0.
    is_within = not positions.size or positions[-1] < size
    wrapped = positions if is_within else positions % size
    if key is None:
        return wrapped
    out = np.empty_like(wrapped)
    _native.permuted_at(size, key.words, wrapped, out)
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The rank of one of the processes that share the items of an epoch."""

    number: int = 0
    world: int = 1  # The number of processes.
    even: str = "pad"  # With "uneven", some ranks have one more item.

    def share(self, start: int, stop: int) -> tuple[int, int]:
        """Return the end of the epoch after padding or dropping, and the items per rank."""
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
        """Return the positions of this rank between start and stop."""
        return np.arange(start + self.number, stop, self.world)


def find_rank(rank: int | None, world: int | None, even: str) -> Rank:
    """Return the rank from the arguments, or from torch.distributed."""
    as_choice("even_ranks", even, _EVEN_CHOICES)
    if (rank is None) != (world is None):
        raise ArgumentError(
            "rank and world_size must be passed together or not at all, got "
            f"rank={rank!r} and world_size={world!r}"
        )
    if rank is None or world is None:
        rank, world = _read_torch_rank()
    check_integer("world_size", world, least=1)
    check_integer("rank", rank, most=world - 1)
    return Rank(number=rank, world=world, even=even)


def _read_torch_rank() -> tuple[int, int]:
    """Return rank and world size of torch.distributed; (0, 1) if it is not initialised."""
    group: Any = sys.modules.get("torch.distributed")
    if group is None or not group.is_available() or not group.is_initialized():
        return 0, 1
    return group.get_rank(), group.get_world_size()
