"""Copies a module, whose plain fields its copy shares, and moves its constant tensors."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any

from seqloom.nn._dtype import is_float
from seqloom.nn._parts import PLAIN, is_container, is_module, items_of, list_own
from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Backend


def copy_fields(module: Any, twin: Any, memo: dict[int, Any]) -> None:
    """Copies the fields of a module to its twin: parts and containers, nothing else."""

    def copy_part(value: Any) -> Any:
        is_part = isinstance(value, Stored) or is_module(value)
        return deepcopy(value, memo) if is_part else value

    for name, value in list_own(module).items():
        vars(twin)[name] = _change(value, copy_part, memo)


def move_constants(modules: list[Any], backend: Backend, dtype: str | None = None) -> None:
    """Moves the tensors that are fields of modules; floats to an element type too."""

    def move(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        moved = value.to(backend)
        is_changed = dtype is not None and is_float(value.dtype) and moved.dtype != dtype
        return moved.astype(dtype) if is_changed else moved

    for module in modules:
        own = list_own(module)
        for name, value in own.items():
            if type(value) not in PLAIN and _holds_tensor(value):
                own[name] = _change(value, move, {})


def _holds_tensor(value: object) -> bool:
    """Whether a field is a tensor, or a list, a tuple or a dict that holds one."""
    if not is_container(value):
        return isinstance(value, Tensor)
    return any(_holds_tensor(item) for _, item in items_of(value))


def _change(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """Returns a value, or a new container of its changed items."""
    if not is_container(value):
        return change(value)
    if id(value) in memo:  # a list in two fields, or in itself
        return memo[id(value)]
    if isinstance(value, tuple):
        items = [_change(item, change, memo) for _, item in items_of(value)]
        return _make_tuple(type(value), items)  # pyright: ignore[reportUnknownArgumentType]
    twin = memo.setdefault(id(value), copy(value))
    for key, item in list(items_of(value)):
        twin[key] = _change(item, change, memo)
    return twin


def _make_tuple(kind: Any, items: list[Any]) -> Any:
    """Makes a tuple, or a named one, which is not made of one list."""
    return getattr(kind, "_make", kind)(items)
