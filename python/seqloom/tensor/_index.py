"""Keys of ``x[key]``: NumPy's indexing, the same on every backend."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from seqloom.errors import OutOfRangeError


def plain_key(key: Any, shape: tuple[int, ...]) -> Any:
    """A key with lists as arrays and tensors of one integer as integers, in range.

    Args:
        key: Integers, slices, ``None``, ``...``, arrays of integers or of booleans, lists,
            tensors, or a tuple of them.
        shape: The shape of what is indexed.

    Returns:
        What backends take, with tensors left as they are.

    Raises:
        OutOfRangeError: An integer beyond its axis, or more keys than axes.
    """
    several = type(key) is tuple
    parts = (
        tuple([_plain(each) for each in cast("Any", key)]) if several else (_plain(key),)
    )
    _check(parts, shape)
    return parts if several else parts[0]


def _plain(part: Any) -> Any:
    """One part of a key."""
    if type(part) is slice:
        return slice(*map(_bound, (part.start, part.stop, part.step)))
    if type(part) is list:
        return _indices(np.asarray(cast("Any", part)))
    return cast("Any", part).item() if isinstance(part, np.generic) else part


def _indices(array: Any) -> Any:
    """A list as indices, of a type that every backend has; an empty one is of integers."""
    return array if array.dtype == bool else array.astype(np.int32)


def _bound(value: Any) -> Any:
    """A bound of a slice; tensors and NumPy's integers are numbers there."""
    return value if value is None else operator.index(value)


def _check(parts: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Refuses an integer beyond its axis; not every library does."""
    axes = list(range(len(shape)))
    taken = [_axes_of(each) for each in parts]
    rest = len(shape) - sum(taken)
    if rest < 0:
        raise OutOfRangeError(f"{sum(taken)} indices for a tensor of shape {shape}")
    for part, count in zip(parts, taken, strict=True):
        if type(part) is int and not -shape[axes[0]] <= part < shape[axes[0]]:
            raise OutOfRangeError(f"index {part} is out of range for shape {shape}")
        del axes[: rest if part is Ellipsis else count]


def _axes_of(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    dtype = getattr(part, "dtype", None)
    return part.ndim if dtype is not None and "bool" in str(dtype) else 1
