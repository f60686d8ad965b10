"""Attention, as fused kernels.

Results are ``(n, h, l, d)`` in the memory order ``(n, l, h, d)``, so that joining the
heads again copies nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import to_contiguous, write_to
from seqloom.tensor.backends._numpy._joining import parts_of_one
from seqloom.tensor.backends._numpy._random import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]
    Pair = tuple[Floats, Floats]
    Triple = tuple[Floats, Floats, Floats]


def attention(
    b: Backend,
    q: Floats,
    k: Floats,
    v: Floats,
    mask: Floats | None = None,
    key: Any = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    out: Pair | None = None,
) -> Pair:
    """The result ``(n, h, l, d)`` and the log-sum-exp of the scores ``(n, h, l)``."""
    q, k, v = _with_unit_stride(q), _with_unit_stride(k), _with_unit_stride(v)
    mask = _broadcast_mask(mask, (*q.shape[:3], k.shape[2]), q.dtype)
    made = _heads((*q.shape[:3], v.shape[3]), q.dtype, out and out[0])
    lse = _sums(q.shape[:3], q.dtype, out and out[1])
    rule = _scale_of(q, scale), causal, _dropping(key, dropout)
    _native.attention(q, k, v, mask, None, *rule, made, lse, b.threads)
    return (made, lse) if out is None else (write_to(made, out[0]), write_to(lse, out[1]))


def attention_grad(
    b: Backend,
    grad: Floats,
    q: Floats,
    k: Floats,
    v: Floats,
    mask: Floats | None,
    key: Any,
    output: Floats,
    lse: Floats,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    out: Triple | None = None,
) -> Triple:
    """The derivatives of ``attention`` by q, k and v."""
    grad, q, k, v, output = (_with_unit_stride(array) for array in (grad, q, k, v, output))
    mask = _broadcast_mask(mask, (*q.shape[:3], k.shape[2]), q.dtype)
    rule = _scale_of(q, scale), causal, _dropping(key, dropout)
    given = grad, q, k, v, mask, None, output, to_contiguous(lse), *rule
    if out is None and parts_of_one(q, k, v):
        return _compute_joined_grad(b, given, q)
    made = _three(q, k, v, out)
    _native.attention_grad(*given, *made, b.threads)
    return made if out is None else _each_placed(made, out)


def _compute_joined_grad(b: Backend, given: tuple[Any, ...], q: Floats) -> Triple:
    """The derivatives as parts of one array, as q, k and v are."""
    n, h, rows, d = q.shape
    made = fresh((n, rows, 3, h, d), q.dtype)
    joined = made.reshape((n, rows, 3 * h, d)).swapaxes(1, 2)
    kernel: Any = _native.attention_grad
    kernel(*given, joined, None, None, b.threads)
    by_q, by_k, by_v = made.transpose(2, 0, 3, 1, 4)
    return by_q, by_k, by_v


def attention_varlen(
    b: Backend,
    q: Floats,
    k: Floats,
    v: Floats,
    cu_seqlens: NDArray[Any],
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
    out: Pair | None = None,
) -> Pair:
    """Attention within each of several sequences that lie end to end.

    Returns:
        The result ``(total, h, d)`` and the log-sum-exp ``(h, total)``.
    """
    bounds = _find_bounds(cu_seqlens, max_seqlen)
    q, k, v = (_with_unit_stride(_by_head(array)) for array in (q, k, v))
    made = fresh((q.shape[2], q.shape[1], v.shape[3]), q.dtype)
    lse = _sums(q.shape[1:3], q.dtype, out and out[1])
    rule = _scale_of(q, scale), causal, None
    _native.attention(q, k, v, None, bounds, *rule, _by_head(made), lse, b.threads)
    return (made, lse) if out is None else (write_to(made, out[0]), write_to(lse, out[1]))


def attention_varlen_grad(
    b: Backend,
    grad: Floats,
    q: Floats,
    k: Floats,
    v: Floats,
    cu_seqlens: NDArray[Any],
    output: Floats,
    lse: Floats,
    /,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
    out: Triple | None = None,
) -> Triple:
    """The derivatives of ``attention_varlen`` by q, k and v."""
    bounds = _find_bounds(cu_seqlens, max_seqlen)
    made = (
        fresh(q.shape, q.dtype),
        fresh(k.shape, q.dtype),
        fresh(v.shape, q.dtype),
    )
    arrays: Any = [_with_unit_stride(_by_head(array)) for array in (grad, q, k, v)]
    result = _with_unit_stride(_by_head(output)), to_contiguous(lse)
    rule = _scale_of(q, scale), causal, None
    into: Any = [_by_head(array) for array in made]
    kernel: Any = _native.attention_grad
    kernel(*arrays, None, bounds, *result, *rule, *into, b.threads)
    return made if out is None else _each_placed(made, out)


def _with_unit_stride(x: Floats) -> Floats:
    """The array as the kernel reads it: numbers of the last axis side by side."""
    steps = x.strides
    if (steps[-1] == x.itemsize or x.shape[-1] <= 1) and min(steps) >= 0:
        return x
    return np.ascontiguousarray(x)


def _heads(shape: Sequence[int], dtype: Any, out: Floats | None) -> Floats:
    """Room for ``(n, h, l, d)``, in the order ``(n, l, h, d)`` unless it is given."""
    if out is not None and (
        out.flags.c_contiguous or out.swapaxes(1, 2).flags.c_contiguous
    ):
        return out
    n, h, rows, d = shape
    return fresh((n, rows, h, d), dtype).swapaxes(1, 2)


def _sums(shape: Sequence[int], dtype: Any, out: Floats | None) -> Floats:
    """Room for the log-sum-exps."""
    return out if out is not None and out.flags.c_contiguous else np.empty(shape, dtype)


def _three(q: Floats, k: Floats, v: Floats, out: Triple | None) -> Triple:
    """Room for the derivatives by queries, keys and values."""
    by_q, by_k, by_v = out or (None, None, None)
    return (
        _heads(q.shape, q.dtype, by_q),
        _heads(k.shape, q.dtype, by_k),
        _heads(v.shape, q.dtype, by_v),
    )


def _each_placed(made: Triple, out: Triple) -> Triple:
    """What a kernel made, in the given arrays."""
    return write_to(made[0], out[0]), write_to(made[1], out[1]), write_to(made[2], out[2])


def _broadcast_mask(mask: Any, shape: Sequence[int], dtype: Any) -> Floats | None:
    """A mask over all pairs that repeats its numbers in place."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != bool:
        mask = mask.astype(dtype, copy=False)
    backwards = any(step < 0 for step in mask.strides)
    if backwards or (mask.ndim and mask.strides[-1] != mask.itemsize):
        mask = np.ascontiguousarray(mask)
    return np.broadcast_to(mask, shape)


def _scale_of(q: Floats, scale: float | None) -> float:
    """What the scores are multiplied by: 1 / the root of the width, unless it is given."""
    return float(q.shape[-1] or 1) ** -0.5 if scale is None else float(scale)


def _dropping(key: Any, rate: float) -> tuple[int, int, float] | None:
    """The key's words and the rate, where weights are dropped at all."""
    return (*words_of(key), rate) if rate and key is not None else None


def _find_bounds(cu_seqlens: NDArray[Any], longest: int) -> list[int]:
    """Where sequences begin and end, none of them longer than it was said."""
    widest = int(max(np.diff(cu_seqlens), default=0))
    if widest > longest:
        raise ArgumentError(
            f"max_seqlen is {longest}, but a sequence has {widest} positions"
        )
    return cu_seqlens.tolist()


def _by_head(x: Floats) -> Floats:
    """``(total, h, d)`` as ``(1, h, total, d)``."""
    return x.swapaxes(0, 1)[None]
