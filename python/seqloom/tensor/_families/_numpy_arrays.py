"""What callers of kernels share on NumPy: memory, outputs, half precision."""

# New memory costs a page fault for every 4 KiB at its first writing, several times what
# the writing costs; and the C library gives large pieces back to the system each time.

from __future__ import annotations

import math
from collections import deque
from functools import wraps
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from seqloom._system import after_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

Floats: TypeAlias = "NDArray[Any]"
Pair: TypeAlias = tuple[Floats, Floats]
Triple: TypeAlias = tuple[Floats, Floats, Floats]

_LINE = 64  # bytes: a line of the cache
_LARGE = 262_144  # bytes from which on memory is kept
_STEPS = 8  # sizes between two powers of two
# Of what was in use at a time. Forward and backward use other sizes: with less room than
# this a step would take new memory each time, and be resident no less.
_KEPT = 1.5


class Blocks:
    """Pieces of memory that are lent as arrays, and lent again.

    Half as much again is kept as was once in use at a time, and no more: what does not fit
    any more is let go before new memory is taken.
    """

    def __init__(self) -> None:
        self._live = self._idle = self._peak = 0
        self._waiting: dict[int, list[_Block]] = {}
        self._returned: deque[_Block] = deque()
        self._lock = Lock()

    @property
    def live(self) -> int:
        """Bytes that are lent."""
        with self._lock:
            self._collect()
            return self._live

    @property
    def idle(self) -> int:
        """Bytes that wait to be lent again."""
        with self._lock:
            self._collect()
            return self._idle

    def fresh(self, shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array with undefined contents, in reused memory if some is free.

        Args:
            shape: Its axes.
            dtype: Its element type.

        Returns:
            An array without gaps.
        """
        dtype = np.dtype(dtype)
        count = 1
        for size in shape if isinstance(shape, tuple) else (shape,):
            count *= size
        nbytes = count * dtype.itemsize
        if nbytes < _LARGE:
            return np.empty(shape, dtype)
        # One of eight sizes between two powers of two, so that similar arrays share blocks.
        step = 1 << max((nbytes - 1).bit_length() - _STEPS.bit_length(), 0)
        block = self._take(-(-nbytes // step) * step)
        lent = np.asarray(_Lease(block, self))
        return lent[:nbytes].view(dtype).reshape(shape)

    def _take(self, size: int) -> _Block:
        """Return a block of that size: one that waits, or a new one."""
        with self._lock:
            self._collect()
            waiting = self._waiting.get(size)
            block = waiting.pop() if waiting else None
            self._live += size
            self._peak = max(self._peak, self._live)
            self._idle -= size if block else 0
            self._let_go()
        return block or _Block(size)

    def give_back(self, block: _Block) -> None:
        """Keep a block that nobody uses any more."""
        # Called whenever an array dies, in the midst of `_take` too: it may not wait.
        self._returned.append(block)

    def _collect(self) -> None:
        """Sort what came back, by its size."""
        while self._returned:
            block = self._returned.popleft()
            self._live -= block.size
            self._idle += block.size
            self._waiting.setdefault(block.size, []).append(block)

    def _let_go(self) -> None:
        """Drop blocks that wait, oldest sizes first, while too much is kept."""
        most = self._peak * _KEPT
        for size in list(self._waiting):
            waiting = self._waiting[size]
            while waiting and self._live + self._idle > most:
                waiting.pop()
                self._idle -= size
            if not waiting:
                del self._waiting[size]

    def drain(self) -> None:
        """Let go of all that waits."""
        with self._lock:
            self._collect()
            self._waiting.clear()
            self._idle, self._peak = 0, self._live

    def unlock(self) -> None:
        """Open a lock that another thread held when this process was forked."""
        self._lock = Lock()


class _Block:
    """Memory of NumPy's, so that tracemalloc knows of it."""

    __slots__ = ("interface", "memory", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.memory: NDArray[np.uint8] = np.empty(size + _LINE, np.uint8)
        start: int = self.memory.ctypes.data
        self.interface = {
            "data": (start + -start % _LINE, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


class _Lease:
    """What an array over a block, and every view of it, keeps alive."""

    __slots__ = ("__array_interface__", "_block", "_owner")

    def __init__(self, block: _Block, owner: Blocks) -> None:
        self.__array_interface__ = block.interface
        self._block, self._owner = block, owner

    def __del__(self) -> None:
        self._owner.give_back(self._block)


BLOCKS = Blocks()
after_fork(BLOCKS.unlock)
# Functions that return the size of memory which a backend reserves for its next arrays.
reserves: list[Callable[[], int]] = [lambda: BLOCKS.idle]
fresh = BLOCKS.fresh


def fill(
    kernel: Callable[..., None],
    x: Floats,
    *rest: Any,
    threads: int,
    out: Floats | None = None,
) -> Floats:
    """Run an elementwise kernel: its output is shaped as its input."""
    x = to_contiguous(x)
    made = make_out(out, x.shape, x.dtype)
    kernel(x, *rest, made, threads)
    return write_to(made, out)


def to_contiguous(x: Any) -> Floats:
    """Return the array without gaps, in C order; with all its axes, which may be none."""
    x = np.asarray(x)
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


def all_contiguous(*arrays: Floats | None) -> Any:
    """Return the arrays without gaps; None stays None."""
    return tuple(None if array is None else to_contiguous(array) for array in arrays)


def suit_rust(*arrays: Floats | None) -> bool:
    """Return whether all arrays are of one type that Rust knows, and none is empty."""
    given = [array for array in arrays if array is not None]
    dtype = given[0].dtype
    is_one_type = all(array.dtype == dtype and array.size for array in given)
    return is_one_type and dtype.char in "fd"


def to_rows(x: Floats) -> Floats:
    """Return the array without gaps, all but its last axis as one."""
    return to_contiguous(x).reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def make_out(out: Floats | None, shape: tuple[int, ...] | int, dtype: DTypeLike) -> Floats:
    """Where a kernel writes: in the given array, unless that has gaps."""
    if out is not None and out.flags.c_contiguous:
        return out
    return fresh(shape, dtype)


def write_to(made: Floats, out: Floats | None) -> Floats:
    """What a kernel made, in the given array where there is one."""
    if out is None or made is out:
        return made
    out[...] = made
    return out


def write_each(made: Any, out: Any) -> Any:
    """What a kernel made, in the given arrays where there are some."""
    if out is None:
        return made
    return tuple(write_to(array, into) for array, into in zip(made, out, strict=True))


def split_heads(made: Floats, heads: int) -> tuple[Floats, Floats, Floats]:
    """Queries, keys and values ``(..., heads, d)`` as parts of one array of their rows."""
    width = made.shape[-1] // (3 * heads)
    parts = made.reshape((*made.shape[:-1], 3, heads, width))
    return parts[..., 0, :, :], parts[..., 1, :, :], parts[..., 2, :, :]


def parts_of_one(*arrays: Floats) -> bool:
    """Return whether arrays are equal steps apart in the memory of one."""
    first, *others = arrays
    if not others or first.base is None or first.size == 0:
        return False
    likeness = first.shape, first.strides, first.dtype
    if any((other.shape, other.strides, other.dtype) != likeness for other in others):
        return False
    owner = _owner(first)
    steps = {address_of(after) - address_of(before) for before, after in pairwise(arrays)}
    is_regular = len(steps) == 1 and steps.pop() > 0
    return is_regular and all(_owner(other) is owner for other in others)


def address_of(x: Floats) -> int:
    """Where an array's first number lies."""
    return x.__array_interface__["data"][0]


def _owner(x: Floats) -> Any:
    """What an array's memory belongs to."""
    owner: Any = x
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    return owner


# Half precision on NumPy: stored narrow, computed in float32.

_HALF = 2  # bytes
_ARRAY: Any = np.ndarray  # of any shape and type


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether a type is float16 or bfloat16; NumPy says that the latter is void."""
    return dtype.itemsize == _HALF and dtype.kind in "fV"


def widen(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose arithmetic is in float32 where an array is narrower."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not _are_narrow(args):
            return function(*args, **options)
        out = options.pop("out", None)
        found = function(*_each(_wide, args), **options)
        if narrow := _narrow_type(function.__name__, [*_float_types(args)]):
            found = _narrow_all(function.__name__, found, narrow)
        return found if out is None else _put(found, out)

    return call


def _are_narrow(args: Any) -> bool:
    """Return whether an array is of half precision; a list answers by its first."""
    for arg in args:
        if isinstance(arg, _ARRAY):
            if arg.itemsize == _HALF and arg.dtype.kind in "fV":
                return True
        elif type(arg) is list and _are_narrow(cast("list[Any]", arg)[:1]):
            return True
    return False


# Whose arrays have one rank: the standard promotes them. Elsewhere the first decides, the
# others being its weights, its mask and the like.
_PROMOTING = frozenset({"numpy_matmul", "numpy_tensordot"})


def _narrow_type(name: str, types: list[Any]) -> Any:
    """Return the type of half precision of a function's result.

    None where it is a wider one.
    """
    deciding = types if name in _PROMOTING else types[:1]
    is_narrow = is_half(types[0]) and all(dtype == types[0] for dtype in deciding)
    return types[0] if is_narrow else None


def _float_types(args: Any) -> Any:
    """Return the float types among the arguments."""
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _float_types(arg)
        elif isinstance(arg, _ARRAY) and arg.dtype.kind in "fV":
            yield arg.dtype


# Whose second result is a log-sum-exp, which the gradient raises e to.
_WITH_SUMS = frozenset({"numpy_attention", "numpy_attention_varlen"})


def _narrow_all(name: str, found: Any, dtype: DTypeLike) -> Any:
    """Return a function's results in the type that went in."""
    if name in _WITH_SUMS:
        return _narrow(found[0], dtype), found[1]
    return _each(_narrow, found, dtype)


def _each(change: Callable[..., Any], found: Any, *with_: Any) -> Any:
    """Change an array, or each of a list or a tuple of them."""
    if isinstance(found, (list, tuple)):
        parts = cast("list[Any]", found)
        kind = cast("Any", type(parts))
        return kind(_each(change, part, *with_) for part in parts)
    return change(found, *with_)


def _wide(x: Any) -> Any:
    """Return a narrow array in float32; anything else as it is."""
    narrow = isinstance(x, _ARRAY) and is_half(x.dtype)
    return x.astype(np.float32) if narrow else x


def _narrow(x: Any, dtype: DTypeLike) -> Any:
    """Return a float32 result in the type that went in."""
    wide = getattr(x, "dtype", None) == np.float32
    return np.asarray(x, dtype) if wide else x


def _put(found: Any, out: Any) -> Any:
    """Return a result, or each of several, in the memory that the caller gave."""
    if isinstance(found, tuple):
        parts = zip(cast("Any", found), out, strict=True)
        return tuple([_put(part, room) for part, room in parts])
    out[...] = found
    return out
