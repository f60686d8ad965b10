"""Scaled dot-product attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import as_input
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _keep_all(args: keep.Args, out: Any, _needs: Any, options: keep.Options) -> Any:
    """The inputs, the output and its log-sum-exponents; never the weights."""
    mask, key = (*args[3:], None, None)[:2]
    return (*args[:3], mask, key, *out), options


def _attention(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    arrays, options = saved
    options = {"scale": None, "causal": False, "dropout": 0.0, **options}
    parts = [None, None, None]
    if any(needs[:3]):
        parts = b.attention_grad(grad, *arrays, **options)
    if needs[3:] and needs[3]:
        return *parts, _by_mask(b, arrays, grad, options)
    return parts


def _by_mask(b: ArrayFunctions, arrays: Any, grad: Array, options: keep.Options) -> Array:
    """The gradient by what is added to the scores."""
    q, k, v, mask, key, *_ = arrays
    scale = options["scale"] or 1 / math.sqrt(q.shape[-1])
    scores = b.multiply(b.matmul(q, b.matrix_transpose(k)), scale)
    if options["causal"]:
        scores = b.where(_ahead(b, q.shape[-2], k.shape[-2]), -math.inf, scores)
    weights = b.softmax(b.add(scores, mask))
    by_weights = b.matmul(grad, b.matrix_transpose(v))
    if options["dropout"] and key is not None:
        by_weights = b.dropout(by_weights, key, options["dropout"])
    by_scores = b.softmax_grad(by_weights, weights)
    return as_input(b, by_scores, keep.like(mask))


def _ahead(b: ArrayFunctions, rows: int, columns: int) -> Array:
    """True where a position would look ahead."""
    positions = b.expand_dims(b.arange(rows), axis=1)
    return b.greater(b.arange(columns), positions)


def _keep_varlen(args: keep.Args, out: Any, _needs: Any, options: keep.Options) -> Any:
    """The inputs, the output and its log-sum-exponents."""
    return (*args, *out), options


def _attention_varlen(
    b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs
) -> Parts:
    arrays, options = saved
    options = {"scale": None, "causal": False, **options}
    return b.attention_varlen_grad(grad, *arrays, **options)


RULES: dict[str, Rule] = {
    "attention": Rule(_keep_all, _attention),
    "attention_varlen": Rule(_keep_varlen, _attention_varlen),
}
