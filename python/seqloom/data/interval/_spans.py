"""Where intervals lie once they have a width, and what happens at the ends."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seqloom._text import list_some
from seqloom.data._paths import index_of
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._key import Key
    from seqloom._ragged import Ragged
    from seqloom.data.interval._intervals import Intervals


EDGES = ("error", "pad", "drop")
_WAY_OUT = 'edge="drop" (--edge drop) leaves it out'
_WAYS_OUT = f'edge="pad" (--edge pad) puts N there, {_WAY_OUT}'


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """What is read of which chromosome; a span may reach beyond its ends."""

    chroms: NDArray[np.int64]  # numbers of chromosomes
    starts: NDArray[np.int64]  # below 0 in padding
    stops: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Spans:
        """Take some of them."""
        return Spans(self.chroms[rows], self.starts[rows], self.stops[rows])

    def shift(self, shifts: NDArray[np.int64]) -> Spans:
        """Move each along its chromosome."""
        return replace(self, starts=self.starts + shifts, stops=self.stops + shifts)

    def clip(self, lengths: NDArray[np.int64]) -> Spans:
        """Take the part of each that its chromosome has."""
        ends = lengths[self.chroms]
        starts = np.minimum(np.maximum(self.starts, 0), ends)
        return replace(self, starts=starts, stops=np.clip(self.stops, starts, ends))


def spans_of(intervals: Intervals, genome: Genome, width: int | None) -> Spans:
    """Find each interval's chromosome, and give it its width about its centre."""
    numbers = {name: number for number, name in enumerate(genome.names)}
    if len(numbers) < len(genome.names):
        counts = Counter(genome.names)
        for row, name in enumerate(intervals.chroms):
            if counts[name] > 1:  # an interval would be ambiguous
                raise intervals.fault(row, f"{counts[name]} sequences are named {name!r}")
    chroms = np.array([numbers.get(name, -1) for name in intervals.chroms], np.int64)
    if (chroms < 0).any():
        row = int((chroms < 0).argmax())
        raise intervals.fault(row, _missing(genome, intervals.chroms[row], numbers))
    starts, stops = intervals.starts, intervals.stops
    if width is not None:
        _check_summits(intervals)
        middles = starts + (stops - starts) // 2
        has_summit = intervals.summits >= 0
        middles = np.where(has_summit, starts + intervals.summits, middles)
        starts = middles - width // 2
        stops = starts + width
    return Spans(chroms, starts, stops)


def _missing(genome: Genome, chrom: str, numbers: dict[str, int]) -> str:
    """Describe a chromosome that the genome lacks, or has under another name."""
    bare = chrom.removeprefix("chr")
    others = [name for name in (bare, f"chr{bare}") if name in numbers]
    if chrom in {"MT", "chrMT", "M", "chrM"}:
        others = [name for name in ("M", "MT", "chrM", "chrMT") if name in numbers]
    what = f"{genome.path} has no sequence {chrom!r}"
    if others:
        return f"{what}, it has {others[0]!r}; use the names of the genome in the intervals"
    return (
        f"{what}, it has {list_some(genome.names)}; give the genome that the intervals are "
        "of, or leave such lines out"
    )


def _check_summits(intervals: Intervals) -> None:
    """Refuse summits outside their intervals, such as positions on the chromosome."""
    outside = intervals.summits > intervals.stops - intervals.starts
    if outside.any():
        row = int(outside.argmax())
        start, stop, summit = (
            int(column[row])
            for column in (intervals.starts, intervals.stops, intervals.summits)
        )
        raise intervals.fault(
            row,
            f"the summit is counted from the start: expected 0 to {stop - start}, or -1 "
            f"for none, found {summit}; subtract the start from a position on the "
            "chromosome, or leave the column out",
        )


def check_edges(
    intervals: Intervals,
    spans: Spans,
    lengths: NDArray[np.int64],
    *,
    jitter: int,
    edge: str,
) -> NDArray[np.int64]:
    """List the spans that can be read; ``edge`` judges those that leave their sequence."""
    if edge not in EDGES:
        raise ArgumentError(f"edge must be one of {', '.join(EDGES)}; got {edge!r}")
    if edge == "error":
        row = int((intervals.starts < 0).argmax())
        if intervals.starts[row] < 0:
            found = f"start {intervals.starts[row]} and stop {intervals.stops[row]}"
            expected = f"expected 0 <= start < stop, found {found}; {_WAYS_OUT}"
            raise intervals.fault(row, expected)
    ends = lengths[spans.chroms]
    leaves = (spans.starts - jitter < 0) | (spans.stops + jitter > ends)
    if edge == "drop":
        return np.flatnonzero(~leaves)
    if edge == "pad":
        leaves = (intervals.starts >= ends) | (spans.starts >= ends) | (spans.stops <= 0)
    if leaves.any():
        row = int(leaves.argmax())
        raise intervals.fault(row, _left(intervals, spans, row, int(ends[row]), jitter))
    return np.arange(len(intervals))


def _left(intervals: Intervals, spans: Spans, row: int, *rest: int) -> str:
    """Say how an interval leaves its chromosome."""
    end, jitter = rest
    moved = f", {jitter} to either side" if jitter else ""
    start, stop = int(spans.starts[row]), int(spans.stops[row])
    is_outside = start >= end or stop <= 0
    return (
        f"{intervals.chroms[row]}:{start}-{stop}{moved} does not lie within the {end:,} "
        f"letters of {intervals.chroms[row]}; " + (_WAY_OUT if is_outside else _WAYS_OUT)
    )


def shifts(key: Key, ordinals: NDArray[np.int64], jitter: int) -> NDArray[np.int64]:
    """Draw how far each interval is moved, up to ``jitter`` to either side."""
    words = key.each(ordinals).astype(np.uint64)
    drawn = (words[:, 0] << np.uint64(32) | words[:, 1]) % np.uint64(2 * jitter + 1)
    return drawn.astype(np.int64) - jitter


class Genome:
    """Chromosomes by number, read where they lie."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._index = index_of(path)
        self.names: list[str] = self._index.ids
        self.lengths: NDArray[np.int64] = self._index.lengths

    def fetch(
        self,
        chroms: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        *,
        num_threads: int,
    ) -> Ragged:
        """Read parts of chromosomes, all of them inside."""
        return self._index.fetch_intervals(chroms, starts, stops, num_threads=num_threads)

    def digest(self) -> bytes:
        """Name the content, as it was when the file was indexed."""
        content = (self._index.content, len(self._index), self._index.letters)
        return hashlib.blake2b(repr(content).encode(), digest_size=16).digest()
