"""Activations, and what turns scores into shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array

_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


class Activations(Derived):
    """What bends numbers one by one, and softmax along an axis.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.softmax(B.asarray([1.0, 1.0])).tolist()
        [0.5, 0.5]
    """

    def relu(self, x: Array) -> Array:
        """``max(x, 0)``."""
        return self.maximum(x, 0)

    def relu_grad(self, grad: Array, out: Array, /) -> Array:
        """The derivative of ``relu`` from its output."""
        return self.where(self.less_equal(out, 0), 0, grad)  # of NaN, all of it

    def sigmoid(self, x: Array) -> Array:
        """``1 / (1 + exp(-x))``, by tanh, which never overflows."""
        return self.multiply(self.add(self.tanh(self.multiply(x, 0.5)), 1.0), 0.5)

    def sigmoid_grad(self, grad: Array, out: Array, /) -> Array:
        """The derivative of ``sigmoid`` from its output."""
        return self.multiply(grad, self.multiply(out, self.subtract(1.0, out)))

    def gelu(self, x: Array) -> Array:
        """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
        return self.multiply(x, self._normal_share(x))

    def gelu_grad(self, grad: Array, x: Array) -> Array:
        """The derivative of ``gelu`` from its input."""
        density = self.multiply(self.exp(self.multiply(self.square(x), -0.5)), _DENSITY)
        slope = self.add(self._normal_share(x), self.multiply(x, density))
        return self.multiply(grad, slope)

    def silu(self, x: Array) -> Array:
        """``x * sigmoid(x)``."""
        return self.multiply(x, self.sigmoid(x))

    def softplus(self, x: Array) -> Array:
        """``log(1 + exp(x))``, without overflow."""
        return self.logaddexp(x, 0.0)

    def softmax(self, x: Array, *, axis: int = -1) -> Array:
        """Exponentials along an axis, divided by their sum."""
        if 0 in x.shape:
            return x
        if not x.shape:
            return self._as_row(self.softmax, x, axis=axis)
        powers = self.exp(self.subtract(x, self._peak(x, axis)))
        return self.divide(powers, self.sum(powers, axis=axis, keepdims=True))

    def softmax_grad(self, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
        """The derivative of ``softmax`` from its output."""
        if not out.shape:
            return self._as_row(self.softmax_grad, grad, out, axis=axis)
        inner = self.sum(self.multiply(grad, out), axis=axis, keepdims=True)
        return self.multiply(out, self.subtract(grad, inner))

    def log_softmax(self, x: Array, *, axis: int = -1) -> Array:
        """The logarithm of ``softmax``, without its rounding."""
        if 0 in x.shape:
            return x
        if not x.shape:
            return self._as_row(self.log_softmax, x, axis=axis)
        return self.subtract(x, self.logsumexp(x, axis=axis, keepdims=True))

    def log_softmax_grad(self, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
        """The derivative of ``log_softmax`` from its output."""
        if not out.shape:
            return self._as_row(self.log_softmax_grad, grad, out, axis=axis)
        total = self.sum(grad, axis=axis, keepdims=True)
        return self.subtract(grad, self.multiply(self.exp(out), total))

    def _as_row(self, function: Any, *arrays: Array, axis: int) -> Array:
        """A function over an axis, of single numbers: each is a row of its own."""
        rows = [self.reshape(each, (1,)) for each in arrays]
        return self.reshape(function(*rows, axis=axis), ())

    def logsumexp(self, x: Array, *, axis: Any = None, keepdims: bool = False) -> Array:
        """The logarithm of the sum of exponentials over an axis, several, or all."""
        if 0 in x.shape:  # nothing has a peak, and its sum is 0
            total = self.sum(x, axis=axis, keepdims=keepdims)
            return self.log(total)
        peak = self._peak(x, axis)
        total = self.sum(self.exp(self.subtract(x, peak)), axis=axis, keepdims=True)
        out = self.add(self.log(total), peak)
        if keepdims:
            return out
        axes = tuple(range(len(x.shape))) if axis is None else axis
        return self.squeeze(out, axis=axes)

    def _peak(self, x: Array, axis: Any) -> Array:
        """The largest value, that keeps powers small; 0 where it is infinite."""
        peak = self.stop_gradient(self.max(x, axis=axis, keepdims=True))
        return self.where(self.isfinite(peak), peak, 0.0)

    def _normal_share(self, x: Array) -> Array:
        """``Phi(x)``: the share of a normal distribution below x, exact in both tails."""
        return self.multiply(self.erfc(self.multiply(x, -_ROOT_HALF)), 0.5)
