"""Scaled dot-product attention (Vaswani et al., 2017).

A mask contains booleans (True: the query may attend to the key) or numbers that are added
to the scores. Masks are broadcast to ``(n, h, l, s)``. If a query may not attend to any
key, its result is 0. `key` is the random key of dropout. The kernels store the result ``(n,
h, l, d)`` in the memory order ``(n, l, h, d)``, so merging the heads needs no copy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._keys import key_to_words
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Pair,
    Triple,
    allocate,
    are_views,
    in_float32,
    to_contiguous,
    write_outs,
)
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    find_statistic_dtype,
    fit_grad,
    get_spec,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options
    from seqloom.tensor._families._keys import KeyLike


# Default implementations ---------------------------------------------------------------


def attention(
    b: Functions,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    key: KeyLike | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Array, Array]:
    """Return the result ``(n, h, l, d)`` and the log-sum-exp of scores ``(n, h, l)``."""
    scores = compute_scores(b, q, k, mask, scale, causal=causal)
    weights, lse = _compute_weights(b, scores)
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
    key: KeyLike | None,
    out: Array,
    lse: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``attention`` with respect to q, k and v."""
    del out, lse
    weights = _compute_weights(b, compute_scores(b, q, k, mask, scale, causal=causal))[0]
    drop = bool(dropout) and key is not None
    kept = b.dropout(weights, key, dropout) if drop else weights
    by_v = b.matmul(b.matrix_transpose(kept), grad)
    by_weights = b.matmul(grad, b.matrix_transpose(v))
    if drop:
        by_weights = b.dropout(by_weights, key, dropout)
    by_scores = b.softmax_grad(by_weights, weights, axis=-1)
    by_scores = b.multiply(by_scores, _find_score_factor(q, scale))
    by_q = b.matmul(by_scores, k)
    return by_q, b.matmul(b.matrix_transpose(by_scores), q), by_v


def compute_scores(
    b: Functions,
    q: Array,
    k: Array,
    mask: Array | None,
    scale: float | None,
    *,
    causal: bool,
) -> Array:
    """Return the score of each query and key; minus infinity where attention is masked."""
    q = b.multiply(q, _find_score_factor(q, scale))
    scores = b.matmul(q, b.matrix_transpose(k))
    if mask is not None and b.isdtype(b.dtype(mask), "bool"):
        scores = b.where(mask, scores, -math.inf)
    elif mask is not None:
        scores = b.add(scores, mask)
    if causal:
        scores = b.where(_make_causal_mask(b, *scores.shape[-2:]), scores, -math.inf)
    return scores


def _make_causal_mask(b: Functions, rows: int, columns: int) -> Array:
    """Return a mask that allows each query to attend to keys up to its own position."""
    queries = b.expand_dims(b.arange(rows), axis=1)
    return b.greater_equal(queries, b.expand_dims(b.arange(columns), axis=0))


def _compute_weights(b: Functions, scores: Array) -> tuple[Array, Array]:
    """Return the softmax and log-sum-exp of each row; zeros for a fully masked row."""
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


def _find_score_factor(q: Array, scale: float | None) -> float:
    """Return the factor of the scores; by default 1 / the square root of the width."""
    return 1.0 / math.sqrt(q.shape[-1] or 1) if scale is None else scale


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _save_all(args: Args, out: Array, _needs: Needs, options: Options) -> Any:
    """Save inputs, output, log-sum-exp and options, but not the attention weights."""
    mask, key = (*args[3:], None, None)[:2]
    return (*args[:3], mask, key, *out), options


