"""Activations and softmax, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._filling import fill, fill_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Activations(Backend):
    """What bends numbers one by one, and softmax over rows."""

    def relu(self, x: Floats) -> Floats:
        """``max(x, 0)``."""
        return fill(_native.relu, x, threads=self.threads)

    def relu_grad(self, grad: Floats, output: Floats) -> Floats:
        """The derivative of ``relu`` from its output."""
        return fill(_native.relu_grad, grad, output, threads=self.threads)

    def gelu(self, x: Floats) -> Floats:
        """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
        return fill(_native.gelu, x, threads=self.threads)

    def gelu_grad(self, grad: Floats, x: Floats) -> Floats:
        """The derivative of ``gelu`` from its input."""
        return fill(_native.gelu_grad, grad, x, threads=self.threads)

    def sigmoid(self, x: Floats) -> Floats:
        """``1 / (1 + exp(-x))``."""
        return fill(_native.sigmoid, x, threads=self.threads)

    def sigmoid_grad(self, grad: Floats, output: Floats) -> Floats:
        """The derivative of ``sigmoid`` from its output."""
        return fill(_native.sigmoid_grad, grad, output, threads=self.threads)

    def softmax(self, x: Floats) -> Floats:
        """Softmax over the last axis."""
        return fill_rows(_native.softmax, x, self.threads)

    def log_softmax(self, x: Floats) -> Floats:
        """Logarithm of the softmax over the last axis."""
        return fill_rows(_native.log_softmax, x, self.threads)
