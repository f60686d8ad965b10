"""Attention: a mean of values, weighted by how queries match keys."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._activation import Activations
from seqloom.tensor._defaults._random import Randomness

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class Attention(Activations, Randomness):
    """Scaled dot-product attention (Vaswani et al. 2017).

    A mask is of booleans (true: may look) or is added to the scores; both are broadcast
    to ``(n, h, l, s)``. A query that may look nowhere gives 0. ``key`` decides which
    weights are dropped.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> x = B.ones((1, 1, 2, 4))
        >>> B.attention(x, x, x)[0].shape
        (1, 1, 2, 4)
    """

    def attention(
        self,
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
        scores = self._scores(q, k, mask, scale, causal=causal)
        weights, lse = self._weights(scores)
        if dropout and key is not None:
            weights = self.dropout(weights, key, dropout)
        return self.matmul(weights, v), lse

    def attention_grad(
        self,
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
        weights = self._weights(self._scores(q, k, mask, scale, causal=causal))[0]
        drop = bool(dropout) and key is not None
        kept = self.dropout(weights, key, dropout) if drop else weights
        by_v = self.matmul(self.matrix_transpose(kept), grad)
        by_weights = self.matmul(grad, self.matrix_transpose(v))
        if drop:
            by_weights = self.dropout(by_weights, key, dropout)
        by_scores = self.softmax_grad(by_weights, weights, axis=-1)
        by_scores = self.multiply(by_scores, _scale(q, scale))
        by_q = self.matmul(by_scores, k)
        return by_q, self.matmul(self.matrix_transpose(by_scores), q), by_v

    def _scores(
        self, q: Array, k: Array, mask: Array | None, scale: float | None, *, causal: bool
    ) -> Array:
        """How each query matches each key; minus infinity where it may not look."""
        q = self.multiply(q, _scale(q, scale))
        scores = self.matmul(q, self.matrix_transpose(k))
        if mask is not None and self.isdtype(self.dtype(mask), "bool"):
            scores = self.where(mask, scores, -math.inf)
        elif mask is not None:
            scores = self.add(scores, mask)
        if causal:
            scores = self.where(self._earlier(*scores.shape[-2:]), scores, -math.inf)
        return scores

    def _earlier(self, rows: int, columns: int) -> Array:
        """Which keys stand at a query's place or before it."""
        queries = self.expand_dims(self.arange(rows), axis=1)
        return self.greater_equal(queries, self.expand_dims(self.arange(columns), axis=0))

    def _weights(self, scores: Array) -> tuple[Array, Array]:
        """Softmax and log-sum-exp of each row; of a row without any score, zeros."""
        if not scores.shape[-1]:
            lowest = self.full(scores.shape[:-1], -math.inf, dtype=self.dtype(scores))
            return scores, lowest
        peak = self.stop_gradient(self.max(scores, axis=-1, keepdims=True))
        peak = self.where(self.isfinite(peak), peak, 0.0)
        powers = self.exp(self.subtract(scores, peak))
        total = self.sum(powers, axis=-1, keepdims=True)
        safe = self.where(self.equal(total, 0), 1.0, total)
        lse = self.add(self.log(self.stop_gradient(safe)), peak)
        lse = self.where(self.equal(total, 0), -math.inf, lse)
        return self.divide(powers, safe), self.squeeze(lse, axis=-1)


def _scale(q: Array, scale: float | None) -> float:
    """What the scores are multiplied with: by default 1 / the root of the width."""
    return 1.0 / math.sqrt(q.shape[-1] or 1) if scale is None else scale
