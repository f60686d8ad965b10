"""ONNX operators that select values by index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import OutOfRangeError
from seqloom.models._onnx._shapes import require_plausible
from seqloom.models._onnx._values import (
    RecordPositions,
    Reshaped,
    RowPositions,
    as_tensor,
    is_known,
    pad_axis,
    slice_axis,
    to_tensor,
)
from seqloom.tensor import Tensor, apply, gather as gather_along

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.models._onnx._values import OnnxCall, Operator


def gather(call: OnnxCall) -> Tensor:
    """Select elements along one axis; the axes of the index array replace this axis."""
    places, rank = call.value(1), len(call.shape(0))
    axis = call.axis(call.attribute("axis", 0), rank)
    if isinstance(places, RowPositions) and axis == 0:
        found = _take_from_records(call.value(0), places)
        if found is not None:
            return found
    x = call.tensor(0)
    if is_known(places):
        return _take_constants(x, places, axis=axis)
    places = to_tensor(places)
    length = x.shape[axis]
    places = apply("where", places < 0, places + length, places)
    if axis == 0:
        return apply("embedding", x, places) if x.ndim == 2 else _take_rows(x, places, 0)  # noqa: PLR2004
    return _take_rows(x, places, axis)


def _take_from_records(rows: Any, places: RowPositions) -> Tensor | None:
    """Select one position of each record from ``(record * position, ...)``."""
    # Select within each record, so that the graph supports any number of records.
    records = places.shape[0]
    length = rows.shape[0] // records
    if rows.shape[0] != records * length or not places.has_stride(length):
        return None
    rest = tuple(rows.shape[1:])
    shape = (records, length, *rest)
    is_there = isinstance(rows, Reshaped) and rows.base.shape == shape
    x = rows.base if is_there else to_tensor(rows).reshape(shape)
    return _take_per_record(x, places.positions)


def _take_per_record(x: Tensor, positions: Tensor) -> Tensor:
    """Select one position of each record from ``(record, position, ...)``."""
    records, _, *rest = x.shape
    places = positions.reshape((records, *(1,) * (len(rest) + 1)))
    chosen = apply("broadcast_to", places, (records, 1, *rest))
    return apply("squeeze", apply("take_along_axis", x, chosen, axis=1), axis=1)


def _take_constants(x: Tensor, places: NDArray[Any], *, axis: int) -> Tensor:
    """Select elements at constant indices; a single integer removes the axis."""
    length = x.shape[axis]
    if places.size and not (-length <= places.min() and places.max() < length):
        raise OutOfRangeError(
            f"reads the positions {places.min()} to {places.max()} of an axis of length "
            f"{length}"
        )
    places = np.asarray(np.where(places < 0, places + length, places))
    if places.ndim == 0:
        return slice_axis(x, axis, int(places))
    return take_constant(x, places, axis)


def _take_rows(x: Tensor, places: Tensor, axis: int) -> Tensor:
    """Select elements at computed indices."""
    found = apply("take", x, places.reshape((places.size,)), axis=axis)
    return found.reshape((*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))


def gather_elements(call: OnnxCall) -> Tensor:
    """Select one element along an axis for each index, like NumPy ``take_along_axis``."""
    x, places = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attribute("axis", 0), x.ndim)
    places = apply("where", places < 0, places + x.shape[axis], places)
    return gather_along(x, axis, places)


def gather_nd(call: OnnxCall) -> Tensor:
    """Select slices; the last axis of the index array contains an index for each axis."""
    x, kept = call.tensor(0), call.attribute("batch_dims", 0)
    own = call.value(1)
    if isinstance(own, RecordPositions) and x.ndim > 1 and x.shape[0] == own.shape[0]:
        return _take_per_record(x, own.positions)
    places = call.tensor(1)
    count = places.shape[-1]
    sizes = x.shape[kept : kept + count]
    records = math.prod(x.shape[:kept])
    rows = x.reshape((records * math.prod(sizes), *x.shape[kept + count :]))
    found = _flatten_indices(places, sizes).reshape((records, -1))
    begins = np.arange(records, dtype=np.int64)[:, None] * math.prod(sizes)
    found = found + as_tensor(begins, found) if kept else found
    flat = apply("take", rows, found.reshape((found.size,)), axis=0)
    return flat.reshape((*places.shape[:-1], *x.shape[kept + count :]))


def _flatten_indices(places: Tensor, sizes: Sequence[int]) -> Tensor:
    """Convert indices on several axes to flat indices."""
    joined: Tensor | None = None
    for at, length in enumerate(sizes):
        one = places[..., at]
        one = apply("where", one < 0, one + length, one)
        joined = one if joined is None else joined * length + one
    return places[..., :0].sum(axis=-1) if joined is None else joined


def slice_tensor(call: OnnxCall) -> Tensor:
    """Slice a tensor; in older files the bounds are attributes."""
    x = call.tensor(0)
    starts, stops = call.listed("starts", 1), call.listed("ends", 2)
    axes = call.listed("axes", 3, [*range(len(starts))])
    steps = call.integers(4, "steps") if call.has(4) else [1] * len(starts)
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        x = _slice_with_step(x, call.axis(axis, x.ndim), slice(start, stop, step))
    return x


def _slice_with_step(x: Tensor, axis: int, part: slice) -> Tensor:
    """Slice one axis; for a negative step, flip the axis first."""
    length = x.shape[axis]
    places = _slice_indices(part, length)
    if not places:
        return slice_axis(x, axis, slice(0, 0))
    if places.step < 0:
        x, turned = apply("flip", x, axis=axis), length - 1
        places = range(turned - places.start, turned - places.stop, -places.step)
    if len(places) == length:
        return x
    return slice_axis(x, axis, slice(places.start, places.stop, places.step))


def _slice_indices(part: slice, length: int) -> range:
    """Return the indices of a slice; negative bounds count from the end."""
    # With a negative step, a start before the axis is clipped to its first index.
    low, high = (0, length) if part.step > 0 else (-1, length - 1)
    start, stop = (it + length if it < 0 else it for it in (part.start, part.stop))
    return range(min(max(start, 0), high), min(max(stop, low), high), part.step)


def one_hot(call: OnnxCall) -> Tensor:
    """One-hot encode indices with two given values instead of 1 and 0."""
    places, off_on = call.tensor(0), call.constant(2, "values")
    depth = int(call.constant(1, "depth").reshape(()))
    require_plausible(call, (*places.shape, depth))
    places = places.astype("int32") if places.dtype.kind == "f" else places
    places = apply("where", places < 0, places + depth, places)
    axis = call.axis(call.attribute("axis", -1), places.ndim + 1)
    classes = np.arange(depth, dtype=np.int32)
    hits = apply("equal", apply("expand_dims", places, axis=places.ndim), classes)
    found = apply("where", hits, *(it.item() for it in off_on[::-1]))
    found = found.astype(off_on.dtype.name)
    order = [*range(places.ndim)]
    return apply("permute_dims", found, (*order[:axis], places.ndim, *order[axis:]))


def trilu(call: OnnxCall) -> Tensor:
    """Keep one triangle of each matrix, and set the other to 0."""
    x = call.tensor(0)
    above = int(call.constant(1, "diagonal").reshape(())) if call.has(1) else 0
    return apply("triu" if call.attribute("upper", 1) else "tril", x, k=above)


def pad(call: OnnxCall) -> Tensor:
    """Pad axes with values on both sides."""
    x = call.tensor(0)
    widths = call.listed("pads", 1)
    axes = call.integers(3, "axes") if call.has(3) else [*range(x.ndim)]
    mode = call.choice("mode", "constant", ("constant", "reflect", "edge", "wrap"))
    half = len(widths) // 2
    for at, before, after in zip(axes, widths[:half], widths[half:], strict=True):
        axis, both = call.axis(at, x.ndim), (before, after)
        if mode != "constant" and min(both) < 0:
            call.fail(f"has negative pads={list(both)}, which only mode=constant may have")
        if both == (0, 0):
            continue
        require_plausible(
            call, [n + sum(both) * (at == axis) for at, n in enumerate(x.shape)]
        )
        if mode == "constant":
            default = call.attribute("value", 0)
            value = call.constant(2, "value").item() if call.has(2) else default
            x = pad_axis(x, axis, both, value=value)
        else:
            x = take_constant(x, _padded_indices(mode, x.shape[axis], both), axis)
    return x


def _padded_indices(mode: str, length: int, widths: tuple[int, int]) -> NDArray[np.int64]:
    """Return the source index of each position of a padded axis."""
    places = np.arange(-widths[0], length + widths[1], dtype=np.int64)
    if mode == "edge":
        return np.clip(places, 0, length - 1)
    if mode == "wrap":
        return places % length
    # Reflect at each end without repeating the edge.
    period = max(2 * (length - 1), 1)
    places %= period
    return np.where(places < length, places, period - places)


def take_constant(x: Tensor, places: Any, axis: int) -> Tensor:
    """Select elements of an axis at constant indices; a range becomes a slice."""
    shape, row = places.shape, places.ravel()
    step = int(row[1] - row[0]) if len(row) > 1 else 1
    if len(row) and step > 0 and (np.diff(row) == step).all() and row[0] >= 0:
        run = slice(int(row[0]), int(row[-1]) + 1, step)
        found = slice_axis(x, axis, run)
    else:
        found = apply("take", x, np.ascontiguousarray(row, np.int64), axis=axis)
    new = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
    return found if found.shape == new else found.reshape(new)


OPERATORS: dict[str, Operator] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "OneHot": one_hot,
    "Pad": pad,
    "Slice": slice_tensor,
    "Trilu": trilu,
}
