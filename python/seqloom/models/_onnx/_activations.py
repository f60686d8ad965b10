"""Operators of ONNX that are activations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.nn import functional as F
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call

# Since this version a softmax is over one axis; before, over all axes from one on.
_ONE_AXIS_SINCE = 13


def leaky_relu(call: Call) -> Tensor:
    """Multiplies negative values by a number."""
    return F.leaky_relu(call.tensor(0), call.attribute("alpha", 0.01))


def prelu(call: Call) -> Tensor:
    """Multiplies negative values by learned numbers."""
    x = call.tensor(0)
    return apply("where", x < 0, x * call.operand(1), x)


def elu(call: Call) -> Tensor:
    """Bends values below 0 exponentially."""
    return F.elu(call.tensor(0), call.attribute("alpha", 1.0))


def selu(call: Call) -> Tensor:
    """Bends values below 0, and scales all."""
    alpha = call.attribute("alpha", 1.6732632423543772)
    return F.elu(call.tensor(0), alpha) * call.attribute("gamma", 1.0507009873554805)


def celu(call: Call) -> Tensor:
    """Bends values below 0, with one slope at 0."""
    alpha = call.attribute("alpha", 1.0)
    return F.celu(call.tensor(0), alpha)


def gelu(call: Call) -> Tensor:
    """Weighs values by the normal distribution."""
    kind = call.word("approximate", "none", ("none", "tanh"))
    return F.gelu(call.tensor(0), kind)


def hard_sigmoid(call: Call) -> Tensor:
    """Draws a line from 0 to 1."""
    x = call.tensor(0)
    line = x * call.attribute("alpha", 0.2) + call.attribute("beta", 0.5)
    return apply("clip", line, 0.0, 1.0)


def hard_swish(call: Call) -> Tensor:
    """Multiplies values by a hard sigmoid of them."""
    x = call.tensor(0)
    return x * apply("clip", x / 6 + 0.5, 0.0, 1.0)


def thresholded_relu(call: Call) -> Tensor:
    """Keeps values above a number, and makes the others 0."""
    x = call.tensor(0)
    return apply("where", x > call.attribute("alpha", 1.0), x, 0.0)


def shrink(call: Call) -> Tensor:
    """Moves values towards 0, and makes small ones 0."""
    x, bias, limit = (
        call.tensor(0),
        call.attribute("bias", 0.0),
        call.attribute("lambd", 0.5),
    )
    above = apply("where", x > limit, x - bias, 0.0)
    return apply("where", x < -limit, x + bias, above)


def swish(call: Call) -> Tensor:
    """Multiplies values by a sigmoid of them."""
    x, alpha = call.tensor(0), call.attribute("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * F.sigmoid(x * alpha)


def softmax(call: Call) -> Tensor:
    """Computes a softmax."""
    return _over_axis(call, F.softmax)


def log_softmax(call: Call) -> Tensor:
    """Computes the logarithm of a softmax."""
    return _over_axis(call, F.log_softmax)


def _over_axis(call: Call, function: Callable[..., Tensor]) -> Tensor:
    """Applies a function over an axis; in older files over all axes from one on."""
    x = call.tensor(0)
    if call.opset >= _ONE_AXIS_SINCE:
        return function(x, call.axis(call.attribute("axis", -1), x.ndim))
    axis = call.axis(call.attribute("axis", 1), x.ndim)
    if axis == x.ndim - 1:
        return function(x, axis)
    rows = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    return function(x.reshape(rows), 1).reshape(x.shape)


OPERATORS: dict[str, Callable[[Call], Any]] = {
    "Celu": celu,
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "LeakyRelu": leaky_relu,
    "LogSoftmax": log_softmax,
    "Mish": lambda call: F.mish(call.tensor(0)),
    "PRelu": prelu,
    "Selu": selu,
    "Shrink": shrink,
    "Softmax": softmax,
    "Softplus": lambda call: F.softplus(call.tensor(0)),
    "Softsign": lambda call: F.softsign(call.tensor(0)),
    "Swish": swish,
    "ThresholdedRelu": thresholded_relu,
}
