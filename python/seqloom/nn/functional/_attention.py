"""Attention."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import ATTENTION, require_same_dtype
from seqloom.nn.functional._geometry import number
from seqloom.nn.functional._operands import beside, on_host
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_AXES = 4  # n, h, l, d
_P = ParamSpec("_P")


def _with_former_names(function: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """The function, which takes its former keywords too."""
    plain: Callable[..., Tensor] = function

    @wraps(function)
    def call(*args: Any, **named: Any) -> Tensor:
        if "key" in named and (len(args) > 1 or "keys" in named):
            named["rng"] = named.pop("key")
        if "keys" in named:
            named["key"] = named.pop("keys")
        return plain(*args, **named)

    return call


@_with_former_names
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Any = None,
) -> Tensor:
    """A mean of values, weighted by how queries match keys (Vaswani et al. 2017).

    A key that is masked has the weight 0. Its finite values reach nothing, but 0 times NaN
    or infinity is NaN, as in torch: set padding to 0 where it may hold those, with
    ``where(real, x, 0.0)``, or pack the sequences for `attention_varlen`.

    The names are torch's. The former names still work: ``keys=`` for `key`, and ``key=``
    for `rng` where the keys are given by position or as ``keys=``.

    Args:
        query: ``(..., l, d)`` with at most two axes before.
        key: ``(..., s, d)``.
        value: ``(..., s, d)``.
        attn_mask: Broadcasts to ``(..., l, s)``: booleans, true where a query may look, or
            numbers that are added to the scores.
        dropout_p: The share of weights that is dropped.
        is_causal: Whether query i may look at keys up to i only.
        scale: What the scores are multiplied by; default ``d ** -0.5``.
        enable_gqa: Whether each head of `key` and `value` serves several heads of `query`,
            which follow one another.
        rng: A `sl.Key` that decides which weights are dropped.

    Returns:
        ``(..., l, d)``; 0 for a query that may look nowhere.

    Raises:
        ArgumentError: Weights are to be dropped and there is no `rng`, or the share is not
            in [0, 1).
        DTypeError: `query`, `key` and `value` are not of one type of floats.
        ShapeError: The arrays do not go together, or there are more than two axes before.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scaled_dot_product_attention(x, x, x, is_causal=True).numpy()[0].tolist()
        [1.0, 0.0]
    """
    if dropout_p:
        _require_key(dropout_p, rng)
    require_same_dtype("attention", ATTENTION, query, key, value)
    q, k, v = _wide(query), _wide(key), _wide(value)
    if enable_gqa:
        k, v = _repeated(q, k), _repeated(q, v)
    _require_equal(q, k, v)
    mask = None if attn_mask is None else _mask(q, k, attn_mask)
    out = apply(
        "attention",
        *(q, k, v, mask, rng if dropout_p else None),
        scale=scale,
        causal=is_causal,
        dropout=dropout_p,
    )[0]
    return out if query.ndim == _AXES else apply("reshape", out, out.shape[-query.ndim :])


def _repeated(query: Tensor, x: Tensor) -> Tensor:
    """Keys or values with as many heads as the query has."""
    heads, own = query.shape[1], x.shape[1]
    if not own or heads % own:
        raise ShapeError(
            f"attention: with enable_gqa the {heads} heads of query must be a multiple of "
            f"the heads of key and value, got {own}"
        )
    return x if heads == own else apply("repeat", x, heads // own, axis=1)


def _require_key(share: float, rng: Any) -> None:
    """Refuses a share of weights that cannot be dropped, and a missing key."""
    if not 0 <= share < 1:
        raise ArgumentError(f"dropout_p must lie in [0, 1), got {share}")
    if rng is None:
        raise ArgumentError("dropout_p needs a key: pass rng=sl.Key(seed, epoch, batch)")


def _require_equal(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuses queries, keys and values that do not go together."""
    rows, columns, values = q.shape, k.shape, v.shape
    if rows == columns == values:
        return
    if columns[:-1] != values[:-1] or rows[:-2] != columns[:-2] or rows[-1] != columns[-1]:
        raise ShapeError(
            "attention: expected query (n, h, l, d), keys (n, h, s, d) and value "
            f"(n, h, s, e), got {rows}, {columns} and {values}"
        )


