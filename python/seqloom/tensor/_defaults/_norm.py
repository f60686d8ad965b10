"""Normalisation: numbers with a mean and a deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class Norms(Derived):
    """Layer norm, RMS norm over the last axis; batch norm over all but the channels.

    Statistics are further results, which no derivative follows; the derivatives here
    compute them again from the input, so that they can be differentiated themselves.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.layer_norm(B.asarray([[1.0, 3.0]]), None, None, eps=0.0)[0].tolist()
        [[-1.0, 1.0]]
    """

    def layer_norm(
        self, x: Array, weight: Array | None, bias: Array | None, *, eps: float
    ) -> tuple[Array, Array, Array]:
        """The result, and the mean and 1 / deviation of each row (Ba et al. 2016)."""
        scaled, mean, rstd = self._standardised(x, eps)
        out = scaled if weight is None else self.multiply(scaled, weight)
        out = out if bias is None else self.add(out, bias)
        return out, self.squeeze(mean, axis=-1), self.squeeze(rstd, axis=-1)

    def layer_norm_grad(
        self, grad: Array, x: Array, weight: Array | None, mean: Array, rstd: Array
    ) -> tuple[Array, Array, Array]:
        """The derivatives of ``layer_norm`` by its input, weight and bias."""
        scaled, rstd = self._again(x, mean, rstd)
        inward = grad if weight is None else self.multiply(grad, weight)
        centre = self.mean(inward, axis=-1, keepdims=True)
        slope = self.mean(self.multiply(inward, scaled), axis=-1, keepdims=True)
        rest = self.subtract(self.subtract(inward, centre), self.multiply(scaled, slope))
        rows = tuple(range(len(x.shape) - 1))
        by_weight = self.sum(self.multiply(grad, scaled), axis=rows)
        return self.multiply(rest, rstd), by_weight, self.sum(grad, axis=rows)

    def rms_norm(
        self, x: Array, weight: Array | None, *, eps: float
    ) -> tuple[Array, Array]:
        """The result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
        power = self.mean(self.square(x), axis=-1, keepdims=True)
        rstd = self.rsqrt(self.add(power, eps))
        out = self.multiply(x, rstd)
        out = out if weight is None else self.multiply(out, weight)
        return out, self.squeeze(rstd, axis=-1)

    def rms_norm_grad(
        self, grad: Array, x: Array, weight: Array | None, rstd: Array
    ) -> tuple[Array, Array]:
        """The derivatives of ``rms_norm`` by its input and weight."""
        power = self.mean(self.square(x), axis=-1, keepdims=True)
        rstd = self.rsqrt(self.add(power, self._eps(power, rstd)))
        scaled = self.multiply(x, rstd)
        inward = grad if weight is None else self.multiply(grad, weight)
        slope = self.mean(self.multiply(inward, scaled), axis=-1, keepdims=True)
        rest = self.subtract(inward, self.multiply(scaled, slope))
        rows = tuple(range(len(x.shape) - 1))
        return self.multiply(rest, rstd), self.sum(self.multiply(grad, scaled), axis=rows)

    def _standardised(self, x: Array, eps: Any) -> tuple[Array, Array, Array]:
        """Rows of mean 0 and deviation 1, with their mean and 1 / deviation."""
        mean = self.mean(x, axis=-1, keepdims=True)
        centred = self.subtract(x, mean)
        variance = self.mean(self.square(centred), axis=-1, keepdims=True)
        rstd = self.rsqrt(self.add(variance, eps))
        return self.multiply(centred, rstd), mean, rstd

    def _again(self, x: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
        """Standardised rows and 1 / deviation from the input; of rstd only eps is taken."""
        del mean
        variance = self.var(self.stop_gradient(x), axis=-1, keepdims=True)
        scaled, _, rstd = self._standardised(x, self._eps(variance, rstd))
        return scaled, rstd

    def _eps(self, variance: Array, rstd: Array) -> Array:
        """What had been added to the variance, a constant: ``rstd**-2 - variance``."""
        rstd = self.stop_gradient(self.expand_dims(rstd, axis=-1))
        inverse = self.reciprocal(self.square(rstd))
        return self.subtract(inverse, self.stop_gradient(variance))
