"""Attention: a mean of values, weighted by how queries match keys.

A mask is of booleans (true: may look) or is added to the scores; both are broadcast
to ``(n, h, l, s)``. A query that may look nowhere gives 0. ``key`` decides which
weights are dropped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def attention(
    b: Functions,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    key: Any = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Array, Array]:
    """The result ``(n, h, l, d)`` and the log-sum-exp of the scores ``(n, h, l)``."""
    scores = scores_of(b, q, k, mask, scale, causal=causal)
    weights, lse = _weights(b, scores)
    if dropout and key is not None:
        weights = b.dropout(weights, key, dropout)
    return b.matmul(weights, v), lse


def attention_grad(
    b: Functions,
    grad: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    key: Any,
    out: Array,
    lse: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Array, Array, Array]:
    """The derivatives of ``attention`` by q, k and v."""
    del out, lse
    weights = _weights(b, scores_of(b, q, k, mask, scale, causal=causal))[0]
    drop = bool(dropout) and key is not None
    kept = b.dropout(weights, key, dropout) if drop else weights
    by_v = b.matmul(b.matrix_transpose(kept), grad)
    by_weights = b.matmul(grad, b.matrix_transpose(v))
    if drop:
        by_weights = b.dropout(by_weights, key, dropout)
    by_scores = b.softmax_grad(by_weights, weights, axis=-1)
    by_scores = b.multiply(by_scores, _scale(q, scale))
    by_q = b.matmul(by_scores, k)
    return by_q, b.matmul(b.matrix_transpose(by_scores), q), by_v


def scores_of(
    b: Functions,
    q: Array,
    k: Array,
    mask: Array | None,
    scale: float | None,
    *,
    causal: bool,
) -> Array:
    """How each query matches each key; minus infinity where it may not look."""
    q = b.multiply(q, _scale(q, scale))
    scores = b.matmul(q, b.matrix_transpose(k))
    if mask is not None and b.isdtype(b.dtype(mask), "bool"):
        scores = b.where(mask, scores, -math.inf)
    elif mask is not None:
        scores = b.add(scores, mask)
    if causal:
        scores = b.where(_earlier(b, *scores.shape[-2:]), scores, -math.inf)
    return scores


def _earlier(b: Functions, rows: int, columns: int) -> Array:
    """Which keys stand at a query's place or before it."""
    queries = b.expand_dims(b.arange(rows), axis=1)
    return b.greater_equal(queries, b.expand_dims(b.arange(columns), axis=0))


def _weights(b: Functions, scores: Array) -> tuple[Array, Array]:
    """Softmax and log-sum-exp of each row; of a row without any score, zeros."""
    if not scores.shape[-1]:
        lowest = b.full(scores.shape[:-1], -math.inf, dtype=b.dtype(scores))
        return scores, lowest
    peak = b.stop_gradient(b.max(scores, axis=-1, keepdims=True))
    peak = b.where(b.isfinite(peak), peak, 0.0)
    powers = b.exp(b.subtract(scores, peak))
    total = b.sum(powers, axis=-1, keepdims=True)
    safe = b.where(b.equal(total, 0), 1.0, total)
    lse = b.add(b.log(b.stop_gradient(safe)), peak)
    lse = b.where(b.equal(total, 0), -math.inf, lse)
    return b.divide(powers, safe), b.squeeze(lse, axis=-1)


def _scale(q: Array, scale: float | None) -> float:
    """What the scores are multiplied with: by default 1 / the root of the width."""
    return 1.0 / math.sqrt(q.shape[-1] or 1) if scale is None else scale
