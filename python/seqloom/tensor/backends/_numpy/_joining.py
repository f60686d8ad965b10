"""Arrays put together again, without a copy where they are parts of one already."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._kinds import promote_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]


def stack(arrays: Sequence[Floats], *, axis: int = 0, out: Floats | None = None) -> Floats:
    """Arrays along a new axis; a view where they are equal steps apart in one array."""
    first = arrays[0]
    if out is not None or not parts_of_one(*arrays):
        return np.stack(promote_all(arrays), axis=axis, out=out)
    step = _start(arrays[1]) - _start(first)
    shape, strides = (len(arrays), *first.shape), (step, *first.strides)
    # The view keeps the first array, and so the memory of all of them.
    whole = np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)
    return np.moveaxis(whole, 0, axis)


def parts_of_one(*arrays: Floats) -> bool:
    """Whether arrays are equal steps apart in the memory of one."""
    first, *others = arrays
    if not others or first.base is None or first.size == 0:
        return False
    likeness = first.shape, first.strides, first.dtype
    if any((other.shape, other.strides, other.dtype) != likeness for other in others):
        return False
    owner = _owner(first)
    steps = {_start(after) - _start(before) for before, after in pairwise(arrays)}
    is_regular = len(steps) == 1 and steps.pop() > 0
    return is_regular and all(_owner(other) is owner for other in others)


def _start(x: Floats) -> int:
    """Where an array's first number lies."""
    return x.__array_interface__["data"][0]


def _owner(x: Floats) -> Any:
    """What an array's memory belongs to."""
    owner: Any = x
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    return owner
