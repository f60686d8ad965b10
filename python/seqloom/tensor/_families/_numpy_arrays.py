"""Memory, output arrays and half precision for NumPy kernels."""
# The first write to newly allocated memory causes a page fault per 4 KiB, which takes
# several times as long as the write. The C library returns each large block to the
# operating system when it is freed.

from __future__ import annotations

import math
from collections import deque
from functools import wraps
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from seqloom._system import run_after_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

Floats: TypeAlias = "NDArray[Any]"
Pair: TypeAlias = tuple[Floats, Floats]
Triple: TypeAlias = tuple[Floats, Floats, Floats]

_CACHE_LINE_BYTES = 64  # bytes
_MIN_CACHED_BYTES = 262_144  # Minimum size in bytes of cached arrays.
_SIZES_PER_OCTAVE = 8  # Number of block sizes per power of two.
# Limit of cached memory, relative to the peak of memory in use. Forward and backward
# passes use different block sizes. With a lower limit, each training step would
# allocate again, and peak memory would not be lower.
_CACHE_FACTOR = 1.5


class BlockCache:
    """A cache of memory blocks for new arrays.

    The memory in use and in the cache is at most 1.5 times the peak of memory in use.
    Blocks above this limit are freed before new memory is allocated.
    """

    def __init__(self) -> None:
        self._live = self._idle = self._peak = 0
        self._waiting: dict[int, list[_MemoryBlock]] = {}
        self._returned: deque[_MemoryBlock] = deque()
        self._lock = Lock()

    @property
    def used_bytes(self) -> int:
        """Number of bytes that arrays use."""
        with self._lock:
            self._collect_blocks()
            return self._live

    @property
    def idle_bytes(self) -> int:
        """Number of bytes in the cache."""
        with self._lock:
            self._collect_blocks()
            return self._idle

    def allocate(self, shape: tuple[int, ...] | int, dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array, in a cached block if the cache has one.

        Args:
            shape: The shape.
            dtype: The element type.

        Returns:
            A contiguous array.
        """
        dtype = np.dtype(dtype)
        count = 1
        for size in shape if isinstance(shape, tuple) else (shape,):
            count *= size
        nbytes = count * dtype.itemsize
        if nbytes < _MIN_CACHED_BYTES:
            return np.empty(shape, dtype)
        # Block sizes have eight steps per power of two, so that similar arrays share
        # blocks.
        step = 1 << max((nbytes - 1).bit_length() - _SIZES_PER_OCTAVE.bit_length(), 0)
        block = self._take_block(-(-nbytes // step) * step)
        lent = np.asarray(_BlockOwner(block, self))
        return lent[:nbytes].view(dtype).reshape(shape)

    def _take_block(self, size: int) -> _MemoryBlock:
        """Return a block of the given size, from the cache or newly allocated."""
        with self._lock:
            self._collect_blocks()
            waiting = self._waiting.get(size)
            block = waiting.pop() if waiting else None
            self._live += size
            self._peak = max(self._peak, self._live)
            self._idle -= size if block else 0
            self._free_excess()
        return block or _MemoryBlock(size)

    def return_block(self, block: _MemoryBlock) -> None:
        """Return a block to the cache after its array was deleted."""
        # Python may delete an array during `_take_block`, so this method must not wait for
        # the lock.
        self._returned.append(block)

    def _collect_blocks(self) -> None:
        """Move returned blocks to the cache."""
        while self._returned:
            block = self._returned.popleft()
            self._live -= block.size
            self._idle += block.size
            self._waiting.setdefault(block.size, []).append(block)

    def _free_excess(self) -> None:
        """Free cached blocks, oldest block size first, until the limit is met."""
        most = self._peak * _CACHE_FACTOR
        for size in list(self._waiting):
            waiting = self._waiting[size]
            while waiting and self._live + self._idle > most:
                waiting.pop()
                self._idle -= size
            if not waiting:
                del self._waiting[size]

    def free_blocks(self) -> None:
        """Free all cached blocks."""
        with self._lock:
            self._collect_blocks()
            self._waiting.clear()
            self._idle, self._peak = 0, self._live

    def renew_lock(self) -> None:
        """Create a new lock; a forked process may inherit a lock that is never released."""
        self._lock = Lock()


class _MemoryBlock:
    """Memory allocated by NumPy, so that tracemalloc counts it."""

    __slots__ = ("interface", "memory", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.memory: NDArray[np.uint8] = np.empty(size + _CACHE_LINE_BYTES, np.uint8)
        start: int = self.memory.ctypes.data
        self.interface = {
            "data": (start + -start % _CACHE_LINE_BYTES, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


class _BlockOwner:
    """The owner of a block; arrays in the block and their views keep the owner alive."""

    __slots__ = ("__array_interface__", "_block", "_owner")

    def __init__(self, block: _MemoryBlock, owner: BlockCache) -> None:
        self.__array_interface__ = block.interface
        self._block, self._owner = block, owner

    def __del__(self) -> None:
        self._owner.return_block(self._block)


block_cache = BlockCache()
run_after_fork(block_cache.renew_lock)
# Functions that return the number of bytes in the cache of a backend.
cache_sizes: list[Callable[[], int]] = [lambda: block_cache.idle_bytes]
allocate = block_cache.allocate


def run_kernel(
    kernel: Callable[..., None],
    x: Floats,
    *rest: Any,
    threads: int,
    out: Floats | None = None,
) -> Floats:
    """Run an elementwise kernel; its output has the shape of its input."""
    x = to_contiguous(x)
    made = make_out(out, x.shape, x.dtype)
    kernel(x, *rest, made, threads)
    return write_out(made, out)


def to_contiguous(x: Any) -> Floats:
    """Return a C-contiguous array, without a copy if possible; scalars become arrays."""
    x = np.asarray(x)
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


def all_contiguous(*arrays: Floats | None) -> Any:
    """Return each array in contiguous form; None is returned unchanged."""
    return tuple(None if array is None else to_contiguous(array) for array in arrays)


def can_use_rust(*arrays: Floats | None) -> bool:
    """Return whether the arrays have one float type and are not empty."""
    given = [array for array in arrays if array is not None]
    dtype = given[0].dtype
    is_one_type = all(array.dtype == dtype and array.size for array in given)
    return is_one_type and dtype.char in "fd"


def to_rows(x: Floats) -> Floats:
    """Return a contiguous matrix by merging all axes except the last."""
    return to_contiguous(x).reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def make_out(out: Floats | None, shape: tuple[int, ...] | int, dtype: DTypeLike) -> Floats:
    """Return an array for the output of a kernel: `out` if it is contiguous."""
    if out is not None and out.flags.c_contiguous:
        return out
    return allocate(shape, dtype)


def write_out(made: Floats, out: Floats | None) -> Floats:
    """Return the result of a kernel, after copying it to `out` if necessary."""
    if out is None or made is out:
        return made
    out[...] = made
    return out


def write_outs(made: Any, out: Any) -> Any:
    """Return the results of a kernel, after copying them to `out` if necessary."""
    if out is None:
        return made
    return tuple(write_out(array, into) for array, into in zip(made, out, strict=True))


def split_heads(made: Floats, heads: int) -> tuple[Floats, Floats, Floats]:
    """Return queries, keys and values ``(..., heads, d)`` as views of one array."""
    width = made.shape[-1] // (3 * heads)
    parts = made.reshape((*made.shape[:-1], 3, heads, width))
    return parts[..., 0, :, :], parts[..., 1, :, :], parts[..., 2, :, :]


def are_views(*arrays: Floats) -> bool:
    """Return whether the arrays are evenly spaced sections of one array."""
    first, *others = arrays
    if not others or first.base is None or first.size == 0:
        return False
    likeness = first.shape, first.strides, first.dtype
    if any((other.shape, other.strides, other.dtype) != likeness for other in others):
        return False
    owner = _find_memory_owner(first)
    steps = {get_address(after) - get_address(before) for before, after in pairwise(arrays)}
    is_regular = len(steps) == 1 and steps.pop() > 0
    return is_regular and all(_find_memory_owner(other) is owner for other in others)


def get_address(x: Floats) -> int:
    """Return the address of the first element of an array."""
    return x.__array_interface__["data"][0]


def _find_memory_owner(x: Floats) -> Any:
    """Return the object that owns the memory of an array."""
    owner: Any = x
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    return owner


# Half precision on NumPy: arrays are stored in 16 bits, and computations use float32.

_HALF_BYTES = 2
_ARRAY_CLASS: Any = np.ndarray  # The type of arrays with any shape and dtype.


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is float16 or bfloat16, which has kind "V" in NumPy."""
    return dtype.itemsize == _HALF_BYTES and dtype.kind in "fV"


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that converts half-precision arrays to float32 and back."""

    @wraps(function)
    def call_in_float32(*args: Any, **options: Any) -> Any:
        if not _has_half(args):
            return function(*args, **options)
        out = options.pop("out", None)
        found = function(*_map_arrays(_to_float32, args), **options)
        if narrow := _find_half_dtype(function.__name__, [*_list_float_dtypes(args)]):
            found = _narrow_results(function.__name__, found, narrow)
        return found if out is None else _copy_to_out(found, out)

    return call_in_float32


def _has_half(args: Any) -> bool:
    """Return whether an array, or the first item of a list, has half precision."""
    for arg in args:
        if isinstance(arg, _ARRAY_CLASS):
            if arg.itemsize == _HALF_BYTES and arg.dtype.kind in "fV":
                return True
        elif type(arg) is list and _has_half(cast("list[Any]", arg)[:1]):
            return True
    return False


# Functions whose result has the common dtype of all arrays, as in the Array API
# standard. In all other functions, the first array determines the dtype; further
# arguments are weights, masks and so on.
_PROMOTING_FUNCTIONS = frozenset({"numpy_matmul", "numpy_tensordot"})


def _find_half_dtype(name: str, types: list[Any]) -> Any:
    """Return the half-precision dtype of the result, or None if the result is wider."""
    deciding = types if name in _PROMOTING_FUNCTIONS else types[:1]
    is_narrow = is_half(types[0]) and all(dtype == types[0] for dtype in deciding)
    return types[0] if is_narrow else None


def _list_float_dtypes(args: Any) -> Any:
    """Yield the float dtypes of the arguments."""
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _list_float_dtypes(arg)
        elif isinstance(arg, _ARRAY_CLASS) and arg.dtype.kind in "fV":
            yield arg.dtype


# Functions whose second result is a log-sum-exp, which stays in float32 for accuracy.
_LOG_SUM_FUNCTIONS = frozenset({"numpy_attention", "numpy_attention_varlen"})


def _narrow_results(name: str, found: Any, dtype: DTypeLike) -> Any:
    """Convert the results of a function to the dtype of its input."""
    if name in _LOG_SUM_FUNCTIONS:
        return _to_half(found[0], dtype), found[1]
    return _map_arrays(_to_half, found, dtype)


def _map_arrays(change: Callable[..., Any], found: Any, *with_: Any) -> Any:
    """Apply a function to an array, or to each array in a list or tuple."""
    if isinstance(found, (list, tuple)):
        parts = cast("list[Any]", found)
        kind = cast("Any", type(parts))
        return kind(_map_arrays(change, part, *with_) for part in parts)
    return change(found, *with_)


def _to_float32(x: Any) -> Any:
    """Convert a half-precision array to float32; return other values unchanged."""
    narrow = isinstance(x, _ARRAY_CLASS) and is_half(x.dtype)
    return x.astype(np.float32) if narrow else x


def _to_half(x: Any, dtype: DTypeLike) -> Any:
    """Convert a float32 result to half precision."""
    wide = getattr(x, "dtype", None) == np.float32
    return np.asarray(x, dtype) if wide else x


def _copy_to_out(found: Any, out: Any) -> Any:
    """Copy results to the arrays in `out`."""
    if isinstance(found, tuple):
        parts = zip(cast("Any", found), out, strict=True)
        return tuple([_copy_to_out(part, room) for part, room in parts])
    out[...] = found
    return out
