"""Activations, softmax and linear: torch's kernels, forward and backward."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._families._products import require_bias

aten = torch.ops.aten
# Above it, softplus is x itself to the last digit of float64.
_STRAIGHT = 50.0


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``."""
    return torch.relu(x)


def relu_grad(grad: Tensor, out: Tensor) -> Tensor:
    """The derivative of ``relu`` from its output."""
    return aten.threshold_backward(grad, out, 0)


def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return torch.sigmoid(x)


def sigmoid_grad(grad: Tensor, out: Tensor) -> Tensor:
    """The derivative of ``sigmoid`` from its output."""
    return aten.sigmoid_backward(grad, out)


def gelu(x: Tensor) -> Tensor:
    """``x * Phi(x)``."""
    return functional.gelu(x)


def gelu_grad(grad: Tensor, x: Tensor) -> Tensor:
    """The derivative of ``gelu`` from its input."""
    return aten.gelu_backward(grad, x)


def silu(x: Tensor) -> Tensor:
    """``x * sigmoid(x)``."""
    return functional.silu(x)


def softplus(x: Tensor) -> Tensor:
    """``log(1 + exp(x))``, without overflow."""
    return functional.softplus(x, threshold=_STRAIGHT)


def erf(x: Tensor) -> Tensor:
    """The error function."""
    return torch.erf(x)


def erfc(x: Tensor) -> Tensor:
    """``1 - erf(x)``."""
    return torch.erfc(x)


def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Exponentials along an axis, divided by their sum."""
    return torch.softmax(x, axis)


def softmax_grad(grad: Tensor, out: Tensor, *, axis: int = -1) -> Tensor:
    """The derivative of ``softmax`` from its output."""
    return aten._softmax_backward_data(grad, out, axis, out.dtype)  # noqa: SLF001


def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """The logarithm of ``softmax``."""
    return torch.log_softmax(x, axis)


def log_softmax_grad(grad: Tensor, out: Tensor, *, axis: int = -1) -> Tensor:
    """The derivative of ``log_softmax`` from its output."""
    return aten._log_softmax_backward_data(grad, out, axis, out.dtype)  # noqa: SLF001


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``."""
    require_bias(weight, bias)
    return functional.linear(x, weight, bias)


def stop_gradient(x: Tensor) -> Tensor:
    """The same values, of which no gradient is taken."""
    return x.detach()


def accumulate(total: Tensor, more: Tensor) -> Tensor:
    """``total + more`` in total's own memory, which the caller owns."""
    return total.add_(more)
