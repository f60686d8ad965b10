"""Losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._defaults._activation import Activations
from seqloom.tensor._defaults._shape import Shapes

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class Losses(Activations, Shapes):
    """Softmax cross-entropy, with its derivative.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> losses, _ = B.cross_entropy(B.zeros((1, 2)), B.asarray([1]))
        >>> round(losses.item(), 4)
        0.6931
    """

    def cross_entropy(
        self, logits: Array, labels: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """The weighted loss of each row ``(n,)``, and its derivative ``(n, k)``."""
        column = self.expand_dims(labels, axis=-1)
        chosen = self.take_along_axis(self.log_softmax(logits), column, axis=-1)
        losses = self.negative(self.squeeze(chosen, axis=-1))
        if weights is not None:
            losses = self.multiply(losses, self.take(weights, labels, axis=0))
        plain = self.stop_gradient(logits)
        return losses, self._slope(plain, labels, weights)

    def cross_entropy_grad(
        self,
        grad: Array,
        logits: Array,
        labels: Array,
        weights: Array | None,
        fused: Array,
    ) -> Array:
        """The derivative of ``cross_entropy`` by the logits."""
        del fused  # which no derivative follows
        slope = self._slope(logits, labels, weights)
        return self.multiply(slope, self.expand_dims(grad, axis=-1))

    def _slope(self, logits: Array, labels: Array, weights: Array | None) -> Array:
        """``softmax - one_hot``, times the label's weight."""
        hot = self.one_hot(labels, logits.shape[-1], dtype=self.dtype(logits))
        slope = self.subtract(self.softmax(logits), hot)
        if weights is None:
            return slope
        return self.multiply(
            slope, self.expand_dims(self.take(weights, labels, axis=0), axis=-1)
        )
