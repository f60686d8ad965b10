"""Reading, writing and ordering chosen places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._compile._shapes._elementwise import like_first
from seqloom.tensor._compile._shapes._layout import bare, indexed
from seqloom.tensor._compile._shapes._trial import promoted
from seqloom.tensor._graph import values_in

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule

_LIKE_FIRST = "scatter_add put_along_axis"


def _taken(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The indices' shape in place of the axis."""
    x, indices = args[:2]
    axis = options.get("axis", args[2] if len(args) > 2 else None)  # noqa: PLR2004
    if axis is None:
        return indices.shape, x.dtype
    place = normalize_axis_index(axis, len(x.shape))
    return (*x.shape[:place], *indices.shape, *x.shape[place + 1 :]), x.dtype


def _taken_along(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The indices' length along the axis, broadcast along the others."""
    x, indices = args[:2]
    place = normalize_axis_index(options.get("axis", -1), len(x.shape))
    flat = [1 if axis == place else size for axis, size in enumerate(x.shape)]
    return np.broadcast_shapes(tuple(flat), indices.shape), x.dtype


def _ordered(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """A number or a place for each number."""
    normalize_axis_index(options.get("axis", -1), len(args[0].shape))
    return args[0].shape, promoted(target, name, args, {**options, "axis": -1})


def _found(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """A truth for each value that is looked for."""
    return getattr(args[0], "shape", ()), np.dtype(bool)


def _searched(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """A place for each number that is looked for."""
    return args[1].shape, promoted(target, name, args, options)


def _highest(
    target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[Kind]:
    """`k` values along the axis, and their places."""
    x, k = args
    axis = normalize_axis_index(options.get("axis", -1), len(x.shape))
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"the size of the axis is {x.shape[axis]}, so there are no {k}")
    shape = tuple(k if place == axis else size for place, size in enumerate(x.shape))
    places = promoted(target, "argsort", (x,), {})
    return [(shape, x.dtype), (shape, places)]


def _one_hot(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """One more axis, of the classes."""
    x, *rest = args
    classes: int = rest[0] if rest else options["num_classes"]
    return (*x.shape, classes), promoted(target, name, args, options)


def _replaced(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As the first argument; the values broadcast to the places."""
    x, key, values = args
    if hasattr(values, "shape") and not any(v.dtype == np.bool_ for v in values_in(key)):
        places, _ = indexed(target, name, (x, key), options)
        np.broadcast_to(bare(values.shape), places)
    return x.shape, x.dtype


def _scattered(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The shape that was read from."""
    return tuple(args[2]), args[0].dtype


def _looked_up(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """A row for each id."""
    weight, ids = args
    return (*ids.shape, weight.shape[1]), weight.dtype


def _rows(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As many rows as the table has."""
    return (options["rows"], args[0].shape[-1]), args[0].dtype


RULES: dict[str, Rule] = {
    **dict.fromkeys(_LIKE_FIRST.split(), like_first),
    "take": _taken,
    "take_along_axis": _taken_along,
    **dict.fromkeys(("sort", "argsort"), _ordered),
    **dict.fromkeys(("slice_update", "slice_add"), _replaced),
    "isin": _found,
    "searchsorted": _searched,
    "topk": _highest,
    "one_hot": _one_hot,
    "scatter_index": _scattered,
    "embedding": _looked_up,
    "embedding_grad": _rows,
}
