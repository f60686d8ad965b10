"""Operations that give another view of the memory they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._graph import Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Operation

    Array = NDArray[Any]


def _reshape(x: Array, shape: Any) -> Array:
    """A new shape without a copy; ``ValueError`` where there is none."""
    return cast("Array", np.reshape(x, shape, copy=False))


def _indexed(x: Array, key: Any) -> Array:
    """A part by numbers and slices; an array even where one number is left."""
    parts: tuple[Any, ...] = cast("Any", key) if isinstance(key, tuple) else (key,)
    return x[parts if any(part is ... for part in parts) else (*parts, ...)]


def _same(x: Array, *_: Any) -> Array:
    """The array itself."""
    return x


VIEWS: dict[str, Callable[..., Array]] = {
    "reshape": _reshape,
    "permute_dims": np.permute_dims,
    "matrix_transpose": np.matrix_transpose,
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "broadcast_to": np.broadcast_to,
    "index": _indexed,
    "stop_gradient": _same,
    "astype": _same,
}


def may_be_view(operation: Operation) -> bool:
    """Whether an operation gives a view where the memory's layout allows it."""
    if not is_alias(operation):
        return False
    key = operation.args[-1]
    return operation.name != "index" or not _steps_back(key)


def is_alias(operation: Operation) -> bool:
    """Whether an operation gives other sight of the memory of its first argument."""
    if operation.name not in VIEWS:
        return False
    first, rest = operation.args[0], operation.args[1:]
    if not isinstance(first, Value) or any(values_in(rest)):
        return False
    if operation.name == "index":
        return _is_basic(rest[0])
    return operation.name != "astype" or first.dtype == operation.outputs[0].dtype


def _is_basic(key: Any) -> bool:
    """Whether an index is of numbers and slices alone, and leaves an array."""
    parts: tuple[Any, ...] = cast("Any", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)


def _steps_back(key: Any) -> bool:
    """Whether an index turns an axis round: fused programs only go forward."""
    parts: tuple[Any, ...] = cast("Any", key) if isinstance(key, tuple) else (key,)
    slices = [cast("Any", part) for part in parts if isinstance(part, slice)]
    return any((each.step or 1) < 0 for each in slices)


def viewed(operation: Operation, x: Array) -> Array:
    """The view of an array that an operation gives."""
    return VIEWS[operation.name](x, *operation.args[1:], **operation.options)


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of that shape whose memory nobody may touch: views of it show strides."""
    steps = np.cumprod([dtype.itemsize, *(size or 1 for size in shape[:0:-1])])
    strides = tuple(int(step) for step in steps[::-1][len(steps) - len(shape) :])
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
