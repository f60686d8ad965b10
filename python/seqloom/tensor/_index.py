"""Keys of ``x[key]``: NumPy's indexing, the same on every backend."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from seqloom.errors import DTypeError, OutOfRangeError, ShapeError

_NARROW = 2**31  # how many places 32 bits can count


def plain_key(key: Any, shape: tuple[int, ...]) -> Any:
    """A key with lists as arrays and tensors of one integer as integers, in range.

    Args:
        key: Integers, slices, ``None``, ``...``, arrays of integers or of booleans, lists,
            tensors, or a tuple of them.
        shape: The shape of what is indexed.

    Returns:
        What backends take, with tensors left as they are.

    Raises:
        OutOfRangeError: An integer, alone or in a list, beyond its axis; more keys than
            axes.
        DTypeError: A list holds something other than integers or booleans.
        ShapeError: A list of lists of several lengths.
    """
    if type(key) is int and shape:
        return _within(key, 0, shape)
    several = type(key) is tuple
    given = cast("tuple[Any, ...]", key) if several else (key,)
    parts = tuple([_plain(each) for each in given])
    axes = _begins(parts, shape)
    for place, part in enumerate(parts):
        if type(part) is int:
            _within(part, axes[place], shape)
        elif type(given[place]) is list:
            parts = (*parts[:place], _narrow(part, axes[place], shape), *parts[place + 1 :])
    return parts if several else parts[0]


def _within(number: int, axis: int, shape: tuple[int, ...]) -> int:
    """An integer that does not lie beyond its axis; not every library looks."""
    if not -shape[axis] <= number < shape[axis]:
        raise OutOfRangeError(f"index {number} is out of range for shape {shape}")
    return number


def _plain(part: Any) -> Any:
    """One part of a key."""
    if type(part) is slice:
        return slice(*map(_bound, (part.start, part.stop, part.step)))
    if type(part) is list:
        return _places(cast("list[Any]", part))
    return cast("Any", part).item() if isinstance(part, np.generic) else part


def _places(part: list[Any]) -> Any:
    """A list as an array of integers or booleans; an empty one is of integers."""
    try:
        array = np.asarray(part)
    except ValueError as error:
        raise ShapeError(
            "a list of lists is an index where they are of one length"
        ) from error
    if array.size == 0 and array.dtype != bool:
        return array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise DTypeError(
            "a list is an index where it holds integers or booleans; this one holds "
            f"{array.dtype}"
        )
    return array


def _bound(value: Any) -> Any:
    """A bound of a slice; tensors and NumPy's integers are numbers there."""
    return value if value is None else operator.index(value)


def _begins(parts: tuple[Any, ...], shape: tuple[int, ...]) -> list[int]:
    """The axis that each part begins at."""
    taken = [_axes_of(each) for each in parts]
    rest = len(shape) - sum(taken)
    if rest < 0:
        raise OutOfRangeError(f"{sum(taken)} indices for a tensor of shape {shape}")
    begins: list[int] = []
    axis = 0
    for part, count in zip(parts, taken, strict=True):
        begins.append(axis)
        axis += rest if part is Ellipsis else count
    return begins


def _axes_of(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    dtype = getattr(part, "dtype", None)
    return part.ndim if dtype is not None and "bool" in str(dtype) else 1


def _narrow(array: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """What a list holds, in range, of a type that every backend has."""
    if array.dtype == bool:
        return array
    values = array.ravel().tolist()
    for each in (min(values), max(values)) if values else ():
        _within(each, axis, shape)
    return array.astype(np.int32 if shape[axis] <= _NARROW else np.int64)
