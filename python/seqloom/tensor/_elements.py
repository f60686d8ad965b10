"""Checks of array elements and of index keys."""

from __future__ import annotations

import math
import operator
from math import prod
from typing import Any, cast

import numpy as np

from seqloom.errors import DTypeError, NumberRangeError, OutOfRangeError, ShapeError

# An array of any library; only backends depend on its class.
Array = Any

# Dtypes that are accepted without a closer check.
NATIVE_DTYPES = frozenset(map(np.dtype, "?bBhHiIlLqQefdgFDG"))

_NUMBER_TYPES = (int, float, np.integer, np.floating)
_MAX_INT8 = 127  # Every integer dtype can represent 0 to 127.


def to_native(array: Any) -> Any:
    """Return a numeric array in native byte order; raise if the array is not numeric."""
    dtype = array.dtype
    if not _is_numeric(dtype):
        raise DTypeError(
            f"a tensor needs numbers or booleans, got {dtype}; pass encoded sequences, "
            "label numbers, or one field of a structured array"
        )
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def explain_misfit(array: Any, dtype: Any) -> str | None:
    """Return the reason why a dtype cannot represent an array; None if it can.

    If the dtype would only round the values, it can represent them.
    """
    if array.dtype == dtype:
        return None
    if not _is_numeric(array.dtype):
        return f"holds {array.dtype}, expected {dtype}"
    if array.dtype.kind == "c" and dtype.kind != "c":
        return f"holds complex numbers, expected {dtype}"
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
        if converted.dtype.kind in "biu":
            lost = converted != array  # True for values that the conversion changed
        else:
            lost = ~np.isfinite(converted) & np.isfinite(array)
    return f"holds {array[lost].flat[0]}, which {dtype} cannot hold" if lost.any() else None


def _is_numeric(dtype: Any) -> bool:
    """Return whether a dtype is numeric or boolean."""
    return dtype.kind not in "OSUMmT" and dtype.type is not np.void


def is_out_of_range(number: Any, dtype: Any) -> bool:
    """Return whether a Python integer is out of the range of an integer dtype."""
    if type(number) is not int or 0 <= number <= _MAX_INT8 or dtype is None:
        return False
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= number <= limits.max


def require_representable(number: Any, dtype: Any) -> None:
    """Raise if an integer dtype cannot represent the integral part of a number."""
    if isinstance(number, np.generic):
        number = cast("Any", number).item()
    if type(number) is float and dtype is not None and dtype.kind in "iu":
        if not math.isfinite(number):
            raise NumberRangeError(f"{number} is not an integer, as {dtype} requires")
        number = int(number)
    require_in_dtype(number, dtype)


