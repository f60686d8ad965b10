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
from seqloom.tensor._index import broadcast_shapes, first_axes


def _index(call: Call) -> Kind:
    """The shape that NumPy's indexing gives."""
    x, key = call.args[:2]
    found = make_bare(x.shape)[_make_bare_key(key)].shape
    parts = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    arrays = [part for part in parts if isinstance(part, Value)]
    if any(it.dtype == np.bool_ for it in arrays) or any(type(it) is bool for it in parts):
        return found, x.dtype
    # NumPy's shapes are of plain integers. So each axis of the result gets a length that
    # finds its size, which may be a size of an export.
    sizes = [0, 1, *x.shape, *broadcast_shapes(*(it.shape for it in arrays))]
    for part, axis in zip(parts, first_axes(parts, x.shape), strict=True):
        if isinstance(part, slice):
            sizes[axis + 2] = _count(cast("Any", part), x.shape[axis])
    rank = len(x.shape) + 2
    rows = make_bare(tuple(range(rank, len(sizes))), np.intp)
    coded = tuple(_code(part, rows) for part in parts)
    found = make_bare(tuple(range(2, rank)))[coded].shape
    return tuple(sizes[it] for it in found), x.dtype


def _code(part: Any, rows: Any) -> Any:
    """Replaces a part of an index: a slice takes all, and an array has other lengths."""
    if isinstance(part, Value):
        return rows
    if isinstance(part, slice):
        return slice(None)
    return 0 if isinstance(part, int) else part


def _count(part: slice, size: int) -> int:
    """Counts the elements of an axis that a slice takes."""
    step: int = part.step or 1
    ends = (0, size) if step > 0 else (size - 1, -1)
    low, high = min(ends), max(ends)
    start, stop = (
        end if it is None else min(max(it + size if it < 0 else it, low), high)
        for it, end in zip((part.start, part.stop), ends, strict=True)
    )
    return max(0, -((start - stop) // step))


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
    return broadcast_shapes(others, indices.shape), x.dtype


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
