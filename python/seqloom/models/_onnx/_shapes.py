"""ONNX operators that change shapes or return shapes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.models._onnx._values import (
    Directions,
    RecordPositions,
    is_known,
    permute,
    reshape,
    slice_axis,
)
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.models._onnx._values import OnnxCall, Operator
    from seqloom.tensor import Tensor

# Limits for the size of a result: number of elements, or multiple of the input's size.
_MAX_ELEMENTS, _MAX_EXPANSION = 1 << 28, 16
_INDEX_LENGTH = 2  # an index is a pair: record, position in the record


def shape(call: OnnxCall) -> NDArray[np.int64]:
    """Return the shape as a constant."""
    sizes = call.shape(0)
    start, stop = call.attribute("start", 0), call.attribute("end", len(sizes))
    return np.asarray(sizes[slice(start, stop)], np.int64)


def size(call: OnnxCall) -> NDArray[np.int64]:
    """Return the number of elements as a constant."""
    return np.asarray(math.prod(call.shape(0)), np.int64)


def reshape_value(call: OnnxCall) -> Any:
    """Reshape a tensor: 0 keeps the size of an axis, and -1 is inferred."""
    old, new = call.shape(0), call.integers(1, "shape")
    if not call.attribute("allowzero", 0):
        new = [old[at] if n == 0 and at < len(old) else n for at, n in enumerate(new)]
    if new.count(-1) == 1:
        others = math.prod(n for n in new if n != -1)
        rest = math.prod(old) // others if others else 0
        new = [rest if n == -1 else n for n in new]
    if min(new, default=0) < 0 or math.prod(new) != math.prod(old):
        call.fail(f"cannot reshape {old} to {tuple(call.integers(1, 'shape'))}")
    return reshape(call.value(0), new)


def flatten(call: OnnxCall) -> Any:
    """Reshape to two axes: one for all axes before `axis`, and one for all other axes."""
    old = call.shape(0)
    axis = call.attribute("axis", 1)
    axis = axis + len(old) if axis < 0 else axis
    if not 0 <= axis <= len(old):
        call.fail(f"has axis={axis}, but its input has {len(old)} axes")
    return reshape(call.value(0), (math.prod(old[:axis]), math.prod(old[axis:])))


def transpose(call: OnnxCall) -> Any:
    """Permute the axes of a tensor; default: reverse the axes."""
    rank = len(call.shape(0))
    order = call.attribute("perm", [*range(rank)][::-1])
    if sorted(order) != [*range(rank)]:
        call.fail(f"has perm={order}, but its input has {rank} axes")
    return permute(call.value(0), order)


def squeeze(call: OnnxCall) -> Any:
    """Remove axes of length 1."""
    value, old = call.value(0), call.shape(0)
    axes = call.listed("axes", 1)
    if axes is None:
        axes = [axis for axis, length in enumerate(old) if length == 1]
    left_out = {call.axis(axis, len(old)) for axis in axes}
    if any(old[axis] != 1 for axis in left_out):
        call.fail(f"has axes={axes}, but its input has the shape {old}")
    if isinstance(value, Directions) and left_out == {2 if value.is_last else 1}:
        return value.joined()
    return reshape(value, [n for axis, n in enumerate(old) if axis not in left_out])


def unsqueeze(call: OnnxCall) -> Any:
    """Add axes of length 1."""
    old, axes = [*call.shape(0)], call.listed("axes", 1, [])
    rank = len(old) + len(axes)
    for axis in sorted(call.axis(it, rank) for it in axes):
        old.insert(axis, 1)
    return reshape(call.value(0), old)


def expand(call: OnnxCall) -> Any:
    """Broadcast axes of length 1."""
    new = np.broadcast_shapes(call.shape(0), tuple(call.integers(1, "shape")))
    require_plausible(call, new)
    if call.is_known:
        return np.broadcast_to(call.constant(0, "values"), new)
    return apply("broadcast_to", call.tensor(0), new)


def tile(call: OnnxCall) -> Tensor:
    """Repeat a tensor along each axis."""
    times = tuple(call.integers(1, "repeats"))
    require_plausible(call, [n * k for n, k in zip(call.shape(0), times, strict=True)])
    return apply("tile", call.tensor(0), times)


def constant_of_shape(call: OnnxCall) -> NDArray[Any]:
    """Return a constant with one value in all elements."""
    value = call.attribute("value", np.zeros(1, np.float32))
    new = call.integers(0, "shape")
    require_plausible(call, new)
    return np.broadcast_to(np.asarray(value).reshape(()), new)


def make_range(call: OnnxCall) -> NDArray[Any]:
    """Return the range between two constants."""
    limits = [call.constant(place, "limits") for place in range(3)]
    start, stop, step = (it.item() for it in limits)
    if step == 0:
        call.fail("has the step 0")
    require_plausible(call, [max(0, math.ceil((stop - start) / step))])
    return np.arange(start, stop, step, dtype=limits[0].dtype)


def nonzero(call: OnnxCall) -> NDArray[np.int64]:
    """Return the indices of constants that are not 0."""
    return np.stack(np.nonzero(call.constant(0, "input"))).astype(np.int64)


def require_plausible(call: OnnxCall, sizes: Sequence[int]) -> None:
    """Raise if a shape is invalid, or far larger than the input."""
    most = max(_MAX_ELEMENTS, _MAX_EXPANSION * math.prod(call.shape(0)))
    if min(sizes, default=0) < 0 or math.prod(sizes) > most:
        call.fail(f"would create the shape {tuple(sizes)}, which is not possible")


def concat(call: OnnxCall) -> Any:
    """Concatenate tensors along an axis."""
    rank = len(call.shape(0))
    axis = call.axis(call.attribute("axis", 0), rank)
    if len(call) == 1:
        return call.value(0)
    if axis == rank - 1 == 1 and (places := _find_record_positions(call)) is not None:
        return places
    return apply("concat", [call.tensor(place) for place in range(len(call))], axis=axis)


def _find_record_positions(call: OnnxCall) -> RecordPositions | None:
    """Return lazy pairs if the inputs are record indices and positions; otherwise None."""
    # PyTorch 2.5 and newer exports ``x[arange(n), positions]`` as pairs of indices.
    numbers = call.value(0)
    if len(call) != _INDEX_LENGTH or not is_known(numbers) or is_known(call.value(1)):
        return None
    is_of_records = numbers.shape == call.shape(1) == (len(numbers), 1)
    if not (is_of_records and (numbers[:, 0] == np.arange(len(numbers))).all()):
        return None
    return RecordPositions(call.tensor(1))


def split(call: OnnxCall) -> tuple[Any, ...]:
    """Split a tensor along an axis."""
    x, outputs = call.tensor(0), len(call.node.outputs)
    axis = call.axis(call.attribute("axis", 0), x.ndim)
    length = x.shape[axis]
    sizes = call.listed("split", 1)
    if sizes is None:
        part = -(-length // call.attribute("num_outputs", outputs))
        sizes = [min(part, max(0, length - part * at)) for at in range(outputs)]
    if sum(sizes) != length or len(sizes) != outputs:
        call.fail(f"splits into {sizes}, but the axis has the length {length}")
    ends = np.cumsum([0, *sizes]).tolist()
    if outputs == 1:
        return (x,)
    return tuple(slice_axis(x, axis, slice(*both)) for both in pairwise(ends))


OPERATORS: dict[str, Operator] = {
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "Expand": expand,
    "Flatten": flatten,
    "NonZero": nonzero,
    "Range": make_range,
    "Reshape": reshape_value,
    "Shape": shape,
    "Size": size,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
