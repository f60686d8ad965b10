"""Where the sequences of an ESM-2 batch lie, end to end or padded, all as rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import functional as F
from seqloom.nn._operands import (
    Packing,
    as_operand,
    find_packing,
    make_range,
    require_below,
)
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._esm2_fields import ESM2Fields

_KEPT = 1 - 0.15 * 0.8  # share of embeddings that were no mask in ESM-2's training
_PADDED = 2  # axes of (n, l)


class Layout(NamedTuple):
    """The rows of a batch: those of all its sequences."""

    shape: tuple[int, ...]  # of the token ids as they were given
    tokens: Tensor  # (rows,)
    cosine: Tensor  # (rows, d / 2), of the angles of the rotary positions
    sine: Tensor
    factor: Tensor | None  # (rows, 1) of the embeddings; None: 1
    attend: Callable[[Tensor, Tensor, Tensor], Tensor]  # each (rows, heads, d)
    find_bounds: Callable[[], list[tuple[int, int]]]  # the rows of each sequence


class Given(NamedTuple):
    """Sequences as a caller gives them."""

    input_ids: Any
    cu_seqlens: Any = None
    max_seqlen: int | None = None
    mask: Any = None


def lay_out(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describes sequences end to end, or padded ones."""
    tokens = as_operand(rates, given.input_ids)
    require_below("input_ids", tokens, config.vocabulary)
    if tokens.ndim == _PADDED and given.cu_seqlens is None:
        return _lay_padded(config, rates, given._replace(input_ids=tokens))
    if tokens.ndim != 1:
        raise ShapeError(
            "input_ids must be (total,) with cu_seqlens, (l,) for one sequence, or (n, l) "
            f"with padding and without cu_seqlens, got shape {tokens.shape}"
        )
    if given.mask is not None:
        raise ArgumentError("mask is for padded input_ids (n, l); packed ones have none")
    if given.cu_seqlens is None:
        given = given._replace(cu_seqlens=np.array([0, tokens.shape[0]], "int32"))
    return _lay_packed(config, rates, given._replace(input_ids=tokens))


def _lay_packed(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describes sequences that lie end to end."""
    tokens = given.input_ids
    packing = find_packing(tokens, given.cu_seqlens, given.max_seqlen)
    factor = None
    if config.token_dropout:
        hidden = apply("equal", tokens, config.mask_token)
        factor = _factor_packed(rates, hidden, packing=packing)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.attention_varlen(q, k, v, packing.offsets, packing.longest)

    def find_bounds() -> list[tuple[int, int]]:
        return list(pairwise(packing.offsets.numpy().tolist()))

    angles = _turn(rates, packing.position)
    return Layout(tokens.shape, tokens, *angles, factor, attend, find_bounds)


def _factor_packed(rates: Tensor, hidden: Tensor, *, packing: Packing) -> Tensor:
    """Returns the factor of each row's embedding, ``(rows, 1)``."""
    sums = apply("cumulative_sum", hidden.astype("int32"), axis=0, include_initial=True)
    sums = apply("take", sums, packing.offsets, axis=0)
    lengths = packing.offsets[1:] - packing.offsets[:-1]
    scales = _scale(rates, sums[1:] - sums[:-1], length=lengths)
    scales = apply("take", scales, packing.owner, axis=0)
    return _column(apply("where", hidden, 0.0, scales))


def _lay_padded(config: ESM2Fields, rates: Tensor, given: Given) -> Layout:
    """Describes padded sequences, whose padding nobody attends to."""
    tokens = given.input_ids
    rows, length = tokens.shape
    real = _find_real(config, tokens, given.mask)
    factor = real.astype(rates.dtype)
    if config.token_dropout:
        hidden = apply("logical_and", real, apply("equal", tokens, config.mask_token))
        factor = _factor_padded(rates, hidden, real=real)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (_by_head(x, rows, length) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, real[:, None, None, :])
        return apply("permute_dims", out, (0, 2, 1, 3))

    def find_bounds() -> list[tuple[int, int]]:
        starts = range(0, rows * length, max(length, 1))
        counts = real.numpy().sum(axis=1).tolist()
        return [(at, at + count) for at, count in zip(starts, counts, strict=True)]

    angles = _turn(rates, make_range(tokens, rows * length) % max(length, 1))
    flat = tokens.reshape(-1)
    return Layout(tokens.shape, flat, *angles, factor.reshape(-1, 1), attend, find_bounds)


def _factor_padded(rates: Tensor, hidden: Tensor, *, real: Tensor) -> Tensor:
    """Returns the factor of each position's embedding, 0 at padding, ``(n, l)``."""
    count, length = (x.astype("int32").sum(axis=1) for x in (hidden, real))
    scales = real.astype(rates.dtype) * _column(_scale(rates, count, length=length))
    return apply("where", hidden, 0.0, scales)


def _find_real(config: ESM2Fields, tokens: Tensor, mask: Any) -> Tensor:
    """Returns true where a position is no padding."""
    if mask is None:
        return apply("not_equal", tokens, config.pad_token)
    real = as_operand(tokens, mask)
    if real.shape != tokens.shape:
        raise ShapeError(
            f"mask must have the shape of input_ids, {tokens.shape}, got {real.shape}"
        )
    return real if real.dtype.kind == "b" else apply("not_equal", real, 0)


def _scale(rates: Tensor, hidden: Tensor, *, length: Tensor) -> Tensor:
    """Returns the factor of the embeddings of each sequence that are no mask."""
    kept = apply("maximum", length - hidden, 1)
    return length.astype(rates.dtype) * _KEPT / kept.astype(rates.dtype)


def _turn(rates: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Returns cosines and sines of the angles at each row's position."""
    angles = _column(position.astype(rates.dtype)) * rates
    return apply("cos", angles), apply("sin", angles)


def _column(x: Tensor) -> Tensor:
    """Adds an axis at the end."""
    return apply("expand_dims", x, axis=-1)


def _by_head(x: Tensor, rows: int, length: int) -> Tensor:
    """Returns ``(n * l, h, d)`` as ``(n, h, l, d)``."""
    return apply("permute_dims", x.reshape(rows, length, *x.shape[1:]), (0, 2, 1, 3))
