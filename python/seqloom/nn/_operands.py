"""Checks and conversions of function arguments: arrays, dtypes, sizes, offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from seqloom.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._autocast import autocast_state
from seqloom.tensor._backend import make_array
from seqloom.tensor._elements import to_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_operand(x: Tensor, data: object, dtype: Any = None) -> Tensor:
    """Convert data to a tensor on the backend of `x`, and to `dtype` if given."""
    if not isinstance(data, Tensor):
        # Copy, because the gradient may read the array after the caller has changed it.
        return Tensor(make_array(data, dtype, x.backend), x.backend)
    return data if dtype is None or data.dtype == dtype else data.astype(dtype)


def make_range(x: Tensor, length: int) -> Tensor:
    """Create the integers from 0 to `length - 1` on the device of `x`."""
    return Tensor(x.backend.arange(length, dtype="int32"), x.backend)


def read_host_array(data: Any) -> NDArray[Any] | None:
    """Return data as a NumPy array; None if reading the data would wait for a device."""
    raw: Any = data.raw if isinstance(data, Tensor) else data
    if isinstance(raw, np.ndarray):
        return cast("NDArray[Any]", raw)
    library = type(raw).__module__.partition(".")[0]
    if library not in {"torch", "jaxlib"}:
        return None if isinstance(data, Tensor) else np.asarray(raw)
    is_here = "cpu" in str(raw.device).lower()
    return np.asarray(raw) if is_here else None


def require_index(name: str, data: object, count: int) -> None:
    """Raise if integers on the host are not in the range 0 to `count - 1`."""
    values = read_host_array(data)
    if values is None or not values.size:
        return
    least, most = values.min(), values.max()
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise OutOfRangeError(
            f"{name}: expected integers from 0 to {count - 1}, got {wrong}"
        )


def replace_negative(data: Tensor, count: int) -> Tensor:
    """Replace negative indices by `count`, so that they are out of range, too."""
    if read_host_array(data) is not None:
        return data
    # For an out-of-range index, the operation raises or returns NaN.
    return apply("where", data < 0, count, data)


# Cache of dtype objects that passed `is_inexact`, by `id`. The dict keeps these objects
# alive, so no other object can have the same id.
_FLOAT_DTYPES: dict[int, Any] = {}


_MAX_CACHED_DTYPES = 64
_INTEGER_OR_BOOL_KINDS = frozenset("biu")  # Codes of `dtype.kind`.
# Argument names for `require_same_dtype`; the first array determines the dtype.
LINEAR_ARGS = "weight", "x", "bias"
QKV_ARGUMENT_NAMES = "query", "key", "value"


def is_inexact(x: object) -> bool:
    """Return False for an array of integers or booleans, True for all other objects."""
    if type(x) is Tensor and id(x.raw.dtype) in _FLOAT_DTYPES:
        return True
    if _dtype_kind(x) in _INTEGER_OR_BOOL_KINDS:
        return False
    if type(x) is Tensor and len(_FLOAT_DTYPES) < _MAX_CACHED_DTYPES:
        dtype = x.raw.dtype
        _FLOAT_DTYPES[id(dtype)] = dtype
    return True


def require_floats(name: str, x: Any, argument: str = "x") -> None:
    """Raise for integers and booleans, because the result would be truncated or wrong."""
    if is_inexact(x):
        return
    raise DTypeError(
        f"{name}: {argument} holds {x.dtype}, expected floats; pass "
        f'{argument}.astype("float32")'
    )


def require_numbers(name: str, x: object) -> None:
    """Raise for booleans, which cannot be compared as numbers."""
    if _dtype_kind(x) == "b":
        raise DTypeError(
            f'{name}: x holds bool, expected numbers; pass x.astype("float32")'
        )


def require_same_dtype(
    name: str, arguments: tuple[str, ...], first: Tensor, *others: Tensor | None
) -> None:
    """Raise unless all arrays have the float or complex dtype of the first array."""
    # For the message, `name` is the function's name and `arguments` are the arrays'
    # names.
    try:
        dtype = first.raw.dtype
        for other in others:
            if other is not None and other.raw.dtype is not dtype:
                _compare_dtypes(name, arguments, first, others)
                break
        if id(dtype) not in _FLOAT_DTYPES:
            require_floats(name, first, arguments[0])
    except AttributeError:  # an argument is not a Tensor
        _compare_dtypes(name, arguments, first, others)


def _compare_dtypes(
    name: str, arguments: tuple[str, ...], first: Any, others: Sequence[Any]
) -> None:
    """Raise for the first array with another dtype; dtypes are compared by value."""
    require_floats(name, first, arguments[0])
    if autocast_state.get() is not None:
        return  # `autocast` converts the arrays to one dtype
    for argument, x in zip(arguments[1:], others, strict=False):
        if _dtype_kind(x) is None or _dtype_kind(first) is None or x.dtype == first.dtype:
            continue
        remedy = f'pass {argument}.astype("{first.dtype}")'
        if _dtype_kind(x) == "c":
            remedy = (
                f"take the real part of {argument}, or convert both to one complex dtype"
            )
        raise DTypeError(
            f"{name}: {argument} holds {x.dtype}, expected {first.dtype}, the dtype of "
            f"{arguments[0]}; {remedy}"
        )


def _dtype_kind(x: object) -> str | None:
    """Return `dtype.kind` of an array; None for any other object, which `apply` checks."""
    is_array = isinstance(x, (Tensor, np.ndarray, np.generic))
    return cast("Any", x).dtype.kind if is_array else None


# Lower than any activation, but finite: -inf would cause NaN.
_MASKED_SCORE = -3.0e38


def masked_mean(x: Tensor, mask: object = None) -> Tensor:
    """Compute the mean over the real positions of each record.

    Args:
        x: Input ``(n, c, l)``.
        mask: Mask ``(n, l)``, 1 at real positions and 0 at padding; default: all real.

    Returns:
        Output ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_mean(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        3.0
    """
    if mask is None:
        return x.mean(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    count = apply("maximum", mask.sum(axis=-1, keepdims=True), 1.0)
    wide = apply("expand_dims", mask, axis=1)
    real = apply("where", wide > 0, x * wide, 0.0)  # values at padding may be NaN
    return real.sum(axis=-1) / count


def masked_max(x: Tensor, mask: object = None) -> Tensor:
    """Compute the maximum over the real positions of each record.

    Args:
        x: Input ``(n, c, l)``.
        mask: Mask ``(n, l)``, 1 at real positions and 0 at padding; default: all real.

    Returns:
        Output ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_max(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        4.0
    """
    if mask is None:
        return x.max(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    wide = apply("expand_dims", mask, axis=1)
    highest = apply("where", wide > 0, x, _MASKED_SCORE).max(axis=-1)
    return apply("where", mask.sum(axis=-1, keepdims=True) > 0, highest, 0.0)


class Packing(NamedTuple):
    """Offsets and positions of concatenated sequences."""

    offsets: Tensor  # (n + 1,), the start of each sequence, and the total length.
    longest: int  # Length of the longest sequence.
    seq_id: Tensor  # (total,), the index of each position's sequence.
    position: Tensor  # (total,), the index of each position in its sequence.


def find_packing(
    x: Tensor, cu_seqlens: Sequence[int] | Tensor, max_seqlen: int | None
) -> Packing:
    """Return the offsets and positions of sequences in ``x``; raise on invalid offsets."""
    if max_seqlen is not None:
        longest = as_size("max_seqlen", max_seqlen, 0)
    elif (host := read_host_array(cu_seqlens)) is not None:
        longest = int(np.max(np.diff(host), initial=0))
    else:
        raise ArgumentError(
            "max_seqlen is required if cu_seqlens is on a device or in a compiled step: "
            "pass the length of the longest sequence"
        )
    require_valid_offsets(cu_seqlens, x.shape[0], longest)
    offsets = as_operand(x, cu_seqlens, "int32")
    index = make_range(x, x.shape[0])
    owner = apply("searchsorted", offsets[1:], index, side="right").astype("int32")
    return Packing(offsets, longest, owner, index - apply("take", offsets, owner, axis=0))


def pad_packed(x: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """Return packed values as ``(n, longest, ...)``, and a mask of real positions."""
    starts = apply("expand_dims", packing.offsets[:-1], axis=1)
    ends = apply("expand_dims", packing.offsets[1:], axis=1)
    rows = starts + make_range(x, packing.longest)
    real = apply("less", rows, ends)
    rows = apply("where", real, rows, 0)
    shape = rows.shape
    padded = apply("take", x, apply("reshape", rows, (-1,)), axis=0)
    return apply("reshape", padded, (*shape, *x.shape[1:])), real


def pack_padded(x: Tensor, packing: Packing) -> Tensor:
    """Return padded values ``(n, longest, ...)`` as concatenated sequences."""
    flat = apply("reshape", x, (-1, *x.shape[2:]))
    return apply("take", flat, packing.seq_id * packing.longest + packing.position, axis=0)


def require_valid_offsets(cu_seqlens: object, total: int, longest: int) -> None:
    """Raise if offsets in host memory are invalid; do not read offsets on a device."""
    offsets = read_host_array(cu_seqlens)
    if offsets is None:
        return
    is_list = offsets.dtype.kind in "iu" and offsets.ndim == 1 and offsets.size > 0
    if not is_list or not (
        offsets[0] == 0 and offsets[-1] == total and (offsets[1:] >= offsets[:-1]).all()
    ):
        raise ArgumentError(
            f"cu_seqlens must be increasing integers from 0 to the total length {total}, "
            f"got {offsets.tolist()}"
        )
    widest = max(np.diff(offsets), default=0)
    if widest > longest:
        raise ArgumentError(
            f"max_seqlen must be at least {widest}, the longest sequence, got {longest}"
        )


Function = TypeVar("Function", bound=Callable[..., Any])
Size = int | Sequence[int]
_BATCH_SHAPES_BY_RANK = {3: "(n, c, l)", 4: "(n, c, h, w)"}


def as_size(name: str, size: Any, least: int) -> int:
    """Convert an integer or a sequence of one integer; raise if the number is too low."""
    number = size if type(size) is int else _to_integers(name, size, 1)[0]
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return number


def as_sizes(name: str, size: Any, least: int, axes: int) -> tuple[int, ...]:
    """Convert an integer, or one integer for each axis, to a tuple of integers."""
    if type(size) is int and size >= least:  # fast path for the usual case
        return (size,) * axes
    sizes = _to_integers(name, size, axes)
    if min(sizes) < least:
        raise ArgumentError(f"{name} must be at least {least}, got {size}")
    return sizes


def unpack_size(sizes: tuple[int, ...]) -> int | tuple[int, ...]:
    """Convert sizes to an operation's argument: an integer for one axis, or a tuple."""
    return sizes if len(sizes) != 1 else sizes[0]


def _to_integers(name: str, size: Any, axes: int) -> tuple[int, ...]:
    """Convert an integer or a sequence of integers to one integer for each axis."""
    parts = cast("Sequence[Any]", size) if isinstance(size, (list, tuple)) else (size,)
    sizes: tuple[int, ...] = ()
    with suppress(TypeError):
        sizes = tuple(to_integer(part) for part in parts)
    if len(sizes) not in {1, axes}:
        expected = "an integer" + (" or a pair of integers" if axes > 1 else "")
        raise ArgumentError(f"{name} must be {expected}, got {size!r}")
    return sizes * axes if len(sizes) < axes else sizes


def with_or_without_batch(rank: int) -> Callable[[Function], Function]:
    """Decorate a function of `rank`-axis batches so that it also accepts one record."""

    def wrap_function(function: Function) -> Function:
        @wraps(function)
        def call_with_batch_axis(x: Tensor, *args: Any, **options: Any) -> Any:
            if getattr(x, "ndim", rank) != rank - 1:
                return function(x, *args, **options)
            result = function(apply("expand_dims", x, axis=0), *args, **options)
            if isinstance(result, tuple):
                results = cast("tuple[Tensor, ...]", result)
                return tuple(apply("squeeze", part, axis=0) for part in results)
            return apply("squeeze", result, axis=0)

        return cast("Function", call_with_batch_axis)

    return wrap_function


def require_axes(name: str, rank: int, *arrays: Tensor) -> None:
    """Raise if an array has a wrong number of axes."""
    for x in arrays:
        if x.ndim != rank:
            raise ShapeError(
                f"{name} expects an input of {rank} axes, {_BATCH_SHAPES_BY_RANK[rank]}, "
                f"got shape {x.shape}; reshape it: a single record is a batch of one"
            )


def check_windows(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Raise if a window covers only padding or is longer than the input."""
    axes = len(kernel)
    if x.ndim != axes + 2:
        require_axes(name, axes + 2, x)
    for size, around in zip(kernel, padding, strict=True):
        if 2 * around > size:
            raise ArgumentError(
                f"{name}: padding must be at most half of kernel_size {size}, got {around}"
            )
    require_window_fits(x, kernel, padding, dilation, name)


def require_window_fits(
    x: Tensor,
    kernel: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    name: str,
) -> None:
    """Raise if a window is longer than the input; JAX would return an empty array."""
    sizes = zip(x.shape[2:], kernel, padding, dilation, strict=True)
    for length, size, around, spacing in sizes:
        if spacing * (size - 1) + 1 > length + 2 * around:
            raise ShapeError(
                f"{name}: a window of {list(kernel)} positions does not fit into an input "
                f"of {list(x.shape[2:])} with its padding and dilation. Pass a longer "
                "input or a smaller kernel"
            )