@add_grad(GRAD_RULES, "attention", save=_save_all)
def _grad_attention(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
    arrays, options = saved
    options = {"scale": None, "causal": False, "dropout": 0.0, **options}
    parts = [None, None, None]
    if any(needs[:3]):
        parts = b.attention_grad(grad, *arrays, **options)
    if needs[3:] and needs[3]:
        return *parts, _grad_mask(b, arrays, grad, options)
    return parts


def _grad_mask(b: Functions, arrays: Any, grad: Array, options: Options) -> Array:
    """Return the gradient with respect to a mask that is added to the scores."""
    q, k, v, mask, key, *_ = arrays
    scale = options["scale"] or 1 / math.sqrt(q.shape[-1])
    scores = b.multiply(b.matmul(q, b.matrix_transpose(k)), scale)
    if options["causal"]:
        scores = b.where(_make_causal_mask(b, *scores.shape[-2:]), scores, -math.inf)
    weights = b.softmax(b.add(scores, mask))
    by_weights = b.matmul(grad, b.matrix_transpose(v))
    if options["dropout"] and key is not None:
        by_weights = b.dropout(by_weights, key, options["dropout"])
    by_scores = b.softmax_grad(by_weights, weights)
    return fit_grad(b, by_scores, keep.get_spec(mask))


# Shape rules ---------------------------------------------------------------------------


def infer_attention(call: Call) -> list[Spec]:
    """Return the output, and the log-sum-exp of each row of scores."""
    q, _, v = call.args[:3]
    rows = q.shape[:-1]
    if call.name == "attention_varlen":  # concatenated sequences: (total, heads, width)
        rows = (q.shape[1], q.shape[0])
    return [((*q.shape[:-1], v.shape[-1]), q.dtype), (rows, find_statistic_dtype(q))]


def infer_attention_grad(call: Call) -> list[Spec]:
    """Return the shapes and dtypes of queries, keys and values."""
    return [get_spec(value) for value in call.args[1:4]]


SHAPE_RULES: dict[str, ShapeRule] = {
    "attention": infer_attention,
    "attention_grad": infer_attention_grad,
}


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_attention(
    b: Functions,
    q: Floats,
    k: Floats,
    v: Floats,
    mask: Floats | None = None,
    key: KeyLike | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    out: Pair | None = None,
) -> Pair:
    """Return the result ``(n, h, l, d)`` and the log-sum-exp of scores ``(n, h, l)``."""
    q, k, v = to_unit_stride(q), to_unit_stride(k), to_unit_stride(v)
    mask = _broadcast_mask(mask, (*q.shape[:3], k.shape[2]), q.dtype)
    made = _allocate_heads((*q.shape[:3], v.shape[3]), q.dtype, out and out[0])
    lse = allocate_sums(q.shape[:3], q.dtype, out and out[1])
    rule = find_score_factor(q, scale), causal, _find_dropout(key, dropout)
    _native.attention(q, k, v, mask, None, *rule, made, lse, b.threads)
    return write_outs((made, lse), out)


@in_float32
def numpy_attention_grad(
    b: Functions,
    grad: Floats,
    q: Floats,
    k: Floats,
    v: Floats,
    mask: Floats | None,
    key: KeyLike | None,
    output: Floats,
    lse: Floats,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    out: Triple | None = None,
) -> Triple:
    """Return the gradients of ``attention`` with respect to q, k and v."""
    grad, q, k, v, output = (to_unit_stride(array) for array in (grad, q, k, v, output))
    mask = _broadcast_mask(mask, (*q.shape[:3], k.shape[2]), q.dtype)
    rule = find_score_factor(q, scale), causal, _find_dropout(key, dropout)
    given = grad, q, k, v, mask, None, output, to_contiguous(lse), *rule
    if out is None and are_views(q, k, v):
        return _compute_joined_grad(b, given, q)
    by_q, by_k, by_v = out or (None, None, None)
    made = (
        _allocate_heads(q.shape, q.dtype, by_q),
        _allocate_heads(k.shape, q.dtype, by_k),
        _allocate_heads(v.shape, q.dtype, by_v),
    )
    _native.attention_grad(*given, *made, b.threads)
    return write_outs(made, out)


def _compute_joined_grad(b: Functions, given: tuple[Any, ...], q: Floats) -> Triple:
    """Return the gradients as views of one array, if q, k and v are views of one array."""
    n, h, rows, d = q.shape
    made = allocate((n, rows, 3, h, d), q.dtype)
    joined = made.reshape((n, rows, 3 * h, d)).swapaxes(1, 2)
    kernel: Any = _native.attention_grad
    kernel(*given, joined, None, None, b.threads)
    by_q, by_k, by_v = made.transpose(2, 0, 3, 1, 4)
    return by_q, by_k, by_v


def to_unit_stride(x: Floats) -> Floats:
    """Return the array in a form that the kernel reads: contiguous along the last axis."""
    steps = x.strides
    if (steps[-1] == x.itemsize or x.shape[-1] <= 1) and min(steps) >= 0:
        return x
    return np.ascontiguousarray(x)


def _allocate_heads(shape: Sequence[int], dtype: DTypeLike, out: Floats | None) -> Floats:
    """Return `out` or a new array ``(n, h, l, d)``, in memory order ``(n, l, h, d)``."""
    if out is not None and (
        out.flags.c_contiguous or out.swapaxes(1, 2).flags.c_contiguous
    ):
        return out
    n, h, rows, d = shape
    return allocate((n, rows, h, d), dtype).swapaxes(1, 2)


def allocate_sums(shape: Sequence[int], dtype: DTypeLike, out: Floats | None) -> Floats:
    """Return an array for the log-sum-exp of each row of scores."""
    return out if out is not None and out.flags.c_contiguous else np.empty(shape, dtype)


def _broadcast_mask(
    mask: Floats | None, shape: Sequence[int], dtype: DTypeLike
) -> Floats | None:
    """Return a mask broadcast to all pairs of queries and keys, without a copy."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != bool:
        mask = mask.astype(dtype, copy=False)
    backwards = any(step < 0 for step in mask.strides)
    if backwards or (mask.ndim and mask.strides[-1] != mask.itemsize):
        mask = np.ascontiguousarray(mask)
    return np.broadcast_to(mask, shape)


def find_score_factor(q: Floats, scale: float | None) -> float:
    """Return the factor of the scores; by default 1 / the square root of the width."""
    return float(q.shape[-1] or 1) ** -0.5 if scale is None else float(scale)


def _find_dropout(key: KeyLike | None, rate: float) -> tuple[int, int, float] | None:
    """Return the two integers of the key and the dropout rate; None without dropout."""
    return (*key_to_words(key), rate) if rate and key is not None else None
