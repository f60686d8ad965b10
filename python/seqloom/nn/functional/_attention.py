"""Attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._operands import beside
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence

_AXES = 4  # n, h, l, d


def scaled_dot_product_attention(
    query: Tensor,
    keys: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    key: Any = None,
) -> Tensor:
    """A mean of values, weighted by how queries match keys (Vaswani et al. 2017).

    Args:
        query: ``(..., l, d)`` with at most two axes before.
        keys: ``(..., s, d)``.
        value: ``(..., s, d)``.
        attn_mask: Broadcasts to ``(..., l, s)``: booleans, true where a query may look, or
            numbers that are added to the scores.
        dropout_p: The share of weights that is dropped.
        is_causal: Whether query i may look at keys up to i only.
        scale: What the scores are multiplied by; default ``d ** -0.5``.
        key: Decides which weights are dropped.

    Returns:
        ``(..., l, d)``; 0 for a query that may look nowhere.

    Raises:
        ArgumentError: Weights are to be dropped and there is no key.
        ShapeError: There are more than two axes before.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scaled_dot_product_attention(x, x, x, is_causal=True).numpy()[0].tolist()
        [1.0, 0.0]
    """
    if dropout_p and key is None:
        raise ArgumentError("dropout_p needs a key: pass key=sl.Key(seed, epoch, batch)")
    mask = None if attn_mask is None else _mask(query, attn_mask)
    out = apply(
        "attention",
        *(_wide(each) for each in (query, keys, value)),
        *(mask, key if dropout_p else None),
        scale=scale,
        causal=is_causal,
        dropout=dropout_p,
    )[0]
    return out if query.ndim == _AXES else apply("reshape", out, out.shape[-query.ndim :])


def _mask(query: Tensor, mask: Any) -> Tensor:
    """A mask beside the query: booleans as they are, numbers in its type."""
    found = beside(query, mask)
    return found if found.dtype.kind == "b" else beside(query, found, query.dtype)


def _wide(x: Tensor) -> Tensor:
    """The axes of a batch and of heads put in where they are missing."""
    if x.ndim == _AXES:
        return x
    if x.ndim > _AXES:
        raise ShapeError(f"attention takes at most {_AXES} axes, this has shape {x.shape}")
    return apply("reshape", x, (*(1,) * (_AXES - x.ndim), *x.shape))


def attention_varlen(
    query: Tensor,
    keys: Tensor,
    value: Tensor,
    cu_seqlens: Sequence[int] | Tensor,
    max_seqlen: int,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention within each of several sequences that stand end to end.

    Args:
        query: ``(total, h, d)``.
        keys: ``(total, h, d)``.
        value: ``(total, h, d)``.
        cu_seqlens: Where each sequence begins, and the total, ``(n + 1,)``.
        max_seqlen: The length of the longest.
        is_causal: Whether a place may look at those up to itself only.
        scale: What the scores are multiplied by; default ``d ** -0.5``.

    Returns:
        ``(total, h, d)``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0]], [[2.0]], [[5.0]]])
        >>> attention_varlen(x, x, x, [0, 2, 3], 2).numpy()[2].item()
        5.0
    """
    offsets = beside(query, cu_seqlens, "int32")
    options = {"max_seqlen": max_seqlen, "scale": scale, "causal": is_causal}
    return apply("attention_varlen", query, keys, value, offsets, **options)[0]
