"""Losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def cross_entropy(
    b: Functions, logits: Array, labels: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """The weighted loss of each row ``(n,)``, and its derivative ``(n, k)``."""
    column = b.expand_dims(labels, axis=-1)
    chosen = b.take_along_axis(b.log_softmax(logits), column, axis=-1)
    losses = b.negative(b.squeeze(chosen, axis=-1))
    if weights is not None:
        losses = b.multiply(losses, b.take(weights, labels, axis=0))
    plain = b.stop_gradient(logits)
    return losses, _slope(b, plain, labels, weights)


def cross_entropy_grad(
    b: Functions,
    grad: Array,
    logits: Array,
    labels: Array,
    weights: Array | None,
    fused: Array,
) -> Array:
    """The derivative of ``cross_entropy`` by the logits."""
    del fused  # which no derivative follows
    slope = _slope(b, logits, labels, weights)
    return b.multiply(slope, b.expand_dims(grad, axis=-1))


def _slope(b: Functions, logits: Array, labels: Array, weights: Array | None) -> Array:
    """``softmax - one_hot``, times the label's weight."""
    hot = b.one_hot(labels, logits.shape[-1], dtype=b.dtype(logits))
    slope = b.subtract(b.softmax(logits), hot)
    if weights is None:
        return slope
    return b.multiply(slope, b.expand_dims(b.take(weights, labels, axis=0), axis=-1))
