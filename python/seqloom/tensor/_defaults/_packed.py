"""Attention over sequences that lie end to end, by tiles of one sequence each.

Numbers of two sequences never meet in a product, not even with weight 0, since 0 times NaN
is NaN. All shapes follow from the arguments' shapes, so that compilers can follow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from seqloom.tensor._defaults._attention import Attention
from seqloom.tensor._defaults._lookup import Lookups

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Standard

_WASTE = 4  # how many rows, padding counted, one row may become in tiles of full length


class _Tiles(NamedTuple):
    """For each tile the rows of its queries and keys, and which pairs may meet."""

    queries: Array  # (n, t), the total where there is none
    keys: Array  # (n, s), the total where there is none
    mask: Array  # (n, 1, t, s)


class PackedAttention(Attention, Lookups):
    """Attention within each of several sequences that lie end to end.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> x = B.ones((3, 1, 2))
        >>> B.attention_varlen(x, x, x, B.asarray([0, 2, 3]), max_seqlen=2)[0].shape
        (3, 1, 2)
    """

    def attention_varlen(
        self,
        q: Array,
        k: Array,
        v: Array,
        cu_seqlens: Array,
        *,
        max_seqlen: int,
        scale: float | None = None,
        causal: bool = False,
    ) -> tuple[Array, Array]:
        """Attention within each of several sequences that lie end to end.

        What a sequence holds, NaN included, never reaches another one. A backend refuses
        a sequence that is longer than `max_seqlen` where it can look, else gives NaN.

        Returns:
            The result ``(total, h, d)`` and the log-sum-exp ``(h, total)``.
        """
        total, heads, _ = q.shape
        if not total:
            sums = self.zeros((heads, total), dtype=self.dtype(q))
            return self.zeros(v.shape, dtype=self.dtype(v)), sums
        tiles = self._tiles(cu_seqlens, total, max_seqlen, causal=causal)
        cut = self._cut(q, tiles.queries), self._cut(k, tiles.keys)
        out, lse = self.attention(*cut, self._cut(v, tiles.keys), tiles.mask, scale=scale)
        out = self._joined(out, tiles.queries, total)
        lse = self._joined(self.expand_dims(lse, axis=-1), tiles.queries, total)
        longest = self.max(_lengths(self, cu_seqlens))
        out = self.where(self.greater(longest, max_seqlen), math.nan, out)
        return out, self.matrix_transpose(self.squeeze(lse, axis=-1))

    def attention_varlen_grad(
        self,
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
        """The derivatives of ``attention_varlen`` by q, k and v."""
        total = q.shape[0]
        if not total:
            return q, k, v
        tiles = self._tiles(cu_seqlens, total, max_seqlen, causal=causal)
        lse = self.expand_dims(self.matrix_transpose(lse), axis=-1)
        grad, q, out, lse = (self._cut(x, tiles.queries) for x in (grad, q, out, lse))
        k, v = self._cut(k, tiles.keys), self._cut(v, tiles.keys)
        saved = tiles.mask, None, out, self.squeeze(lse, axis=-1)
        by_q, by_k, by_v = self.attention_grad(grad, q, k, v, *saved, scale=scale)
        return (
            self._joined(by_q, tiles.queries, total),
            self._joined(by_k, tiles.keys, total),
            self._joined(by_v, tiles.keys, total),
        )

    def _tiles(
        self, cu_seqlens: Array, total: int, longest: int, *, causal: bool
    ) -> _Tiles:
        """The tiles of all sequences: whole ones, unless that were mostly padding."""
        count, reach = max(cu_seqlens.shape[0] - 1, 1), max(min(longest, total), 1)
        whole = count * reach <= _WASTE * total
        # Beside one long sequence, tiles as long as it would hold little of short ones.
        length = reach if whole else -(-total // count)
        number = count if whole else total // length + count
        owner, before = self._owners(cu_seqlens, length, number)
        at = self._range(length, cu_seqlens)
        at = self.add(self.multiply(self.expand_dims(before, axis=1), length), at)
        of = self.expand_dims(self._range(reach, cu_seqlens), axis=0)
        queries = self._rows_at(cu_seqlens, owner, at, total)
        keys = self._rows_at(cu_seqlens, owner, of, total)
        mask = self.logical_and(
            self.less(self.expand_dims(queries, axis=2), total),
            self.less(self.expand_dims(keys, axis=1), total),
        )
        if causal:
            at, of = self.expand_dims(at, axis=2), self.expand_dims(of, axis=1)
            mask = self.logical_and(mask, self.greater_equal(at, of))
        return _Tiles(queries, keys, self.expand_dims(mask, axis=1))

    def _owners(self, cu_seqlens: Array, length: int, number: int) -> tuple[Array, Array]:
        """Each tile's sequence, and how many tiles of that sequence come before it."""
        lengths = _lengths(self, cu_seqlens)
        tiles = self.floor_divide(self.add(lengths, length - 1), length)
        ends = self.astype(self.cumulative_sum(tiles, axis=0), self.dtype(cu_seqlens))
        tile = self._range(number, cu_seqlens)
        owner = self.searchsorted(ends, tile, side="right")
        owner = self.minimum(self.astype(owner, self.dtype(tile)), lengths.shape[0] - 1)
        first = self.take(self.subtract(ends, tiles), owner, axis=0)
        return owner, self.subtract(tile, first)

    def _rows_at(self, cu_seqlens: Array, owner: Array, at: Array, total: int) -> Array:
        """The rows at places of each tile's sequence; the total beyond its end."""
        start = self.expand_dims(self.take(cu_seqlens, owner, axis=0), axis=1)
        end = self.expand_dims(self.take(cu_seqlens, self.add(owner, 1), axis=0), axis=1)
        rows = self.add(start, at)
        return self.where(self.less(rows, end), rows, total)

    def _range(self, length: int, like: Array) -> Array:
        """Whole numbers from 0, in the type of others."""
        return self.arange(length, dtype=self.dtype(like))

    def _cut(self, x: Array, rows: Array) -> Array:
        """``(total, h, d)`` as tiles ``(n, h, t, d)``, zeros where a tile has no row."""
        total = x.shape[0]
        places = self.reshape(self.minimum(rows, total - 1), (-1,))
        tiles = self.reshape(self.take(x, places, axis=0), (*rows.shape, *x.shape[1:]))
        inside = self.expand_dims(self.expand_dims(self.less(rows, total), axis=2), axis=3)
        return self.permute_dims(self.where(inside, tiles, 0), (0, 2, 1, 3))

    def _joined(self, tiles: Array, rows: Array, total: int) -> Array:
        """Tiles ``(n, h, t, d)`` as ``(total, h, d)``; what has no row is left out."""
        number, heads, length, width = tiles.shape
        tiles = self.permute_dims(tiles, (0, 2, 1, 3))
        flat = self.reshape(tiles, (number * length, heads * width))
        added = self.embedding_grad(flat, self.reshape(rows, (-1,)), rows=total + 1)
        kept = self.index(added, (slice(0, total), slice(None)))
        return self.reshape(kept, (total, heads, width))


def _lengths(b: Standard, cu_seqlens: Array) -> Array:
    """How many rows each sequence has."""
    ends = b.index(cu_seqlens, (slice(1, None),))
    return b.subtract(ends, b.index(cu_seqlens, (slice(0, -1),)))
