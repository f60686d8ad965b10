"""`default_collate`, which collates like PyTorch but returns NumPy arrays."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from seqloom._arguments import quote
from seqloom.data.collate._output import choose_converter
from seqloom.errors import ArgumentError, DTypeError, ShapeError


def default_collate(items: Sequence[Any], *, output: str = "numpy") -> Any:
    """Collate items like ``torch.utils.data.default_collate``, into NumPy arrays.

    A list of dicts becomes a dict of batches, tuples and lists become a list of batches,
    and named tuples become a named tuple. Arrays are stacked, numbers become an array, and
    strings stay a list. Tensors become a tensor; ``output="torch"`` also wraps arrays as
    tensors without a copy.

    Args:
        items: The items, all of the same type.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the memory, for use with
            PyTorch loaders.

    Returns:
        The batch.

    Raises:
        ArgumentError: There are no items, or the output is invalid.
        ShapeError: Arrays have different shapes (use ``PadCollator``), or lists have
            different lengths.
        DTypeError: The type of an item is not supported; the error is also a ``TypeError``.

    Examples:
        >>> default_collate([{"x": 1, "id": "a"}, {"x": 2, "id": "b"}])
        {'x': array([1, 2]), 'id': ['a', 'b']}
    """
    if output != "numpy":
        return choose_converter(output)(default_collate(items))
    check_items(items)
    first = items[0]
    if is_tensor(first):
        return _stack_tensors(items)
    for kind, collate in _COLLATORS_BY_TYPE:
        if isinstance(first, kind):
            return collate(items)
    if hasattr(first, "__array__"):
        return _stack_arrays(items)
    raise DTypeError(
        "items must be arrays, numbers, strings, dicts, tuples or lists; "
        f"found {type(first).__name__}"
    )


def check_items(items: Any) -> None:
    """Raise if a value is not a list of items, or is empty."""
    is_list = hasattr(items, "__len__") and hasattr(items, "__getitem__")
    if not is_list or isinstance(items, (str, bytes, Mapping)):
        found = quote(items)  # pyright: ignore[reportUnknownArgumentType]
        raise ArgumentError(f"items must be a list of the items of a batch, got {found}")
    if not len(items):
        raise ArgumentError("a batch needs at least one item, got none")


def is_tensor(thing: Any) -> bool:
    """Return whether a value is a PyTorch tensor, without importing PyTorch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def _stack_tensors(items: Sequence[Any]) -> Any:
    shapes = {tuple(item.shape) for item in items}
    if len(shapes) > 1:
        raise unequal_length_error(min(shapes), max(shapes))
    torch: Any = sys.modules["torch"]
    return torch.utils.data.default_collate(list(items))


def _collate_dicts(items: Sequence[Mapping[Any, Any]]) -> Any:
    """Collate dicts key by key; return a dict of the same class if possible."""
    first: Any = items[0]
    batch = {key: default_collate([item[key] for item in items]) for key in first}
    try:
        if not isinstance(first, MutableMapping):
            return type(first)(batch)
        copied = _copy_container(first)
        copied.update(batch)
    except TypeError:
        return batch
    return copied


def _collate_rows(items: Sequence[Sequence[Any]]) -> Any:
    """Collate tuples and lists element by element."""
    first: Any = items[0]
    if any(len(item) != len(first) for item in items):
        raise ShapeError("all lists in a batch must have the same number of elements")
    columns = [default_collate(column) for column in zip(*items, strict=True)]
    if hasattr(first, "_fields"):
        return type(first)(*columns)
    return columns if isinstance(first, tuple) else _rebuild_container(first, columns)


def _rebuild_container(first: Any, columns: list[Any]) -> Any:
    """Return a sequence of the same class as the first item, if possible."""
    try:
        if not isinstance(first, MutableSequence):
            return type(first)(columns)
        copied = _copy_container(first)
        for position, column in enumerate(columns):
            copied[position] = column
    except TypeError:
        return columns
    return copied


def _copy_container(thing: Any) -> Any:
    return copy.copy(thing)


def _stack_arrays(items: Sequence[Any]) -> Any:
    arrays = [np.asarray(item) for item in items]
    _check_numbers(arrays[0])
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise unequal_length_error(min(shapes), max(shapes))
    return np.stack(arrays)


def _stack_numbers(items: Sequence[Any]) -> Any:
    array = np.array(items)
    _check_numbers(array)
    return array


def _check_numbers(array: np.ndarray[Any, Any]) -> None:
    """Raise for arrays of strings and objects, as PyTorch does."""
    if array.dtype.kind in "OSUV":
        raise DTypeError(f"arrays of a batch must contain numbers; found {array.dtype}")


def unequal_length_error(a: Any, b: Any) -> ShapeError:
    """Return the error for sequences of unequal length."""
    return ShapeError(
        f"sequences of unequal length in one batch ({a} and {b}): "
        "pass collate_fn=sl.data.PadCollator()"
    )


_COLLATORS_BY_TYPE: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((str, bytes), lambda items: items),
    ((bool, int, float, complex), _stack_numbers),
    (Mapping, _collate_dicts),
    (Sequence, _collate_rows),
)
