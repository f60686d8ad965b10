"""Operators of ONNX that normalise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.models._onnx._values import as_tensor
from seqloom.nn import functional as F
from seqloom.nn._batch_norm import scale_channels
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call

# Since this version a group norm scales channels; in version 18 it scaled groups.
_SCALES_CHANNELS_SINCE = 21


def batch_norm(call: Call) -> Tensor:
    """Normalises channels by the averages of the file, as in evaluation."""
    if call.attribute("training_mode", 0):
        call.refuse("normalises by the batch (training_mode=1), which is not supported")
    if any(call.node.outputs[1:]):
        call.refuse("gives averages of a training, which is not supported")
    x, weight, bias, mean, variance = (call.tensor(place) for place in range(5))
    scale = weight / apply("sqrt", variance + call.attribute("epsilon", 1e-5))
    if x.ndim == 1:
        return x * scale + (bias - mean * scale)
    return scale_channels(x, scale, bias - mean * scale)


def instance_norm(call: Call) -> Tensor:
    """Normalises each channel of each record."""
    x, weight, bias = (call.tensor(place) for place in range(3))
    return _by_records(x, x.shape[1], call) * _on_channels(x, weight) + _on_channels(
        x, bias
    )


def group_norm(call: Call) -> Tensor:
    """Normalises groups of channels of each record."""
    x, weight, bias = (call.tensor(place) for place in range(3))
    groups = call.attribute("num_groups")
    if call.opset < _SCALES_CHANNELS_SINCE:
        each = x.shape[1] // groups
        weight, bias = (apply("repeat", it, each) for it in (weight, bias))
    return _by_records(x, groups, call) * _on_channels(x, weight) + _on_channels(x, bias)


def _by_records(x: Tensor, groups: int, call: Call) -> Tensor:
    """Normalises each group of each record to mean 0 and variance 1."""
    rows = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    eps = call.attribute("epsilon", 1e-5)
    return F.layer_norm(rows, rows.shape[-1], eps=eps).reshape(x.shape)


def _on_channels(x: Tensor, values: Tensor) -> Tensor:
    """Gives numbers of channels the axes of a batch."""
    return values.reshape((values.shape[0], *(1,) * (x.ndim - 2)))


def layer_norm(call: Call) -> Tensor:
    """Normalises over the last axes."""
    if any(call.node.outputs[1:]):
        call.refuse("gives means or deviations, which is not supported")
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    shape, eps = x.shape[axis:], call.attribute("epsilon", 1e-5)
    weight, bias = (_of_shape(call, place, shape) for place in (1, 2))
    return F.layer_norm(x, shape, weight, bias, eps)


def rms_norm(call: Call) -> Tensor:
    """Divides by the root mean square over the last axes."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    shape, eps = x.shape[axis:], call.attribute("epsilon", 1e-5)
    return F.rms_norm(x, shape, _of_shape(call, 1, shape), eps)


def _of_shape(call: Call, place: int, shape: tuple[int, ...]) -> Tensor | None:
    """Gives a weight the shape of the axes that are normalised."""
    if not call.has(place):
        return None
    weight = as_tensor(call.value(place), call.first)
    return weight if weight.shape == shape else apply("broadcast_to", weight, shape)


def unit_norm(call: Call) -> Tensor:
    """Divides by the norm along an axis."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    order = call.attribute("p", 2)
    size = abs(x) if order == 1 else apply("square", x)
    total = size.sum(axis=axis, keepdims=True)
    is_zero = apply("equal", total, 0)
    # The root of 0 has no derivative, and `where` would not stop it.
    total = apply("where", is_zero, 1.0, total)
    norm = total if order == 1 else apply("sqrt", total)
    return apply("where", is_zero, 0.0, x / norm)


OPERATORS: dict[str, Callable[[Call], Any]] = {
    "BatchNormalization": batch_norm,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm,
    "LpNormalization": unit_norm,
    "RMSNormalization": rms_norm,
}
