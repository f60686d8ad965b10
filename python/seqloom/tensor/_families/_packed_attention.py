"""Attention within concatenated sequences, which are split into tiles.

Each tile contains rows of one sequence only. Elements of two sequences are never
multiplied, not even by weight 0, because 0 times NaN is NaN. All shapes depend only on the
shapes of the arguments, so that compilers can trace the function.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.tensor._families._attention import (
    allocate_sums,
    find_score_factor,
    infer_attention,
    infer_attention_grad,
    to_unit_stride,
)
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Pair,
    Triple,
    allocate,
    in_float32,
    to_contiguous,
    write_outs,
)
from seqloom.tensor._families._rule import Parts, Rule, add_grad

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Needs
    from seqloom.tensor._families._rule import ShapeRule


# Default implementations ---------------------------------------------------------------


# Maximum ratio of padded to real rows at which each tile is a whole sequence.
_MAX_PADDED_RATIO = 4


class _AttentionTiles(NamedTuple):
    """Row numbers of the queries and keys of each tile, and the unmasked pairs."""

    queries: Array  # Shape (n, t); padding has row number `total`.
    keys: Array  # Shape (n, s); padding has row number `total`.
    mask: Array  # Shape (n, 1, t, s).


def attention_varlen(
    b: Functions,
    q: Array,
    k: Array,
    v: Array,
    cu_seqlens: Array,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[Array, Array]:
    """Return attention within each of several concatenated sequences.

    The contents of a sequence, even NaN, never affect another sequence. If a sequence is
    longer than `max_seqlen`, a backend raises an error, or returns NaN if it cannot read
    the lengths. Half precision is computed in float32, and the log-sum-exp remains in
    float32.

    Returns:
        The result ``(total, h, d)`` and the log-sum-exp ``(h, total)``.
    """
    total, heads, _ = q.shape
    if not total:
        sums = b.zeros((heads, total), dtype=b.dtype(q))
        return b.zeros(v.shape, dtype=b.dtype(v)), sums
    tiles = _make_tiles(b, cu_seqlens, total, max_seqlen, causal=causal)
    cut = _split_tiles(b, q, tiles.queries), _split_tiles(b, k, tiles.keys)
    out, lse = b.attention(*cut, _split_tiles(b, v, tiles.keys), tiles.mask, scale=scale)
    out = _join_tiles_like(b, q, out, tiles.queries)
    lse = _join_tiles(b, b.expand_dims(lse, axis=-1), tiles.queries, total)
    longest = b.max(_compute_lengths(b, cu_seqlens))
    out = b.where(b.greater(longest, max_seqlen), math.nan, out)
    return out, b.matrix_transpose(b.squeeze(lse, axis=-1))


def attention_varlen_grad(
    b: Functions,
    grad: Array,
    q: Array,
    k: Array,
    v: Array,
    cu_seqlens: Array,
    out: Array,
    lse: Array,
    /,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``attention_varlen`` with respect to q, k and v."""
    total = q.shape[0]
    if not total:
        return q, k, v
    tiles = _make_tiles(b, cu_seqlens, total, max_seqlen, causal=causal)
    lse = b.expand_dims(b.matrix_transpose(lse), axis=-1)
    grad, rows, out, lse = (_split_tiles(b, x, tiles.queries) for x in (grad, q, out, lse))
    keys, values = _split_tiles(b, k, tiles.keys), _split_tiles(b, v, tiles.keys)
    saved = tiles.mask, None, out, b.squeeze(lse, axis=-1)
    by_q, by_k, by_v = b.attention_grad(grad, rows, keys, values, *saved, scale=scale)
    return (
        _join_tiles_like(b, q, by_q, tiles.queries),
        _join_tiles_like(b, k, by_k, tiles.keys),
        _join_tiles_like(b, v, by_v, tiles.keys),
    )


