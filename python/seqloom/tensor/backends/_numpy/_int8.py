"""Linear layers of 8-bit weights, as kernels that round the rows of the input too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._filling import (
    make_out,
    split_heads,
    to_contiguous,
    to_rows,
    write_to,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Whole = NDArray[np.int8]


def linear_int8(
    b: Backend,
    x: Floats,
    weight: Whole,
    scale: Floats,
    factor: Floats,
    bias: Floats | None = None,
    residual: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """``(x * factor) @ (weight * scale).T + bias + residual``, each row by itself."""
    layer = weight, scale, factor, bias
    if not _suits_rust(x, weight, scale, factor, bias, residual):
        return write_to(Backend.linear_int8(b, x, *layer, residual), out)
    made = make_out(out, (*x.shape[:-1], weight.shape[0]), x.dtype)
    added = None if residual is None else to_rows(residual)
    _native.linear_int8(to_rows(x), _plain(layer), added, to_rows(made), b.threads)
    return write_to(made, out)


def rotary_linear_int8(
    b: Backend,
    x: Floats,
    weight: Whole,
    scale: Floats,
    factor: Floats,
    bias: Floats | None,
    cosine: Floats,
    sine: Floats,
    *,
    heads: int,
    into: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Queries, keys and values as parts of one array, which may be given, two turned."""
    layer = weight, scale, factor, bias
    if not _suits_rust(x, *layer, cosine, sine):
        return Backend.rotary_linear_int8(b, x, *layer, cosine, sine, heads=heads)
    made = make_out(into, (*x.shape[:-1], weight.shape[0]), x.dtype)
    angles = to_rows(cosine), to_rows(sine)
    rows, filled = to_rows(x), to_rows(made)
    _native.rotary_linear_int8(rows, _plain(layer), angles, 2 * heads, filled, b.threads)
    return split_heads(made, heads)


def feed_forward_int8(
    b: Backend,
    x: Floats,
    norm_weight: Floats,
    norm_bias: Floats,
    weight_in: Whole,
    scale_in: Floats,
    factor_in: Floats,
    bias_in: Floats | None,
    weight_out: Whole,
    scale_out: Floats,
    factor_out: Floats,
    bias_out: Floats | None,
    *,
    eps: float,
    out: Floats | None = None,
) -> Floats:
    """``feed_forward``, whose hidden numbers never leave the cache."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    if not _suits_rust(x, *inner, *outer, norm_weight, norm_bias):
        made = Backend.feed_forward_int8(
            b, x, norm_weight, norm_bias, *inner, *outer, eps=eps
        )
        return write_to(made, out)
    made = make_out(out, x.shape, x.dtype)
    norm = to_contiguous(norm_weight), to_contiguous(norm_bias), eps
    layers = _plain(inner), _plain(outer)
    _native.feed_forward_int8(to_rows(x), norm, *layers, to_rows(made), b.threads)
    return write_to(made, out)


def _suits_rust(x: Floats, weight: Whole, *arrays: Floats | None) -> bool:
    """Whether there are numbers, of 8 bits and floats of 32."""
    given = [x, weight, *(array for array in arrays if array is not None)]
    return all(array.size and array.dtype in _TYPES for array in given)


_TYPES = (np.dtype(np.float32), np.dtype(np.int8))


def _plain(layer: tuple[Any, ...]) -> Any:
    """A layer's arrays without gaps."""
    return tuple(None if array is None else to_contiguous(array) for array in layer)
