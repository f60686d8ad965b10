"""What is computed in bfloat16 itself, on a processor that has instructions for it.

A function here stands for the one of its name in float32; it answers NotImplemented where
that has to do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor.backends._numpy._attention import (
    by_head,
    find_bounds,
    scale_of,
    with_unit_stride,
)
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import (
    split_heads,
    to_contiguous,
    to_rows,
    write_to,
)
from seqloom.tensor.backends._numpy._narrow import BFLOAT16

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Bits = NDArray[np.uint16]
    Pair = tuple[Floats, Floats]
    Triple = tuple[Floats, Floats, Floats]


def linear_by_row(
    b: Any,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    residual: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Any:
    """``x @ weight.T + bias + residual``."""
    if not _fits(x, weight, bias, residual):
        return NotImplemented
    made = fresh((*x.shape[:-1], weight.shape[0]), BFLOAT16)
    layer, added = _layer(weight, bias), None if residual is None else _rows(residual)
    _native.linear_by_row_bfloat16(_rows(x), layer, added, _rows(made), b.threads)
    return write_to(made, out)


def rotary_linear(
    b: Any,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    cosine: Floats,
    sine: Floats,
    *,
    heads: int,
) -> Triple | Any:
    """Queries, keys and values, the first two turned in float32."""
    if not _fits(x, weight, bias) or not cosine.dtype == sine.dtype == np.float32:
        return NotImplemented
    made = fresh((*x.shape[:-1], weight.shape[0]), BFLOAT16)
    angles, layer = (to_rows(cosine), to_rows(sine)), _layer(weight, bias)
    given = _rows(x), layer, angles, 2 * heads
    _native.rotary_linear_bfloat16(*given, _rows(made), b.threads)
    return split_heads(made, heads)


def feed_forward(
    b: Any,
    x: Floats,
    norm_weight: Floats,
    norm_bias: Floats,
    weight_in: Floats,
    bias_in: Floats | None,
    weight_out: Floats,
    bias_out: Floats | None,
    *,
    eps: float,
    out: Floats | None = None,
) -> Any:
    """``x`` plus its layer norm after a linear layer, gelu and another linear layer."""
    weights = norm_weight, norm_bias, weight_in, bias_in, weight_out, bias_out
    if not _fits(x, *weights) or weight_out.shape[1] % 2:
        return NotImplemented
    made = fresh(x.shape, BFLOAT16)
    norm = _bits(norm_weight), _bits(norm_bias), eps
    layers = _layer(weight_in, bias_in), _layer(weight_out, bias_out)
    _native.feed_forward_bfloat16(_rows(x), norm, *layers, _rows(made), b.threads)
    return write_to(made, out)


def layer_norm(
    b: Any,
    x: Floats,
    weight: Floats | None,
    bias: Floats | None,
    *,
    eps: float,
    out: Triple | None = None,
) -> Any:
    """The result, and the mean and 1 / deviation of each row, all rounded."""
    if weight is None or bias is None or not _fits(x, weight, bias):
        return NotImplemented
    made, statistics = (
        fresh(x.shape, BFLOAT16),
        np.empty((2, x.size // x.shape[-1]), "float32"),
    )
    norm, rows = (_bits(weight), _bits(bias), eps), (_rows(x), _rows(made))
    into = rows[1], statistics[0], statistics[1]
    _native.layer_norm_bfloat16(rows[0], norm, *into, b.threads)
    mean, rstd = statistics.reshape((2, *x.shape[:-1])).astype(BFLOAT16)
    if out is None:
        return made, mean, rstd
    return write_to(made, out[0]), write_to(mean, out[1]), write_to(rstd, out[2])


def attention_varlen(
    b: Any,
    q: Floats,
    k: Floats,
    v: Floats,
    cu_seqlens: NDArray[Any],
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
    out: Pair | None = None,
) -> Any:
    """Attention within each of several sequences, and the log-sum-exp in float32."""
    factor = scale_of(q, scale)
    if causal or factor <= 0 or not q.shape == k.shape == v.shape or not _fits(q, k, v):
        return NotImplemented
    bounds = find_bounds(cu_seqlens, max_seqlen)
    queries, keys, values = (
        with_unit_stride(by_head(x)).view(np.uint16) for x in (q, k, v)
    )
    made, sums = fresh(q.shape, BFLOAT16), np.empty(q.shape[:2], np.float32)
    into = made.view(np.uint16), sums
    _native.attention_varlen_bfloat16(
        (queries, keys, values), bounds, factor, *into, b.threads
    )
    if out is None:
        return made, sums.T
    return write_to(made, out[0]), write_to(sums.T, out[1])


def _fits(x: Floats, *others: Floats | None) -> bool:
    """Whether all are of bfloat16, none empty, rows are of pairs, and the processor can."""
    given = [x, *(other for other in others if other is not None)]
    fits = all(array.dtype == BFLOAT16 and array.size for array in given)
    return fits and x.shape[-1] % 2 == 0 and _native.has_bfloat16()


def _bits(x: Floats) -> Bits:
    """The numbers as the kernels take them: 16 bits each, without gaps."""
    return to_contiguous(x).view(np.uint16)


def _rows(x: Floats) -> Bits:
    """All but the last axis as one."""
    return to_rows(x).view(np.uint16)


def _layer(weight: Floats, bias: Floats | None) -> tuple[Bits, Bits | None]:
    """A layer's arrays."""
    return _bits(weight), None if bias is None else _bits(bias)
