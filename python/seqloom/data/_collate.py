"""Items to batches, with PyTorch's meaning and NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from seqloom.errors import ArgumentError, ShapeError


def default_collate(items: Sequence[Any]) -> Any:
    """Puts items together as ``torch.utils.data.default_collate`` does.

    Dicts become a dict of batches, tuples and lists a list of batches, named tuples a named
    tuple; arrays are stacked, numbers become an array; texts stay a list.

    Args:
        items: The items, all of one kind.

    Returns:
        The batch.

    Raises:
        ArgumentError: There is no item.
        ShapeError: Arrays of unequal shapes (see ``PadCollator``), or lists of unequal
            lengths.
        TypeError: A kind that has no batch.

    Examples:
        >>> default_collate([{"x": 1, "id": "a"}, {"x": 2, "id": "b"}])
        {'x': array([1, 2]), 'id': ['a', 'b']}
    """
    if not len(items):
        raise ArgumentError("a batch needs at least one item, got none")
    first = items[0]
    for kind, collate in _RULES:
        if isinstance(first, kind):
            return collate(items)
    if hasattr(first, "__array__"):
        return _stack(items)
    raise TypeError(
        "items must be arrays, numbers, texts, dicts, tuples or lists; "
        f"found {type(first).__name__}"
    )


def _collate_dicts(items: Sequence[Mapping[Any, Any]]) -> Any:
    """Puts dicts together, key by key; a class of dict stays what it is where it can."""
    first = items[0]
    batch = {key: default_collate([item[key] for item in items]) for key in first}
    try:
        return type(first)(batch)  # pyright: ignore[reportCallIssue] - a Mapping need not take one
    except TypeError:
        return batch


def _collate_rows(items: Sequence[Sequence[Any]]) -> Any:
    """Puts tuples and lists together, place by place."""
    first = items[0]
    if any(len(item) != len(first) for item in items):
        raise ShapeError("each list of a batch must have equally many elements")
    columns = [default_collate(column) for column in zip(*items, strict=True)]
    if hasattr(first, "_fields"):
        return type(first)(*columns)
    if isinstance(first, tuple):
        return columns
    try:
        return type(first)(columns)  # pyright: ignore[reportCallIssue] - a Sequence need not take one
    except TypeError:
        return columns


def _stack(items: Sequence[Any]) -> Any:
    """Stacks arrays of one shape."""
    arrays = [np.asarray(item) for item in items]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise unequal(min(shapes), max(shapes))
    return np.stack(arrays)


def unequal(a: Any, b: Any) -> ShapeError:
    """Says that a batch cannot be stacked, and what can."""
    return ShapeError(
        f"sequences of unequal length in one batch ({a} and {b}): "
        "pass collate_fn=sl.data.PadCollator()"
    )


_RULES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((str, bytes), lambda items: items),
    ((bool, int, float, complex), np.array),
    (Mapping, _collate_dicts),
    (Sequence, _collate_rows),
)