def _make_tiles(
    b: Functions, cu_seqlens: Array, total: int, longest: int, *, causal: bool
) -> _AttentionTiles:
    """Return one tile per sequence or, if most rows would be padding, shorter tiles."""
    count, reach = max(cu_seqlens.shape[0] - 1, 1), max(min(longest, total), 1)
    whole = count * reach <= _MAX_PADDED_RATIO * total
    # If one sequence is much longer than the rest, tiles of its length would be mostly
    # padding.
    length = reach if whole else -(-total // count)
    number = count if whole else total // length + count
    owner, before = _tile_sequences(b, cu_seqlens, length, number)
    at = _make_range_like(b, length, cu_seqlens)
    at = b.add(b.multiply(b.expand_dims(before, axis=1), length), at)
    of = b.expand_dims(_make_range_like(b, reach, cu_seqlens), axis=0)
    queries = _row_ids(b, cu_seqlens, owner, at, total)
    keys = _row_ids(b, cu_seqlens, owner, of, total)
    mask = b.logical_and(
        b.less(b.expand_dims(queries, axis=2), total),
        b.less(b.expand_dims(keys, axis=1), total),
    )
    if causal:
        at, of = b.expand_dims(at, axis=2), b.expand_dims(of, axis=1)
        mask = b.logical_and(mask, b.greater_equal(at, of))
    return _AttentionTiles(queries, keys, b.expand_dims(mask, axis=1))


def _tile_sequences(
    b: Functions, cu_seqlens: Array, length: int, number: int
) -> tuple[Array, Array]:
    """Return the sequence of each tile, and the number of the tile in its sequence."""
    lengths = _compute_lengths(b, cu_seqlens)
    tiles = b.floor_divide(b.add(lengths, length - 1), length)
    ends = b.astype(b.cumulative_sum(tiles, axis=0), b.dtype(cu_seqlens))
    tile = _make_range_like(b, number, cu_seqlens)
    owner = b.searchsorted(ends, tile, side="right")
    owner = b.minimum(b.astype(owner, b.dtype(tile)), lengths.shape[0] - 1)
    first = b.take(b.subtract(ends, tiles), owner, axis=0)
    return owner, b.subtract(tile, first)


def _row_ids(b: Functions, cu_seqlens: Array, owner: Array, at: Array, total: int) -> Array:
    """Return row numbers of positions in each tile's sequence; after the end, `total`."""
    start = b.expand_dims(b.take(cu_seqlens, owner, axis=0), axis=1)
    end = b.expand_dims(b.take(cu_seqlens, b.add(owner, 1), axis=0), axis=1)
    rows = b.add(start, at)
    return b.where(b.less(rows, end), rows, total)


def _make_range_like(b: Functions, length: int, like: Array) -> Array:
    """Return the integers from 0 to `length` - 1, in the dtype of another array."""
    return b.arange(length, dtype=b.dtype(like))


def _split_tiles(b: Functions, x: Array, rows: Array) -> Array:
    """Split ``(total, h, d)`` into tiles ``(n, h, t, d)`` in float32, padded with zeros."""
    total = x.shape[0]
    positions = b.reshape(b.minimum(rows, total - 1), (-1,))
    tiles = b.reshape(b.take(x, positions, axis=0), (*rows.shape, *x.shape[1:]))
    inside = b.expand_dims(b.expand_dims(b.less(rows, total), axis=2), axis=3)
    return b.permute_dims(b.to_full_precision(b.where(inside, tiles, 0)), (0, 2, 1, 3))


def _join_tiles_like(b: Functions, x: Array, tiles: Array, rows: Array) -> Array:
    """Join tiles to an array with the number of rows and the dtype of `x`."""
    return b.astype(_join_tiles(b, tiles, rows, x.shape[0]), b.dtype(x))


def _join_tiles(b: Functions, tiles: Array, rows: Array, total: int) -> Array:
    """Join tiles ``(n, h, t, d)`` to ``(total, h, d)``; the padding is removed."""
    number, heads, length, width = tiles.shape
    tiles = b.permute_dims(tiles, (0, 2, 1, 3))
    flat = b.reshape(tiles, (number * length, heads * width))
    added = b.embedding_grad(flat, b.reshape(rows, (-1,)), rows=total + 1)
    kept = b.index(added, (slice(0, total), slice(None)))
    return b.reshape(kept, (total, heads, width))


def _compute_lengths(b: Functions, cu_seqlens: Array) -> Array:
    """Return the number of rows of each sequence."""
    ends = b.index(cu_seqlens, (slice(1, None),))
    return b.subtract(ends, b.index(cu_seqlens, (slice(0, -1),)))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


@add_grad(
    GRAD_RULES,
    "attention_varlen",
    save=lambda args, out, _, options: ((*args, *out), options),
)
def _grad_attention_varlen(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    arrays, options = saved
    options = {"scale": None, "causal": False, **options}
    return b.attention_varlen_grad(grad, *arrays, **options)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    "attention_varlen": infer_attention,
    "attention_varlen_grad": infer_attention_grad,
}


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_attention_varlen(
    b: Functions,
    q: Floats,
    k: Floats,
    v: Floats,
    cu_seqlens: NDArray[np.generic],
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
    out: Pair | None = None,
) -> Pair:
    """Return attention within each of several concatenated sequences.

    Returns:
        The result ``(total, h, d)`` and the log-sum-exp ``(h, total)``.
    """
    bounds = _check_bounds(cu_seqlens, max_seqlen)
    q, k, v = (to_unit_stride(_move_heads_first(array)) for array in (q, k, v))
    made = allocate((q.shape[2], q.shape[1], v.shape[3]), q.dtype)
    lse = allocate_sums(q.shape[1:3], q.dtype, out and out[1])
    rule = find_score_factor(q, scale), causal, None
    _native.attention(q, k, v, None, bounds, *rule, _move_heads_first(made), lse, b.threads)
    return write_outs((made, lse), out)


@in_float32
def numpy_attention_varlen_grad(
    b: Functions,
    grad: Floats,
    q: Floats,
    k: Floats,
    v: Floats,
    cu_seqlens: NDArray[np.generic],
    output: Floats,
    lse: Floats,
    /,
    *,
    max_seqlen: int,
    scale: float | None = None,
    causal: bool = False,
    out: Triple | None = None,
) -> Triple:
    """Return the gradients of ``attention_varlen`` with respect to q, k and v."""
    bounds = _check_bounds(cu_seqlens, max_seqlen)
    new = allocate(q.shape, q.dtype), allocate(k.shape, q.dtype), allocate(v.shape, q.dtype)
    arrays: Any = [to_unit_stride(_move_heads_first(array)) for array in (grad, q, k, v)]
    result = to_unit_stride(_move_heads_first(output)), to_contiguous(lse)
    rule = find_score_factor(q, scale), causal, None
    into: Any = [_move_heads_first(array) for array in new]
    kernel: Any = _native.attention_grad
    kernel(*arrays, None, bounds, *result, *rule, *into, b.threads)
    return write_outs(new, out)


def _check_bounds(cu_seqlens: NDArray[np.generic], longest: int) -> list[int]:
    """Return the bounds of the sequences; raise if one is longer than `longest`."""
    widest = int(max(np.diff(cu_seqlens), default=0))
    if widest > longest:
        raise ArgumentError(
            f"max_seqlen is {longest}, but a sequence has {widest} positions"
        )
    return cu_seqlens.tolist()


def _move_heads_first(x: Floats) -> Floats:
    """Return a view of ``(total, h, d)`` as ``(1, h, total, d)``."""
    return x.swapaxes(0, 1)[None]
