"""Reading, writing, sorting and searching elements by index."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._compile._shapes._call import (
    Call,
    Kind,
    Rule,
    find_dtype,
    like_first,
    make_bare,
)
from seqloom.tensor._graph import Value, values_in


def _index(call: Call) -> Kind:
    """The shape that NumPy's indexing gives."""
    x, key = call.args[:2]
    return make_bare(x.shape)[_make_bare_key(key)].shape, x.dtype


def _make_bare_key(key: Any) -> Any:
    """Replaces each array of an index by zeros."""
    if isinstance(key, Value):
        return make_bare(key.shape, np.intp)
    if isinstance(key, tuple):
        return tuple(_make_bare_key(part) for part in cast("tuple[Any, ...]", key))
    return key


def _write(call: Call) -> Kind:
    """The shape of the first argument; the values must broadcast to the index."""
    x, key, values = call.args
    if hasattr(values, "shape") and not any(v.dtype == np.bool_ for v in values_in(key)):
        np.broadcast_to(make_bare(values.shape), _index(call)[0])
    return x.shape, x.dtype


def _take(call: Call) -> Kind:
    """The shape of the indices instead of the axis."""
    x, indices = call.args[:2]
    axis = call.options.get("axis", call.get(2, "axis"))
    if axis is None:
        return indices.shape, x.dtype
    at = normalize_axis_index(axis, len(x.shape))
    return (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]), x.dtype


def _take_along(call: Call) -> Kind:
    """The length of the indices along the axis; the other axes broadcast."""
    x, indices = call.args[:2]
    at = normalize_axis_index(call.options.get("axis", -1), len(x.shape))
    others = tuple(1 if axis == at else size for axis, size in enumerate(x.shape))
    return np.broadcast_shapes(others, indices.shape), x.dtype


def _sort(call: Call) -> Kind:
    """The shape of the first argument."""
    x, options = call.args[0], call.options
    normalize_axis_index(options.get("axis", -1), len(x.shape))
    return x.shape, find_dtype(call._replace(options={**options, "axis": -1}))


def _topk(call: Call) -> list[Kind]:
    """The `k` greatest values along the axis, and their indices."""
    x, k = call.args
    at = normalize_axis_index(call.options.get("axis", -1), len(x.shape))
    if not 0 <= k <= x.shape[at]:
        raise ValueError(
            f"k must be from 0 to {x.shape[at]}, the length of the axis, got {k}"
        )
    shape = tuple(k if axis == at else size for axis, size in enumerate(x.shape))
    return [(shape, x.dtype), (shape, find_dtype(Call(call.target, "argsort", (x,), {})))]


def _one_hot(call: Call) -> Kind:
    """A last axis for the classes."""
    classes: int = call.get(1, "num_classes")
    return (*call.args[0].shape, classes), find_dtype(call)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("scatter_add", "put_along_axis"), like_first),
    **dict.fromkeys(("slice_update", "slice_add"), _write),
    **dict.fromkeys(("sort", "argsort"), _sort),
    "index": _index,
    "take": _take,
    "take_along_axis": _take_along,
    "searchsorted": lambda call: (call.args[1].shape, find_dtype(call)),
    "topk": _topk,
    "one_hot": _one_hot,
    "scatter_index": lambda call: (tuple(call.args[2]), call.args[0].dtype),
}
