"""`negatives`, intervals of a genome with the G+C content of peaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_number, as_seed
from seqloom._key import Key
from seqloom._warning import warn_user
from seqloom.data._position import check_integer, permuted_positions
from seqloom.data.interval._composition import LinearSpans, count_ranges
from seqloom.data.interval._filter import check_share
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._regions import Regions
from seqloom.data.interval._spans import compute_spans, open_genome
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome, Spans

    Integers = NDArray[np.int64]

# Candidates start at regular distances: an eighth of the width, or more if the genome would
# have more candidates than the maximum.
_STEPS_PER_WIDTH = 8
_MAX_CANDIDATES = 1 << 22
# Quotients that should be whole numbers may differ from them by less than this.
_ROUNDING = 1e-9
_MIN_BIN = 0.0001


def negatives(
    peaks: Any,
    genome: str | os.PathLike[str],
    *,
    ratio: float = 1,
    gc_bins: float = 0.02,
    width: int | None = None,
    exclude: Any = None,
    max_unknown: float = 0.1,
    seed: int = 0,
) -> Regions:
    """Choose random intervals of a genome with the G+C content of peaks.

    Peaks have more G and C than the rest of most genomes, and a model that is trained with
    other negatives learns this difference. The G+C content is the share of G and C among
    the bases A, C, G, T and U. In each bin of G+C content, the number of negatives is
    ``ratio`` times the number of peaks.

    Negatives are on the contigs of the peaks. They overlap neither peaks (with their own or
    the new width) nor excluded intervals nor each other. Candidates start at distances of
    an eighth of the width, or more in large genomes; between peaks that leave fewer free
    starts, there may be none. The same seed gives the same negatives.

    ``report`` of the result has these counts: the ``peaks``, those among them with
    ``unknown`` bases (which have no negatives), the negatives that are ``wanted`` and
    ``missing``, and ``missing_by_gc``, the missing ones of each bin. ``ignored`` is the
    number of intervals of ``exclude`` on contigs that the genome lacks.

    Args:
        peaks: The intervals, as in `IntervalDataset`.
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        ratio: The number of negatives for each peak.
        gc_bins: The width of a bin of G+C content.
        width: The length of all negatives. The G+C content of a peak is computed from this
            number of bases around its summit or its middle. By default, the length of the
            peaks is used, which must then be equal.
        exclude: Intervals to avoid, such as the ENCODE blacklist; a table may be empty.
            Intervals on contigs that the genome lacks are ignored; if all are, an error is
            raised.
        max_unknown: The maximum share of bases other than A, C, G, T and U.
        seed: Seed of the random choice.

    Returns:
        The negatives in the order of the genome, with their G+C content in the column
        ``gc``.

    Raises:
        FormatError: An interval is empty, or its sequence is not in the genome.
        ArgumentError: An argument is out of range, or peaks have different lengths.

    Warns:
        DataWarning: In a bin, the genome has too few intervals. Or peaks have too many
            unknown bases.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(f">chr1\\n{'ACGT' * 500}\\n")
        >>> peaks = {"chrom": ["chr1"] * 2, "start": [0, 900], "stop": [40, 940]}
        >>> found = negatives(peaks, "g.fa", seed=1)
        >>> len(found), found["gc"], found.report["missing"]
        (2, [0.5, 0.5], 0)
    """
    ratio = as_number("ratio", ratio, expected="a number above 0", least=1e-9)
    opened, table = open_genome(genome), read_intervals(peaks)
    bins = _GcBins.of(gc_bins, _check_width(table, width), max_unknown)
    key = Key(as_seed(seed)).fold("negatives")
    spans = compute_spans(table, opened, bins.width)
    blocked, ignored = LinearSpans.of_excluded(exclude, opened)
    for it in (spans, compute_spans(table, opened, None)):
        blocked = blocked.join(LinearSpans.of(it, opened.lengths))
    candidates, of_peaks = _count_candidates(opened, spans, bins, key=key)
    wanted = _count_wanted(of_peaks[of_peaks >= 0], bins, ratio)
    candidates = candidates.outside(blocked).choose(wanted, key)
    report = {
        "peaks": len(table),
        "unknown": _count_unknown(of_peaks, max_unknown),
        "ignored": ignored,
    }
    return Regions(
        candidates.table(opened), report | _count_missing(wanted, candidates.bins, bins)
    )


def _check_width(table: Intervals, width: int | None) -> int:
    """Return the width of negatives: the given width, or that of all peaks."""
    if width is not None:
        return check_integer("width", width, least=1, most=MAX_POSITION)
    lengths = table.stops - table.starts
    if (lengths != lengths[0]).any():
        raise ArgumentError(
            f"peaks have {lengths.min():,} to {lengths.max():,} bases: pass width=, the "
            "length of the negatives, such as the length that the model reads"
        )
    return int(lengths[0])


def _count_wanted(of_peaks: Integers, bins: _GcBins, ratio: float) -> Integers:
    """Return the number of negatives in each bin."""
    counts = np.bincount(of_peaks, minlength=bins.count)
    # Rounding the cumulative sum gives the right total for any number of bins.
    return np.diff(np.round(np.cumsum(counts) * ratio).astype(np.int64), prepend=0)


def _count_unknown(of_peaks: Integers, max_unknown: float) -> int:
    """Count the peaks without a bin, and warn of them."""
    unknown = int((of_peaks < 0).sum())
    if unknown:
        warn_user(
            f"{unknown:,} of {of_peaks.size:,} peaks have too many unknown bases "
            f"(max_unknown is {max_unknown}), so they have no negatives; remove these "
            "peaks, or raise max_unknown"
        )
    return unknown


def _count_missing(wanted: Integers, chosen: Integers, bins: _GcBins) -> dict[str, Any]:
    """Count the missing negatives by their G+C content, and warn of them."""
    missing = wanted - np.bincount(chosen, minlength=wanted.size)
    by_gc = {bins.name(it): int(missing[it]) for it in np.flatnonzero(missing).tolist()}
    report = {"wanted": int(wanted.sum()), "missing": int(missing.sum())}
    if by_gc:
        worst = max(by_gc, key=by_gc.__getitem__)
        warn_user(
            f"{report['missing']:,} of {report['wanted']:,} negatives are missing; for "
            f"example, {by_gc[worst]:,} with {worst} G+C. The contigs of the peaks have "
            "too few intervals with this G+C content. report['missing_by_gc'] counts each "
            "bin. Pass a smaller ratio, or wider bins (gc_bins)"
        )
    return report | {"missing_by_gc": by_gc}


def _count_candidates(
    genome: Genome, spans: Spans, bins: _GcBins, *, key: Key
) -> tuple[_Candidates, Integers]:
    """Return intervals at regular distances with their bins, and the bins of peaks."""
    real, offsets = spans.clip(genome.lengths), np.cumsum(genome.lengths) - genome.lengths
    chroms: list[int] = np.unique(spans.chroms).tolist()
    step = int(genome.lengths[chroms].sum()) // _MAX_CANDIDATES
    step = max(-(-bins.width // _STEPS_PER_WIDTH), step)
    of_peaks = np.full(spans.chroms.size, -1)
    parts: list[_Candidates] = []
    for chrom in chroms:
        rows = np.flatnonzero(spans.chroms == chrom)
        rows = rows[np.argsort(spans.starts[rows], kind="stable")]
        end = int(genome.lengths[chrom]) - bins.width + 1
        # A contig with fewer starts than the step still has one candidate.
        starts = np.arange(
            int(key.fold(chrom).bits(1)[0]) % max(min(step, end), 1), end, step
        )
        ranges = (starts, starts + bins.width), (real.starts[rows], real.stops[rows])
        counts, of_rows = count_ranges(genome, chrom, *ranges)
        of_peaks[rows] = bins.find(*of_rows)
        parts.append(_Candidates.of(starts + offsets[chrom], counts, bins))
    return _Candidates.join(parts), of_peaks


@dataclass(frozen=True, slots=True)
class _GcBins:
    """Bins of G+C content, for sequences of one width."""

    size: float
    width: int
    max_unknown: float

    @classmethod
    def of(cls, size: float, width: int, max_unknown: float) -> _GcBins:
        """Check the arguments."""
        expected = f"a number from {_MIN_BIN} to 1"
        size = as_number("gc_bins", size, expected=expected, least=_MIN_BIN)
        if size > 1:
            raise ArgumentError(f"gc_bins must be {expected}, got {size}")
        return cls(size, width, check_share(max_unknown))

    @property
    def count(self) -> int:
        """The number of bins."""
        return ceil(1 / self.size - _ROUNDING)

    def find(self, gc: Integers, known: Integers) -> Integers:
        """Return the bins of sequences; -1 with too many unknown bases."""
        bins = (gc / np.maximum(known, 1) / self.size + _ROUNDING).astype(np.int64)
        has_unknown = self.width - known > self.max_unknown * self.width
        return np.where(has_unknown | (known == 0), -1, np.minimum(bins, self.count - 1))

    def name(self, number: int) -> str:
        """Return the bounds of a bin."""
        return f"{number * self.size:.6g}-{min((number + 1) * self.size, 1):.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Intervals of one width that may be negatives, in the order of the genome."""

    width: int
    starts: Integers  # in the concatenated sequences of the genome
    bins: Integers
    shares: NDArray[np.float64]

    @classmethod
    def of(
        cls, starts: Integers, counts: tuple[Integers, Integers], bins: _GcBins
    ) -> _Candidates:
        """Find the bins of candidates from the counts of their bases."""
        gc, known = counts
        return cls(bins.width, starts, bins.find(gc, known), gc / np.maximum(known, 1))

    @classmethod
    def join(cls, parts: list[_Candidates]) -> _Candidates:
        """Join the candidates of several chromosomes."""
        return cls(
            parts[0].width,
            np.concatenate([it.starts for it in parts]),
            np.concatenate([it.bins for it in parts]),
            np.concatenate([it.shares for it in parts]),
        )

    def outside(self, blocked: LinearSpans) -> _Candidates:
        """Return the candidates with few unknown bases that overlap no blocked range."""
        overlaps = blocked.count_overlaps(
            LinearSpans(self.starts, self.starts + self.width)
        )
        return self._take(np.flatnonzero((self.bins >= 0) & (overlaps == 0)))

    def _take(self, rows: Integers) -> _Candidates:
        return replace(
            self, starts=self.starts[rows], bins=self.bins[rows], shares=self.shares[rows]
        )

    def choose(self, wanted: Integers, key: Key) -> _Candidates:
        """Choose random candidates that do not overlap, up to a number in each bin."""
        by_bin = np.argsort(self.bins.astype(np.int16), kind="stable")
        sizes = np.bincount(self.bins, minlength=wanted.size)
        ends = np.cumsum(sizes)
        taken = dict[int, int]()  # at most one start in each part of the genome
        rows: list[int] = []
        # Bins with few candidates for each negative are filled first.
        order = np.argsort(-wanted / np.maximum(sizes, 1), kind="stable")
        for number in order[: np.count_nonzero(wanted)].tolist():
            part = by_bin[ends[number] - sizes[number] : ends[number]]
            order_key = key.fold("order").fold(number)
            rows += self._choose_apart(part, int(wanted[number]), taken, key=order_key)
        return self._take(np.sort(np.array(rows, np.int64)))

    def _choose_apart(
        self, part: Integers, count: int, taken: dict[int, int], *, key: Key
    ) -> list[int]:
        """Choose random candidates that do not overlap those taken."""
        rows: list[int] = []
        none = -self.width
        for row, start in self._shuffle(part, 2 * count, key):
            at = start // self.width
            is_free = at not in taken and start - taken.get(at - 1, none) >= self.width
            if is_free and taken.get(at + 1, start + self.width) - start >= self.width:
                taken[at] = start
                rows.append(row)
            if len(rows) == count:
                break
        return rows

    def _shuffle(self, part: Integers, size: int, key: Key) -> Iterator[tuple[int, int]]:
        """Yield candidates and their starts in random order, computed in blocks."""
        for first in range(0, part.size, size):
            positions = np.arange(first, min(first + size, part.size))
            rows = part[permuted_positions(positions, part.size, key)]
            yield from zip(rows.tolist(), self.starts[rows].tolist(), strict=True)

    def table(self, genome: Genome) -> dict[str, list[Any]]:
        """Return the candidates as columns."""
        ends = np.cumsum(genome.lengths)
        chroms = np.searchsorted(ends, self.starts, "right")
        starts = self.starts - (ends - genome.lengths)[chroms]
        return {
            "chrom": [genome.names[chrom] for chrom in chroms.tolist()],
            "start": starts.tolist(),
            "stop": (starts + self.width).tolist(),
            "gc": self.shares.tolist(),
        }
