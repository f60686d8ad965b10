"""Losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Pair,
    make_out,
    to_contiguous,
    widen,
    write_to,
)
from seqloom.tensor._families._rule import Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._element_types import Array
    from seqloom.tensor._families import _keep as keep
    from seqloom.tensor._families._functions import Functions


# Default bodies ------------------------------------------------------------------------


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


# Gradient rules ------------------------------------------------------------------------


def _keep_loss(args: keep.Args, out: Any, _needs: Any, _options: Any) -> Any:
    """The inputs, and the derivative that a fused kernel has written already."""
    logits, labels, *weights = args
    return logits, labels, weights[0] if weights else None, out[1]


RULES: dict[str, Rule] = {
    "cross_entropy": Rule(
        _keep_loss, lambda b, saved, grad, _: (b.cross_entropy_grad(grad, *saved),)
    ),
}


# NumPy ---------------------------------------------------------------------------------


@widen
def numpy_cross_entropy(
    b: Functions,
    logits: Floats,
    labels: NDArray[np.int64],
    weights: Floats | None = None,
    *,
    out: Pair | None = None,
) -> Pair:
    """The weighted loss of each row ``(n,)`` and its derivative ``(n, k)``."""
    logits, (into, slopes) = to_contiguous(logits), out or (None, None)
    losses = make_out(into, logits.shape[:1], logits.dtype)
    grad = make_out(slopes, logits.shape, logits.dtype)
    weights = None if weights is None else to_contiguous(weights)
    labels = np.ascontiguousarray(labels, np.int64)
    _native.cross_entropy(logits, labels, weights, losses, grad, b.threads)
    return write_to(losses, into), write_to(grad, slopes)


@widen
def numpy_cross_entropy_grad(
    grad: Floats,
    logits: Floats,
    labels: NDArray[np.int64],
    weights: Floats | None,
    fused: Floats,
    *,
    out: Floats | None = None,
) -> Floats:
    """The derivative of ``cross_entropy`` by the logits."""
    del logits, labels, weights
    return np.multiply(fused, np.expand_dims(grad, -1), out=out)
