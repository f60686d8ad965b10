"""Batch norm: each channel by the statistics of the batch, padding left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class BatchNorms(Derived):
    """Normalises ``(n, c, …)`` by channel (Ioffe and Szegedy 2015).

    A mask ``(n, l)`` of ones and zeros says which places count; the others are 0 in the
    result.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> x, one = B.asarray([[[1.0, 3.0]]]), B.ones((1,))
        >>> B.batch_norm(x, one, one, eps=0.0)[0].tolist()
        [[[0.0, 2.0]]]
    """

    def batch_norm(
        self,
        x: Array,
        weight: Array,
        bias: Array,
        mask: Array | None = None,
        *,
        eps: float,
    ) -> tuple[Array, Array, Array]:
        """The result, the means and the biased variances ``(c,)``."""
        x = self._masked(x, mask)
        mean = self._channel_mean(x, mask)
        centred = self.subtract(x, self._wide(x, mean))
        variance = self._channel_mean(self.square(centred), mask)
        scale = self.multiply(self.rsqrt(self.add(variance, eps)), weight)
        out = self.multiply(centred, self._wide(x, scale))
        out = self.add(out, self._wide(x, bias))
        return self._masked(out, mask), mean, variance

    def batch_norm_grad(
        self,
        grad: Array,
        x: Array,
        weight: Array,
        mask: Array | None,
        mean: Array,
        variance: Array,
        *,
        eps: float,
    ) -> tuple[Array, Array, Array]:
        """The derivatives of ``batch_norm`` by its input, weight and bias."""
        x = self._masked(x, mask)
        mean = self._channel_mean(x, mask)
        centred = self.subtract(x, self._wide(x, mean))
        variance = self._channel_mean(self.square(centred), mask)
        rstd = self.rsqrt(self.add(variance, eps))
        scaled = self.multiply(centred, self._wide(x, rstd))
        grad = self._masked(grad, mask)
        slope = self._channel_mean(self.multiply(grad, scaled), mask)
        rest = self.subtract(grad, self._wide(x, self._channel_mean(grad, mask)))
        rest = self.subtract(rest, self.multiply(scaled, self._wide(x, slope)))
        by_x = self.multiply(rest, self._wide(x, self.multiply(rstd, weight)))
        axes = (0, *range(2, len(x.shape)))
        by_weight = self.sum(self.multiply(grad, scaled), axis=axes)
        return self._masked(by_x, mask), by_weight, self.sum(grad, axis=axes)

    def scale_shift(
        self, x: Array, scale: Array, shift: Array, mask: Array | None = None
    ) -> Array:
        """``x * scale + shift`` by channel, 0 where the mask ``(n, l)`` is 0."""
        out = self.multiply(x, self._wide(x, scale))
        return self._masked(self.add(out, self._wide(x, shift)), mask)

    def _wide(self, x: Array, channels: Array) -> Array:
        """A number for each channel, shaped to meet ``(n, c, …)``."""
        return self.reshape(channels, (-1, *(1 for _ in x.shape[2:])))

    def _masked(self, x: Array, mask: Array | None) -> Array:
        """Zero where the mask is, NaN or not."""
        if mask is None:
            return x
        mask = self.expand_dims(mask, axis=1)
        return self.where(self.equal(mask, 0), 0.0, self.multiply(x, mask))

    def _channel_mean(self, x: Array, mask: Array | None) -> Array:
        """The mean of each channel over the places that count."""
        axes = (0, *range(2, len(x.shape)))
        if mask is None:
            return self.mean(x, axis=axes)
        places = self.maximum(self.sum(mask), 1.0)
        return self.divide(self.sum(self._masked(x, mask), axis=axes), places)
