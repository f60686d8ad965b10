"""Positions of intervals in a whole genome, and counts of their bases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import join_first_names
from seqloom._threads import count_threads
from seqloom.data.interval._intervals import read_intervals
from seqloom.data.interval._spans import Genome, Spans
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

# Bases are counted in blocks of this size. Arrays of a block fit in the processor's cache,
# and the allocator reuses their memory.
_BLOCK_BASES = 1 << 18
_WORD_BASES = 64
_LOW_WORD = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class LinearSpans:
    """Ranges of a genome whose sequences are concatenated; no range is empty."""

    starts: Integers
    stops: Integers

    @classmethod
    def of(cls, spans: Spans, lengths: Integers) -> LinearSpans:
        """Convert ranges of chromosomes, without bases beyond their ends."""
        real = spans.clip(lengths)
        ends = np.cumsum(lengths)
        shifts = (ends - lengths)[real.chroms]
        is_inside = real.stops > real.starts
        return cls((real.starts + shifts)[is_inside], (real.stops + shifts)[is_inside])

    @classmethod
    def of_excluded(cls, exclude: Any, genome: Genome) -> tuple[LinearSpans, int]:
        """Read intervals; those on contigs that the genome lacks are only counted."""
        none = np.empty(0, np.int64)
        if exclude is None:
            return cls(none, none), 0
        table = read_intervals(exclude, may_be_empty=True)
        numbers = {name: number for number, name in enumerate(genome.names)}
        chroms = np.array([numbers.get(name, -1) for name in table.chroms], np.int64)
        if chroms.size and (chroms < 0).all():
            names = list(dict.fromkeys(table.chroms))
            raise FormatError(
                f"exclude: {genome.path} has none of the contigs "
                f"{join_first_names(names)}; the genome has "
                f"{join_first_names(genome.names)}; use the names of the genome"
            )
        spans = Spans(chroms, table.starts, table.stops).take(np.flatnonzero(chroms >= 0))
        return cls.of(spans, genome.lengths), int((chroms < 0).sum())

    def join(self, other: LinearSpans) -> LinearSpans:
        """Return the ranges of both."""
        starts, stops = (self.starts, other.starts), (self.stops, other.stops)
        return LinearSpans(np.concatenate(starts), np.concatenate(stops))

    def count_overlaps(self, others: LinearSpans) -> Integers:
        """Return the number of these ranges that overlap each of the others."""
        # A range overlaps another one if it starts before the end of the other and does
        # not end before its start.
        started = np.searchsorted(np.sort(self.starts), others.stops)
        return started - np.searchsorted(np.sort(self.stops), others.starts, "right")

    def find_latest(self) -> tuple[Integers, Integers]:
        """Return the order of the starts, and the range that ends last up to each."""
        order = np.argsort(self.starts, kind="stable")
        stops = self.stops[order]
        is_latest = stops == np.maximum.accumulate(stops)
        latest = np.maximum.accumulate(np.where(is_latest, np.arange(order.size), 0))
        return order, order[latest]

    def list_overlaps(self) -> list[tuple[int, int]]:
        """Return overlapping pairs that connect all ranges which overlap."""
        order, latest = self.find_latest()
        rows, others = order[1:], latest[:-1]
        is_overlap = self.starts[rows] < self.stops[others]
        pairs = rows[is_overlap].tolist(), others[is_overlap].tolist()
        return list(zip(*pairs, strict=True))


class BaseCounts:
    """Counts of G and C, and of A, C, G, T and U, before each position of a sequence."""

    def __init__(self, letters: NDArray[np.uint8]) -> None:
        # Each base is a bit of a word; the last word is incomplete.
        padded = np.zeros(letters.size // _WORD_BASES * _WORD_BASES + _WORD_BASES, np.uint8)
        padded[: letters.size] = letters
        # The bits that differ between C and G, A and a, or T, t and U are set first.
        is_gc = (padded | 0x24) == ord("g")
        is_known = is_gc | ((padded | 0x20) == ord("a")) | ((padded | 0x21) == ord("u"))
        masks = (is_gc, is_known)
        self._words = [np.packbits(it, bitorder="little").view("<u8") for it in masks]
        self._before = np.zeros(self._words[0].size + 1, np.uint64)
        np.cumsum(_count_bits(*self._words), out=self._before[1:])

    def before(self, positions: Integers) -> NDArray[np.uint64]:
        """Return both counts before positions: G and C in the lower 32 bits."""
        at, bits = np.divmod(positions, _WORD_BASES)
        masks = (np.uint64(1) << bits.astype(np.uint64)) - np.uint64(1)
        return self._before[at] + _count_bits(*(it[at] & masks for it in self._words))


def _count_bits(gc: NDArray[Any], known: NDArray[Any]) -> NDArray[np.uint64]:
    """Count the bits of words, with the first count in the lower 32 bits."""
    low, high = (np.bitwise_count(it).astype(np.uint64) for it in (gc, known))
    return low | high << np.uint64(32)


def count_bases(spans: Spans, genome: Genome) -> tuple[Integers, Integers]:
    """Return the number of G and C in ranges, and of A, C, G, T and U."""
    # Long ranges are read in parts, and short ranges together.
    real = spans.clip(genome.lengths)
    parts = np.maximum(-(-(real.stops - real.starts) // _BLOCK_BASES), 1)
    rows = np.repeat(np.arange(parts.size), parts)
    numbers = np.arange(rows.size) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = real.starts[rows] + numbers * _BLOCK_BASES
    stops = np.minimum(starts + _BLOCK_BASES, real.stops[rows])
    blocks = np.cumsum(stops - starts) // _BLOCK_BASES
    counts = np.zeros((2, parts.size), np.int64)
    for part in np.split(np.arange(rows.size), np.flatnonzero(np.diff(blocks)) + 1):
        letters = genome.fetch(
            real.chroms[rows[part]], starts[part], stops[part], num_threads=1
        )
        before = BaseCounts(letters.data).before(letters.offsets)
        for total, added in zip(counts, _unpack(np.diff(before)), strict=True):
            np.add.at(total, rows[part], added)
    return counts[0], counts[1]


def count_ranges(
    genome: Genome, chrom: int, *ranges: tuple[Integers, Integers]
) -> list[tuple[Integers, Integers]]:
    """Return counts of `count_bases` for ranges whose starts and stops are sorted."""
    positions = [it for pair in ranges for it in pair]
    end = max(int(it.max(initial=0)) for it in positions)
    edges = np.arange(0, end + 1, _BLOCK_BASES)
    before = [np.empty(it.size, np.uint64) for it in positions]
    bounds = [np.append(np.searchsorted(it, edges), it.size) for it in positions]

    def count_block(block: int) -> np.uint64:
        start = block * _BLOCK_BASES
        ends = np.array([start]), np.array([min(start + _BLOCK_BASES, end)])
        counts = BaseCounts(genome.fetch(np.array([chrom]), *ends, num_threads=1).data)
        for part, it, bound in zip(before, positions, bounds, strict=True):
            rows = slice(bound[block], bound[block + 1])
            part[rows] = counts.before(it[rows] - start)
        return counts.before(ends[1] - start)[0]

    with ThreadPoolExecutor(count_threads()) as pool:
        totals = np.array(list(pool.map(count_block, range(edges.size))), np.uint64)
    for at, bound in enumerate(bounds):
        before[at] += np.repeat(np.cumsum(totals) - totals, np.diff(bound))
    return [
        _unpack(stops - starts)
        for starts, stops in zip(before[::2], before[1::2], strict=True)
    ]


def _unpack(counts: NDArray[np.uint64]) -> tuple[Integers, Integers]:
    """Return the number of G and C, and of known bases."""
    gc, known = counts & _LOW_WORD, counts >> np.uint64(32)
    return gc.astype(np.int64), known.astype(np.int64)
