"""Positions of intervals of a fixed width, and checks at the ends of chromosomes."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_path
from seqloom._text import contig_aliases, join_first_names
from seqloom.data._paths import open_index
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._key import Key
    from seqloom._ragged import Ragged
    from seqloom._rust import _native
    from seqloom.data.interval._intervals import Intervals


EDGE_CHOICES = ("error", "pad", "drop")
_DROP_REMEDY = 'edge="drop" (--edge drop) removes it'
EDGE_REMEDIES = f'edge="pad" (--edge pad) puts N there, {_DROP_REMEDY}'


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Ranges of chromosomes to read; they may extend beyond the chromosome ends."""

    chroms: NDArray[np.int64]  # Index of each range's chromosome.
    starts: NDArray[np.int64]  # A negative start means padding.
    stops: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Spans:
        """Return the ranges at some rows."""
        return Spans(self.chroms[rows], self.starts[rows], self.stops[rows])

    def shift(self, shifts: NDArray[np.int64]) -> Spans:
        """Return the ranges moved along their chromosomes."""
        return replace(self, starts=self.starts + shifts, stops=self.stops + shifts)

    def clip(self, lengths: NDArray[np.int64]) -> Spans:
        """Return the ranges truncated at the ends of their chromosomes."""
        ends = lengths[self.chroms]
        starts = np.minimum(np.maximum(self.starts, 0), ends)
        return replace(self, starts=starts, stops=np.clip(self.stops, starts, ends))


def compute_spans(intervals: Intervals, genome: Genome, width: int | None) -> Spans:
    """Return the range of each interval, resized to ``width`` around its centre."""
    numbers = {name: number for number, name in enumerate(genome.names)}
    if len(numbers) < len(genome.names):
        counts = Counter(genome.names)
        for row, name in enumerate(intervals.chroms):
            if counts[name] > 1:  # ambiguous name
                raise intervals.error(row, f"{counts[name]} sequences are named {name!r}")
    chroms = np.array([numbers.get(name, -1) for name in intervals.chroms], np.int64)
    if (chroms < 0).any():
        row = int((chroms < 0).argmax())
        raise intervals.error(
            row, _missing_chrom_message(genome, intervals.chroms[row], numbers)
        )
    starts, stops = intervals.starts, intervals.stops
    if width is not None:
        _check_summits(intervals)
        middles = starts + (stops - starts) // 2
        has_summit = intervals.summits >= 0
        middles = np.where(has_summit, starts + intervals.summits, middles)
        starts = middles - width // 2
        stops = starts + width
    return Spans(chroms, starts, stops)


def _missing_chrom_message(genome: Genome, chrom: str, numbers: dict[str, int]) -> str:
    """Return the message for a chromosome that the genome lacks, or names differently."""
    others = [name for name in contig_aliases(chrom) if name in numbers]
    what = f"{genome.path} has no sequence {chrom!r}"
    if others:
        return f"{what}, it has {others[0]!r}; use the names of the genome in the intervals"
    return (
        f"{what}, it has {join_first_names(genome.names)}; pass the genome of the "
        "intervals, or remove such lines"
    )


def _check_summits(intervals: Intervals) -> None:
    """Raise if a summit, which is an offset in its interval, is outside the interval."""
    outside = intervals.summits > intervals.stops - intervals.starts
    if outside.any():
        row = int(outside.argmax())
        start, stop, summit = (
            int(column[row])
            for column in (intervals.starts, intervals.stops, intervals.summits)
        )
        raise intervals.error(
            row,
            f"the summit is counted from the start: expected 0 to {stop - start}, or -1 "
            f"for none, found {summit}; subtract the start from a position on the "
            "chromosome, or remove the column",
        )


def apply_edge_rule(
    intervals: Intervals,
    spans: Spans,
    lengths: NDArray[np.int64],
    *,
    jitter: int,
    edge: str,
) -> NDArray[np.int64]:
    """Return the rows to read; ``edge`` can drop intervals beyond chromosome ends."""
    if edge not in EDGE_CHOICES:
        raise ArgumentError(f"edge must be one of {', '.join(EDGE_CHOICES)}; got {edge!r}")
    if edge == "error":
        row = int((intervals.starts < 0).argmax())
        if intervals.starts[row] < 0:
            found = f"start {intervals.starts[row]} and stop {intervals.stops[row]}"
            expected = f"expected 0 <= start < stop, found {found}; {EDGE_REMEDIES}"
            raise intervals.error(row, expected)
    ends = lengths[spans.chroms]
    is_outside = (spans.starts - jitter < 0) | (spans.stops + jitter > ends)
    if edge == "drop":
        return np.flatnonzero(~is_outside)
    if edge == "pad":
        is_outside = (
            (intervals.starts >= ends) | (spans.starts >= ends) | (spans.stops <= 0)
        )
    if is_outside.any():
        row = int(is_outside.argmax())
        raise intervals.error(
            row, _outside_message(intervals, spans, row, int(ends[row]), jitter)
        )
    return np.arange(len(intervals))


def _outside_message(intervals: Intervals, spans: Spans, row: int, *rest: int) -> str:
    end, jitter = rest
    moved = f", with jitter {jitter}," if jitter else ""
    start, stop = int(spans.starts[row]), int(spans.stops[row])
    is_outside = start >= end or stop <= 0
    return (
        f"{intervals.chroms[row]}:{start}-{stop}{moved} is not within the {end:,} "
        f"residues of {intervals.chroms[row]}; "
        + (_DROP_REMEDY if is_outside else EDGE_REMEDIES)
    )


def sample_shifts(key: Key, ordinals: NDArray[np.int64], jitter: int) -> NDArray[np.int64]:
    """Return random shifts of intervals, from -jitter to jitter."""
    words = key.each(ordinals).astype(np.uint64)
    numbers = (words[:, 0] << np.uint64(32) | words[:, 1]) % np.uint64(2 * jitter + 1)
    return numbers.astype(np.int64) - jitter


class Genome:
    """Reads ranges of chromosomes through an index."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._index = open_index(path)
        self.names: list[str] = self._index.ids
        self.lengths: NDArray[np.int64] = self._index.lengths

    @property
    def native(self) -> _native.SequenceIndex:
        """Rust index of this process, for code that runs without the GIL."""
        return self._index.native

    def fetch(
        self,
        chroms: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        *,
        num_threads: int,
    ) -> Ragged:
        """Read ranges within chromosomes."""
        return self._index.fetch_intervals(chroms, starts, stops, num_threads=num_threads)

    def digest(self) -> bytes:
        """Return a hash of the file at the time of indexing."""
        content = (self._index.content, len(self._index), self._index.letters)
        return hashlib.blake2b(repr(content).encode(), digest_size=16).digest()


def open_genome(genome: Any) -> Genome:
    """Open the genome at a path."""
    path = as_path("genome", genome, expected="the path of a FASTA or FASTQ file")
    return Genome(str(path.expanduser()))
