"""Normalisation, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Norms(Backend):
    """What gives numbers a mean and a deviation."""

    def batch_norm(
        self,
        x: Floats,
        weight: Floats,
        bias: Floats,
        mask: Floats | None = None,
        *,
        eps: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Normalises ``(n, c, l)`` by channel over what the mask ``(n, l)`` keeps.

        Returns:
            The output, 0 at masked places; the means and the biased variances ``(c,)``.
        """
        x = np.ascontiguousarray(x)
        out = np.empty_like(x)
        mean, variance = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
        _native.batch_norm(x, mask, weight, bias, eps, out, mean, variance, self.threads)
        return out, mean, variance

    def batch_norm_grad(
        self,
        grad: Floats,
        x: Floats,
        weight: Floats,
        mask: Floats | None,
        mean: Floats,
        variance: Floats,
        *,
        eps: float,
    ) -> tuple[Floats, Floats, Floats]:
        """The derivatives of ``batch_norm`` by its input, weight and bias."""
        x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
        out = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
        _native.batch_norm_grad(
            x, grad, mask, weight, mean, variance, eps, *out, self.threads
        )
        return out

    def scale_shift(
        self, x: Floats, scale: Floats, shift: Floats, mask: Floats | None = None
    ) -> Floats:
        """``x * scale + shift`` by channel, 0 where the mask ``(n, l)`` is 0."""
        x = np.ascontiguousarray(x)
        out = np.empty_like(x)
        _native.scale_shift(x, mask, scale, shift, out, self.threads)
        return out
