"""Attention."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import ATTENTION, require_same_dtype
from seqloom.nn.functional._geometry import as_size
from seqloom.nn.functional._operands import as_operand, read_host_array
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_AXES = 4  # n, h, l, d
_P = ParamSpec("_P")


def _accept_former_names(function: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """Makes a function accept its former argument names too."""
    plain: Callable[..., Tensor] = function

    @wraps(function)
    def call(*args: Any, **options: Any) -> Tensor:
        if "key" in options and (len(args) > 1 or "keys" in options):
            options["rng"] = options.pop("key")
        if "keys" in options:
            options["key"] = options.pop("keys")
        return plain(*args, **options)

    return call


@_accept_former_names
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    rng: Any = None,
) -> Tensor:
    """Averages values by the similarity of queries and keys (Vaswani et al. 2017).

    A masked key has the weight 0, so its finite values do not matter. But 0 times NaN or
    infinity is NaN, as in torch: if padding may hold those, set it to 0 with
    ``where(real, x, 0.0)``, or pack the sequences for `attention_varlen`.

    The argument names are torch's. The former names still work: ``keys=`` for `key`, and
    ``key=`` for `rng` if the keys are passed by position or as ``keys=``.

    Args:
        query: ``(..., l, d)``, with at most two axes before these.
        key: ``(..., s, d)``.
        value: ``(..., s, d)``.
        attn_mask: Array that broadcasts to ``(..., l, s)``: booleans, true where a query
            attends to a key, or numbers to add to the scores.
        dropout_p: Probability of dropping a weight, in [0, 1).
        is_causal: Whether query i attends only to the keys up to i.
        scale: Factor of the scores; default ``d ** -0.5``.
        enable_gqa: Whether consecutive heads of `query` share one head of `key` and
            `value` (grouped-query attention).
        rng: A `sl.Key` for dropout.

    Returns:
        ``(..., l, d)``; 0 for a query whose keys are all masked.

    Raises:
        ArgumentError: `dropout_p` is not in [0, 1), or `rng` is missing with dropout.
        DTypeError: `query`, `key` and `value` do not have the same float type.
        ShapeError: The shapes do not fit together, or there are more than four axes.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> scaled_dot_product_attention(x, x, x, is_causal=True).numpy()[0].tolist()
        [1.0, 0.0]
    """
    if dropout_p:
        _require_key(dropout_p, rng)
    require_same_dtype("attention", ATTENTION, query, key, value)
    q, k, v = _add_axes(query), _add_axes(key), _add_axes(value)
    if enable_gqa:
        k, v = _repeat_heads(q, k), _repeat_heads(q, v)
    _require_equal(q, k, v)
    mask = None if attn_mask is None else _convert_mask(q, k, attn_mask)
    out = apply(
        "attention",
        *(q, k, v, mask, rng if dropout_p else None),
        scale=scale,
        causal=is_causal,
        dropout=dropout_p,
    )[0]
    return out if query.ndim == _AXES else apply("reshape", out, out.shape[-query.ndim :])


def _repeat_heads(query: Tensor, x: Tensor) -> Tensor:
    """Repeats the heads of keys or values to the number of the query's."""
    heads, own = query.shape[1], x.shape[1]
    if not own or heads % own:
        raise ShapeError(
            f"attention: with enable_gqa the number of heads of query, {heads}, must be a "
            f"multiple of that of key and value, {own}"
        )
    return x if heads == own else apply("repeat", x, heads // own, axis=1)


def _require_key(share: float, rng: Any) -> None:
    """Refuses a probability out of range, and a missing key."""
    if not 0 <= share < 1:
        raise ArgumentError(f"dropout_p must be in [0, 1), got {share}")
    if rng is None:
        raise ArgumentError(
            "attention with dropout_p needs a key: pass rng=sl.Key(seed, epoch, batch)"
        )


def _require_equal(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuses queries, keys and values whose shapes do not fit together."""
    rows, columns, values = q.shape, k.shape, v.shape
    if rows == columns == values:
        return
    if columns[:-1] != values[:-1] or rows[:-2] != columns[:-2] or rows[-1] != columns[-1]:
        raise ShapeError(
            "attention: expected query (n, h, l, d), keys (n, h, s, d) and value "
            f"(n, h, s, e), got {rows}, {columns} and {values}"
        )


def _convert_mask(query: Tensor, keys: Tensor, mask: object) -> Tensor:
    """Returns a mask of booleans, or of numbers in the dtype of the query."""
    found = as_operand(query, mask)
    pairs = (*query.shape[:-1], keys.shape[-2])
    ends = zip(reversed(found.shape), reversed(pairs), strict=False)
    if found.ndim > _AXES or any(size not in (1, whole) for size, whole in ends):
        raise ShapeError(
            f"attention: attn_mask must broadcast to {pairs}, (n, h, l, s), got shape "
            f"{found.shape}; pass a mask of keys (n, s) as mask[:, None, None, :]"
        )
    return found if found.dtype.kind == "b" else as_operand(query, found, query.dtype)


def _add_axes(x: Tensor) -> Tensor:
    """Adds the axes of the batch and of the heads if they are missing."""
    if x.ndim == _AXES:
        return x
    if not 1 < x.ndim < _AXES:
        raise ShapeError(f"attention: expected arrays of 2 to 4 axes, got shape {x.shape}")
    return apply("reshape", x, (*(1,) * (_AXES - x.ndim), *x.shape))


@_accept_former_names
def attention_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seqlens: Sequence[int] | Tensor,
    max_seqlen: int,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Computes attention within each of several concatenated sequences.

    Numbers of two sequences never meet: whatever a sequence holds, NaN included, the others
    and their gradients keep their bits. On NumPy a sequence gives the bits that it gives
    alone, elsewhere the same within 1e-6 in float32. Half precision is computed in float32
    and rounded at the end, but on a CUDA device, where flash attention rounds weights too
    (relative errors of about 0.005 in float16 and 0.04 in bfloat16).

    On a CUDA device nothing waits. Half precision takes ``torch.nn.attention.varlen``
    (torch 2.12 or newer, Ampere or newer), float32 and older cards the memory-efficient
    kernel. With ``torch.use_deterministic_algorithms(True)`` gradients keep their bits too.

    Args:
        query: ``(total, h, d)``.
        key: ``(total, h, d)``; ``keys=`` is its former name.
        value: ``(total, h, d)``.
        cu_seqlens: Start of each sequence, and the total length, ``(n + 1,)``.
        max_seqlen: Length of the longest sequence.
        is_causal: Whether a position attends only to those up to itself.
        scale: Factor of the scores; default ``d ** -0.5``.

    Returns:
        ``(total, h, d)``.

    Raises:
        ArgumentError: `cu_seqlens` are not increasing integers from 0 to the total, or a
            sequence is longer than `max_seqlen`.
        DTypeError: `query`, `key` and `value` do not have the same float type.
        ShapeError: The shapes do not fit together.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0]], [[2.0]], [[5.0]]])
        >>> attention_varlen(x, x, x, [0, 2, 3], 2).numpy()[2].item()
        5.0
    """
    _require_packed(query, key, value)
    require_same_dtype("attention_varlen", ATTENTION, query, key, value)
    longest = as_size("max_seqlen", max_seqlen, 0)
    require_rising(cu_seqlens, query.shape[0], longest)
    offsets = as_operand(query, cu_seqlens, "int32")
    options = {"max_seqlen": longest, "scale": scale, "causal": is_causal}
    return apply("attention_varlen", query, key, value, offsets, **options)[0]


def _require_packed(query: Tensor, keys: Tensor, value: Tensor) -> None:
    """Refuses packed queries, keys and values of different lengths."""
    shape = query.shape
    if len(shape) != _AXES - 1 or keys.shape != shape or value.shape[:-1] != shape[:-1]:
        raise ShapeError(
            "attention_varlen: expected query and keys (total, h, d) and value "
            f"(total, h, e), got {shape}, {keys.shape} and {value.shape}"
        )


def require_rising(cu_seqlens: object, total: int, longest: int) -> None:
    """Refuses wrong offsets, unless they are on a device."""
    offsets = read_host_array(cu_seqlens)
    if offsets is None:
        return
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or not _rises(offsets, total):
        raise ArgumentError(
            f"cu_seqlens must be increasing integers from 0 to the total length {total}, "
            f"got {offsets.tolist()}"
        )
    widest = max(np.diff(offsets), default=0)
    if widest > longest:
        raise ArgumentError(
            f"max_seqlen must be at least {widest}, the longest sequence, got {longest}"
        )


def _rises(offsets: NDArray[Any], total: int) -> bool:
    """Returns True if numbers start at 0, never decrease, and end at the total."""
    whole = bool(offsets.size) and offsets[0] == 0 and offsets[-1] == total
    return bool(whole and (offsets[1:] >= offsets[:-1]).all())