def require_range_in_dtype(start: Any, stop: Any, step: Any, dtype: Any) -> None:
    """Raise if an integer dtype cannot represent all numbers of an evenly spaced range."""
    are_numbers = all(isinstance(it, _NUMBER_TYPES) for it in (start, stop, step))
    if dtype is None or dtype.kind not in "iu" or not are_numbers or not step:
        return
    count = -((start - stop) // step)
    if count > 0:  # the first and last number are the extremes
        require_representable(start, dtype)
        require_representable(start + (count - 1) * step, dtype)


def require_in_dtype(number: Any, dtype: Any) -> None:
    """Raise if a Python integer would wrap around when converted to a dtype."""
    if is_out_of_range(number, dtype):
        limits = np.iinfo(dtype)
        raise NumberRangeError(
            f"{number} is out of range for {dtype} ({limits.min} to {limits.max}); "
            "use a wider or a floating dtype (.astype)"
        )


_MAX_INT32_AXIS = 2**31  # up to this length of an axis, indices are 32-bit integers


def normalize_key(key: Any, shape: tuple[int, ...]) -> Any:
    """Return a checked index key, with lists as arrays and scalars as integers.

    A key is an integer, a slice, ``None``, ``...``, an array of integers or booleans, a
    list, a tensor, or a tuple of these. Arrays and tensors are returned unchanged.
    """
    if type(key) is int and shape:
        return _require_index_in_axis(key, 0, shape)
    is_tuple = type(key) is tuple
    given = cast("tuple[Any, ...]", key) if is_tuple else (key,)
    parts = [_normalize_part(part) for part in given]
    axes = find_indexed_axes(parts, shape)
    for position, part in enumerate(parts):
        if type(part) is int:
            _require_index_in_axis(part, axes[position], shape)
        elif type(given[position]) is list:
            parts[position] = _check_index_list(part, axes[position], shape)
    return tuple(parts) if is_tuple else parts[0]


def _require_index_in_axis(index: int, axis: int, shape: tuple[int, ...]) -> int:
    """Raise if an index is outside its axis, because not every library checks this."""
    if not -shape[axis] <= index < shape[axis]:
        raise OutOfRangeError(f"index {index} is out of range for shape {shape}")
    return index


def _normalize_part(part: object) -> Any:
    """Convert one index of a key: a list to an array, a NumPy scalar to an integer."""
    if type(part) is slice:
        bounds = (part.start, part.stop, part.step)
        return slice(*(it if it is None else to_integer(it) for it in bounds))
    if type(part) is list:
        return _list_to_array(cast("list[Any]", part))
    return cast("Any", part).item() if isinstance(part, np.generic) else part


def _list_to_array(part: list[Any]) -> Any:
    """Convert a list to an array of integers or booleans; an empty array has integers."""
    try:
        array = np.asarray(part)
    except ValueError as error:
        raise ShapeError(
            "an index that is a list of lists needs inner lists of the same length"
        ) from error
    if array.size == 0 and array.dtype != bool:
        return array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise DTypeError(
            "an index that is a list must contain integers or booleans; this one contains "
            f"{array.dtype}"
        )
    return array


def to_integer(value: Any) -> int:
    """Convert a value to an integer; return symbolic sizes of an export unchanged."""
    return value if isinstance(value, int) else operator.index(value)


def to_key_tuple(key: object) -> tuple[Any, ...]:
    """Return an index key as a tuple."""
    return cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)


def find_indexed_axes(parts: list[Any], shape: tuple[int, ...]) -> list[int]:
    """Return the first axis that each element of an index key indexes."""
    counts = [_count_axes(part) for part in parts]
    rest = len(shape) - sum(counts)
    if rest < 0:
        raise OutOfRangeError(f"{sum(counts)} indices are too many for shape {shape}")
    axes: list[int] = []
    axis = 0
    for part, count in zip(parts, counts, strict=True):
        axes.append(axis)
        axis += rest if part is Ellipsis else count
    return axes


def _count_axes(part: Any) -> int:
    """Return the number of axes that an element of an index key indexes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    dtype = getattr(part, "dtype", None)
    return part.ndim if dtype is not None and "bool" in str(dtype) else 1


def _check_index_list(array: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """Check the indices in a list, and convert them to a dtype that is widely supported."""
    if array.dtype == bool:
        return array
    values = array.ravel().tolist()
    for index in (min(values), max(values)) if values else ():
        _require_index_in_axis(index, axis, shape)
    return array.astype(np.int32 if shape[axis] <= _MAX_INT32_AXIS else np.int64)


def check_axis(axis: int, ndim: int, name: str) -> int:
    """Return a nonnegative axis; raise if a tensor with `ndim` axes lacks it."""
    if not -ndim <= axis < ndim:
        raise OutOfRangeError(f"{name}: a tensor of {ndim} axes has no axis {axis}")
    return axis % ndim


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape, in which symbolic sizes of an export take precedence."""
    rank = len(np.broadcast_shapes(*shapes))
    axes = ([it[axis] for it in shapes if len(it) >= -axis] for axis in range(-rank, 0))
    return tuple(
        max(sizes, key=lambda it: (it != 1, type(it) is not int)) for sizes in axes
    )


def join_axes(shape: tuple[int, ...], first: int, last: int) -> tuple[int, ...]:
    """Return a shape in which a range of axes is merged into one."""
    rank = len(shape)
    if rank == 0 and {first, last} <= {0, -1}:
        return (1,)  # a scalar becomes one element, as in torch.flatten
    start, stop = first + rank * (first < 0), last + rank * (last < 0) + 1
    if not 0 <= start < stop <= rank:
        raise ShapeError(
            f"flatten merges axes {first} to {last}; a tensor of shape {shape} lacks "
            "these axes in this order"
        )
    return (*shape[:start], prod(shape[start:stop]), *shape[stop:])
