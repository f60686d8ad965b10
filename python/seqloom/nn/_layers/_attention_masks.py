"""Masks of torch's attention, and attention that returns its weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import DTypeError, ShapeError
from seqloom.nn import functional
from seqloom.nn.functional._operands import as_operand
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


def join_masks(q: Tensor, k: Tensor, padding: Any, pairs: Any) -> Tensor | None:
    """Returns one mask of both: true where a query sees a key, or numbers to add.

    Torch's masks, which are given, are true where a key is ignored.
    """
    seen = None if padding is None else _convert_padding(k, padding)
    if pairs is None:
        return seen
    pairs = _convert_pairs(q, k, pairs)
    if pairs.dtype.kind == "b":
        pairs = apply("logical_not", pairs)
        return pairs if seen is None else apply("logical_and", pairs, seen)
    return pairs if seen is None else apply("where", seen, pairs, -math.inf)


def _convert_padding(k: Tensor, padding: Any) -> Tensor:
    """Returns true for keys that are no padding, ``(n, 1, 1, s)``."""
    padding = as_operand(k, padding)
    if padding.dtype.kind != "b":
        raise DTypeError(
            f"key_padding_mask must hold booleans, true at padding, got {padding.dtype}; "
            "for a mask that is 1 at real positions pass mask == 0"
        )
    if padding.shape != (k.shape[0], k.shape[2]):
        raise ShapeError(
            f"key_padding_mask must have shape {(k.shape[0], k.shape[2])}, one value for "
            f"each key, got {padding.shape}"
        )
    return apply("logical_not", padding)[:, None, None, :]


def _convert_pairs(q: Tensor, k: Tensor, pairs: Any) -> Tensor:
    """Returns a mask of queries and keys with the axes of batch and heads."""
    pairs = as_operand(q, pairs)
    rows, heads, length = q.shape[:3]
    sizes = (length, k.shape[2])
    if pairs.shape == (rows * heads, *sizes):
        pairs = pairs.reshape(rows, heads, *sizes)
    if pairs.shape not in {sizes, (rows, heads, *sizes), (rows, 1, *sizes)}:
        raise ShapeError(
            f"attn_mask must have shape {sizes}, {(rows * heads, *sizes)} or "
            f"{(rows, heads, *sizes)}, got {pairs.shape}"
        )
    return pairs if pairs.dtype.kind == "b" else pairs.astype(q.dtype)


def attend_with_weights(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    rate: float,
    rng: Key | None,
) -> tuple[Tensor, Tensor]:
    """Attends with weights that are returned; 0 for a query that sees no key."""
    scores = apply("matmul", q * q.shape[-1] ** -0.5, apply("matrix_transpose", k))
    seen = _find_seen(scores, mask, is_causal)
    if mask is not None and mask.dtype.kind != "b":
        scores = scores + mask
        seen = apply("logical_and", seen, scores > -math.inf)
    scores = apply("where", seen, scores, -math.inf)
    # The softmax of a row of -inf alone is NaN, and so is its gradient: such a row gets
    # scores of 0 first, and weights of 0 afterwards.
    some = apply("any", seen, axis=-1, keepdims=True)
    weights = apply("softmax", apply("where", some, scores, 0.0))
    weights = apply("where", apply("logical_and", seen, some), weights, 0.0)
    if rate:
        weights = functional.dropout(weights, rate, rng)
    return apply("matmul", weights, v), weights


def _find_seen(scores: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
    """Returns which queries see which keys, by boolean masks."""
    seen = apply("ones_like", scores, dtype="bool")
    if is_causal:
        seen = apply("tril", seen)
    if mask is not None and mask.dtype.kind == "b":
        seen = apply("logical_and", seen, mask)
    return seen
