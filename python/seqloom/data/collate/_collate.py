"""Items to batches, with PyTorch's meaning and NumPy's arrays."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from seqloom._arguments import quote
from seqloom.data.collate._output import converter
from seqloom.errors import ArgumentError, DTypeError, ShapeError


def default_collate(items: Sequence[Any], *, output: str = "numpy") -> Any:
    """Put items together as ``torch.utils.data.default_collate`` does.

    Dicts become a dict of batches, tuples and lists a list of batches, named tuples a named
    tuple; arrays are stacked, numbers become an array; texts stay a list. Tensors become a
    tensor; everything else is NumPy's, and ``output="torch"`` wraps it without a copy.

    Args:
        items: The items, all of one kind.
        output: ``"numpy"``, or ``"torch"`` for tensors of the same memory, where PyTorch's
            own loader or a trainer calls it.

    Returns:
        The batch.

    Raises:
        ArgumentError: There is no item, or another output.
        ShapeError: Arrays of unequal shapes (see ``PadCollator``), or lists of unequal
            lengths.
        DTypeError: A kind that has no batch; a ``TypeError`` too.

    Examples:
        >>> default_collate([{"x": 1, "id": "a"}, {"x": 2, "id": "b"}])
        {'x': array([1, 2]), 'id': ['a', 'b']}
    """
    if output != "numpy":
        return converter(output)(default_collate(items))
    check_items(items)
    first = items[0]
    if is_tensor(first):
        return _stack_tensors(items)
    for kind, collate in _RULES:
        if isinstance(first, kind):
            return collate(items)
    if hasattr(first, "__array__"):
        return _stack(items)
    raise DTypeError(
        "items must be arrays, numbers, texts, dicts, tuples or lists; "
        f"found {type(first).__name__}"
    )


def check_items(items: Any) -> None:
    """Refuse what is no list of items, and an empty one."""
    is_list = hasattr(items, "__len__") and hasattr(items, "__getitem__")
    if not is_list or isinstance(items, (str, bytes, Mapping)):
        found = quote(items)  # pyright: ignore[reportUnknownArgumentType]
        raise ArgumentError(f"items must be a list of a batch's items, got {found}")
    if not len(items):
        raise ArgumentError("a batch needs at least one item, got none")


def is_tensor(thing: Any) -> bool:
    """Tell a tensor of PyTorch, which is asked only where it is loaded."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def _stack_tensors(items: Sequence[Any]) -> Any:
    """Stack tensors of one shape as PyTorch's own function does."""
    shapes = {tuple(item.shape) for item in items}
    if len(shapes) > 1:
        raise unequal(min(shapes), max(shapes))
    torch: Any = sys.modules["torch"]
    return torch.utils.data.default_collate(list(items))


def _collate_dicts(items: Sequence[Mapping[Any, Any]]) -> Any:
    """Put dicts together, key by key; a class of dict stays what it is where it can."""
    first: Any = items[0]
    batch = {key: default_collate([item[key] for item in items]) for key in first}
    try:
        if not isinstance(first, MutableMapping):
            return type(first)(batch)
        again = _clone(first)
        again.update(batch)
    except TypeError:
        return batch
    return again


def _collate_rows(items: Sequence[Sequence[Any]]) -> Any:
    """Put tuples and lists together, position by position."""
    first: Any = items[0]
    if any(len(item) != len(first) for item in items):
        raise ShapeError("each list of a batch must have equally many elements")
    columns = [default_collate(column) for column in zip(*items, strict=True)]
    if hasattr(first, "_fields"):
        return type(first)(*columns)
    return columns if isinstance(first, tuple) else _refill(first, columns)


def _refill(first: Any, columns: list[Any]) -> Any:
    """Make a sequence of a class of its own, where that can be."""
    try:
        if not isinstance(first, MutableSequence):
            return type(first)(columns)
        again = _clone(first)
        for position, column in enumerate(columns):
            again[position] = column
    except TypeError:
        return columns
    return again


def _clone(thing: Any) -> Any:
    """Copy a dict or a list, of whose class there may be more than its items."""
    return copy.copy(thing)


def _stack(items: Sequence[Any]) -> Any:
    """Stack arrays of one shape."""
    arrays = [np.asarray(item) for item in items]
    _check_numbers(arrays[0])
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise unequal(min(shapes), max(shapes))
    return np.stack(arrays)


def _numbers(items: Sequence[Any]) -> Any:
    """Put plain numbers into an array."""
    array = np.array(items)
    _check_numbers(array)
    return array


def _check_numbers(array: np.ndarray[Any, Any]) -> None:
    """Refuse arrays of texts and objects, as PyTorch does."""
    if array.dtype.kind in "OSUV":
        raise DTypeError(f"arrays of a batch must hold numbers; found {array.dtype}")


def unequal(a: Any, b: Any) -> ShapeError:
    """Say that a batch cannot be stacked, and what can."""
    return ShapeError(
        f"sequences of unequal length in one batch ({a} and {b}): "
        "pass collate_fn=sl.data.PadCollator()"
    )


_RULES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((str, bytes), lambda items: items),
    ((bool, int, float, complex), _numbers),
    (Mapping, _collate_dicts),
    (Sequence, _collate_rows),
)