def _mask(query: Tensor, keys: Tensor, mask: Any) -> Tensor:
    """A mask beside the query: booleans as they are, numbers in its type."""
    found = beside(query, mask)
    pairs = (*query.shape[:-1], keys.shape[-2])
    ends = zip(reversed(found.shape), reversed(pairs), strict=False)
    if found.ndim > _AXES or any(size not in (1, whole) for size, whole in ends):
        raise ShapeError(
            f"attention: attn_mask must broadcast to {pairs}, (n, h, l, s); its shape is "
            f"{found.shape}; a mask of keys (n, s) is mask[:, None, None, :]"
        )
    return found if found.dtype.kind == "b" else beside(query, found, query.dtype)


def _wide(x: Tensor) -> Tensor:
    """The axes of a batch and of heads put in where they are missing."""
    if x.ndim == _AXES:
        return x
    if not 1 < x.ndim < _AXES:
        raise ShapeError(f"attention takes two to four axes, this has shape {x.shape}")
    return apply("reshape", x, (*(1,) * (_AXES - x.ndim), *x.shape))


@_with_former_names
def attention_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Sequence[int] | Tensor,
    max_seqlen: int,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention within each of several sequences that stand end to end.

    Args:
        query: ``(total, h, d)``.
        key: ``(total, h, d)``; ``keys=`` is its former name.
        value: ``(total, h, d)``.
        cu_seqlens: Where each sequence begins, and the total, ``(n + 1,)``.
        max_seqlen: The length of the longest.
        is_causal: Whether a place may look at those up to itself only.
        scale: What the scores are multiplied by; default ``d ** -0.5``.

    Returns:
        ``(total, h, d)``.

    Raises:
        ArgumentError: `cu_seqlens` does not rise from 0 to the total in whole numbers, or
            a sequence is longer than `max_seqlen`.
        DTypeError: `query`, `key` and `value` are not of one type of floats.
        ShapeError: The arrays do not go together.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0]], [[2.0]], [[5.0]]])
        >>> attention_varlen(x, x, x, [0, 2, 3], 2).numpy()[2].item()
        5.0
    """
    _require_one_by_one(query, key, value)
    require_same_dtype("attention_varlen", ATTENTION, query, key, value)
    longest = number("max_seqlen", max_seqlen, 0)
    _require_rising(cu_seqlens, query.shape[0], longest)
    offsets = beside(query, cu_seqlens, "int32")
    options = {"max_seqlen": longest, "scale": scale, "causal": is_causal}
    return apply("attention_varlen", query, key, value, offsets, **options)[0]


def _require_one_by_one(query: Tensor, keys: Tensor, value: Tensor) -> None:
    """Refuses packed queries, keys and values that are not of the same places."""
    shape = query.shape
    if len(shape) != _AXES - 1 or keys.shape != shape or value.shape[:-1] != shape[:-1]:
        raise ShapeError(
            "attention_varlen: expected query and keys (total, h, d) and value "
            f"(total, h, e), got {shape}, {keys.shape} and {value.shape}"
        )


def _require_rising(cu_seqlens: Any, total: int, longest: int) -> None:
    """Refuses offsets that are none; those that lie on a device are believed."""
    offsets = on_host(cu_seqlens)
    if offsets is None:
        return
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or not _rises(offsets, total):
        raise ArgumentError(
            f"cu_seqlens: expected whole numbers that rise from 0 to the {total} places, "
            f"got {offsets.tolist()}"
        )
    widest = max(np.diff(offsets), default=0)
    if widest > longest:
        raise ArgumentError(f"max_seqlen is {longest}, but a sequence has {widest} places")


def _rises(offsets: NDArray[Any], total: int) -> bool:
    """Whether numbers begin at 0, never fall, and end at the total."""
    whole = bool(offsets.size) and offsets[0] == 0 and offsets[-1] == total
    return bool(whole and (offsets[1:] >= offsets[:-1]).all())
