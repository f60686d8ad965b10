"""ONNX operators for activations, norms and matrix products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom.models._onnx._values import as_tensor
from seqloom.nn import functional as F
from seqloom.nn._batch_norm import scale_channels
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._values import OnnxCall, Operator

    # A function of a tensor and numbers, and the default value of each number by
    # attribute name.
    Activation: TypeAlias = tuple[Callable[..., Tensor], dict[str, float]]

# First opset with a softmax over one axis; older opsets also include all later axes.
_SINGLE_AXIS_OPSET = 13
# First opset in which a group norm scales channels; in opset 18 it scales groups.
_CHANNEL_SCALE_OPSET = 21


def hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Compute a piecewise linear sigmoid: clip(alpha * x + beta, 0, 1)."""
    return apply("clip", x * alpha + beta, 0.0, 1.0)


def _shrink(x: Tensor, bias: float, limit: float) -> Tensor:
    """Shrink values towards 0; set small values to 0."""
    above = apply("where", x > limit, x - bias, 0.0)
    return apply("where", x < -limit, x + bias, above)


def _swish(x: Tensor, alpha: float) -> Tensor:
    return F.silu(x) if alpha == 1 else x * F.sigmoid(x * alpha)


def _hard_swish(x: Tensor) -> Tensor:
    return x * apply("clip", x / 6 + 0.5, 0.0, 1.0)


def _selu(x: Tensor, alpha: float, gamma: float) -> Tensor:
    return F.elu(x, alpha) * gamma


def _thresholded_relu(x: Tensor, alpha: float) -> Tensor:
    return apply("where", x > alpha, x, 0.0)


ACTIVATIONS: dict[str, Activation] = {
    "Celu": (F.celu, {"alpha": 1.0}),
    "Elu": (F.elu, {"alpha": 1.0}),
    "HardSigmoid": (hard_sigmoid, {"alpha": 0.2, "beta": 0.5}),
    "HardSwish": (_hard_swish, {}),
    "LeakyRelu": (F.leaky_relu, {"alpha": 0.01}),
    "Mish": (F.mish, {}),
    "Selu": (_selu, {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}),
    "Shrink": (_shrink, {"bias": 0.0, "lambd": 0.5}),
    "Softplus": (F.softplus, {}),
    "Softsign": (F.softsign, {}),
    "Swish": (_swish, {"alpha": 1.0}),
    "ThresholdedRelu": (_thresholded_relu, {"alpha": 1.0}),
}


def _make_activation(function: Callable[..., Tensor], numbers: dict[str, float]) -> Any:
    """Create an operator from a function whose parameters are attributes of the node."""

    def operate(call: OnnxCall) -> Tensor:
        given = (call.attribute(name, default) for name, default in numbers.items())
        return function(call.tensor(0), *given)

    return operate


def prelu(call: OnnxCall) -> Tensor:
    """Multiply negative values by learned slopes."""
    x = call.tensor(0)
    return apply("where", x < 0, x * call.operand(1), x)


def gelu(call: OnnxCall) -> Tensor:
    """Compute the Gaussian error linear unit."""
    kind = call.choice("approximate", "none", ("none", "tanh"))
    return F.gelu(call.tensor(0), kind)


def _make_softmax(function: Callable[..., Tensor]) -> Operator:
    """Create a softmax over one axis, in older files over all later axes too."""

    def operate(call: OnnxCall) -> Tensor:
        x = call.tensor(0)
        if call.opset >= _SINGLE_AXIS_OPSET:
            return function(x, call.axis(call.attribute("axis", -1), x.ndim))
        axis = call.axis(call.attribute("axis", 1), x.ndim)
        if axis == x.ndim - 1:
            return function(x, axis)
        rows = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return function(x.reshape(rows), 1).reshape(x.shape)

    return operate


def batch_norm(call: OnnxCall) -> Tensor:
    """Normalise channels by the averages in the file, as in evaluation."""
    if call.attribute("training_mode", 0):
        call.fail("normalises by the batch (training_mode=1), which is not supported")
    if any(call.node.outputs[1:]):
        call.fail("returns running averages, which is not supported")
    x, weight, bias, mean, variance = (call.tensor(place) for place in range(5))
    scale = weight / apply("sqrt", variance + call.attribute("epsilon", 1e-5))
    if x.ndim == 1:
        return x * scale + (bias - mean * scale)
    return scale_channels(x, scale, bias - mean * scale)


def instance_norm(call: OnnxCall) -> Tensor:
    """Normalise each channel of each record."""
    x, weight, bias = (call.tensor(place) for place in range(3))
    return _scale_groups(call, x.shape[1], weight, bias=bias)


