"""Linear layers over rows, each row by itself, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import (
    make_out,
    split_heads,
    to_contiguous,
    to_rows,
    write_to,
)
from seqloom.tensor.backends._numpy._product import is_ours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


def linear_by_row(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    residual: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """``x @ weight.T + bias + residual``, where `linear` sums by the number of rows."""
    if not _suits_rust(b, x, weight, bias, residual):
        return write_to(Backend.linear_by_row(b, x, weight, bias, residual), out)
    made = make_out(out, (*x.shape[:-1], weight.shape[0]), x.dtype)
    into, added = to_rows(made), None if residual is None else to_rows(residual)
    _native.linear_by_row(to_rows(x), _layer(weight, bias), added, into, b.threads)
    return write_to(made, out)


def rotary_linear(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    cosine: Floats,
    sine: Floats,
    *,
    heads: int,
) -> tuple[Floats, Floats, Floats]:
    """Queries, keys and values as parts of one array, the first two turned by angles."""
    if not _suits_rust(b, x, weight, bias, cosine, sine):
        return Backend.rotary_linear(b, x, weight, bias, cosine, sine, heads=heads)
    made = fresh((*x.shape[:-1], weight.shape[0]), x.dtype)
    angles = to_rows(cosine), to_rows(sine)
    layer = _layer(weight, bias)
    _native.rotary_linear(to_rows(x), layer, angles, 2 * heads, to_rows(made), b.threads)
    return split_heads(made, heads)


def feed_forward(
    b: Backend,
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
) -> Floats:
    """``x`` plus its layer norm after a linear layer, gelu and another linear layer."""
    weights = norm_weight, norm_bias, weight_in, bias_in, weight_out, bias_out
    if not _suits_rust(b, x, *weights):
        return write_to(Backend.feed_forward(b, x, *weights, eps=eps), out)
    made = make_out(out, x.shape, x.dtype)
    norm = to_contiguous(norm_weight), to_contiguous(norm_bias), eps
    layers = _layer(weight_in, bias_in), _layer(weight_out, bias_out)
    _native.feed_forward(to_rows(x), norm, *layers, to_rows(made), b.threads)
    return write_to(made, out)


def _suits_rust(b: Any, *arrays: Floats | None) -> bool:
    """Whether all are of one type that Rust knows, none empty, and it multiplies here."""
    given = [array for array in arrays if array is not None]
    dtype = given[0].dtype
    fits = all(array.dtype == dtype and array.size for array in given)
    return fits and dtype.char in "fd" and is_ours(b)


def _layer(weight: Floats, bias: Floats | None) -> tuple[Floats, Floats | None]:
    """A layer's arrays without gaps."""
    return to_contiguous(weight), None if bias is None else np.ascontiguousarray(bias)
