"""Losses, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor.backends._numpy._filling import make_out, to_contiguous, write_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]
    Pair = tuple[Floats, Floats]


def cross_entropy(
    b: Backend,
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


def cross_entropy_grad(
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