def group_norm(call: OnnxCall) -> Tensor:
    """Normalise groups of channels of each record."""
    x, weight, bias = (call.tensor(place) for place in range(3))
    groups = call.attribute("num_groups")
    if call.opset < _CHANNEL_SCALE_OPSET:
        each = x.shape[1] // groups
        weight, bias = (apply("repeat", it, each) for it in (weight, bias))
    return _scale_groups(call, groups, weight, bias=bias)


def _scale_groups(call: OnnxCall, groups: int, weight: Tensor, *, bias: Tensor) -> Tensor:
    """Normalise each group of each record to mean 0 and variance 1, then scale."""
    x, eps = call.tensor(0), call.attribute("epsilon", 1e-5)
    rows = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    normed = F.layer_norm(rows, rows.shape[-1], eps=eps).reshape(x.shape)
    weight, bias = (
        it.reshape((it.shape[0], *(1,) * (x.ndim - 2))) for it in (weight, bias)
    )
    return normed * weight + bias


def layer_norm(call: OnnxCall) -> Tensor:
    """Normalise over the last axes."""
    if any(call.node.outputs[1:]):
        call.fail("returns means or deviations, which is not supported")
    x, shape, weight = _read_norm_inputs(call)
    bias = _broadcast_weight(call, 2, shape)
    return F.layer_norm(x, shape, weight, bias, call.attribute("epsilon", 1e-5))


def rms_norm(call: OnnxCall) -> Tensor:
    """Divide by the root mean square over the last axes."""
    return F.rms_norm(*_read_norm_inputs(call), call.attribute("epsilon", 1e-5))


def _read_norm_inputs(call: OnnxCall) -> tuple[Tensor, tuple[int, ...], Tensor | None]:
    """Return the input, the shape of the normalised axes, and the weight."""
    x = call.tensor(0)
    shape = x.shape[call.axis(call.attribute("axis", -1), x.ndim) :]
    return x, shape, _broadcast_weight(call, 1, shape)


def _broadcast_weight(call: OnnxCall, place: int, shape: tuple[int, ...]) -> Tensor | None:
    """Broadcast a weight to the shape of the normalised axes."""
    if not call.has(place):
        return None
    weight = as_tensor(call.value(place), call.first)
    return weight if weight.shape == shape else apply("broadcast_to", weight, shape)


def unit_norm(call: OnnxCall) -> Tensor:
    """Divide by the norm along an axis."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    order = call.attribute("p", 2)
    size = abs(x) if order == 1 else apply("square", x)
    total = size.sum(axis=axis, keepdims=True)
    is_zero = apply("equal", total, 0)
    # The square root has no derivative at 0, and `where` does not mask a NaN gradient.
    total = apply("where", is_zero, 1.0, total)
    norm = total if order == 1 else apply("sqrt", total)
    return apply("where", is_zero, 0.0, x / norm)


def gemm(call: OnnxCall) -> Tensor:
    """Multiply two matrices and add a third."""
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    x, weight = call.tensor(0), call.tensor(1)
    x = apply("matrix_transpose", x) if call.attribute("transA", 0) else x
    bias = call.optional(2) if beta else None
    is_turned = call.attribute("transB", 0)
    has_row = bias is None or (beta == 1 and bias.shape == weight.shape[:1])
    if alpha == 1 and is_turned and has_row:
        return apply("linear", x, weight, bias)
    weight = apply("matrix_transpose", weight) if is_turned else weight
    out = apply("matmul", x, weight)
    out = out if alpha == 1 else out * alpha
    return out if bias is None else out + (bias if beta == 1 else bias * beta)


def einsum(call: OnnxCall) -> Tensor:
    """Compute sums of products in Einstein notation."""
    tensors = [call.tensor(place) for place in range(len(call))]
    equation = str(call.attribute("equation", ""))
    return apply("einsum", equation.replace(" ", ""), *tensors)


OPERATORS: dict[str, Operator] = {
    **{name: _make_activation(*it) for name, it in ACTIVATIONS.items()},
    "BatchNormalization": batch_norm,
    "Einsum": einsum,
    "Gelu": gelu,
    "Gemm": gemm,
    "GroupNormalization": group_norm,
    "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm,
    "LogSoftmax": _make_softmax(F.log_softmax),
    "LpNormalization": unit_norm,
    "MatMul": lambda call: apply("matmul", call.tensor(0), call.tensor(1)),
    "PRelu": prelu,
    "RMSNormalization": rms_norm,
    "Softmax": _make_softmax(F.softmax),
}
