"""`check_leakage`, which compares the intervals of a training and a validation set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._position import check_integer
from seqloom.data._similarity import (
    MIN_HOMOLOGOUS,
    MIN_SHARED_KMERS,
    KmerHashing,
    KmerSets,
    normalise_strand,
)
from seqloom.data.interval._composition import LinearSpans, count_bases
from seqloom.data.interval._filter import find_column
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._leakage_report import IntervalSummary, LeakageReport
from seqloom.data.interval._regions import Regions, take_table
from seqloom.data.interval._spans import apply_edge_rule, compute_spans, open_genome
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome, Spans

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_READ_BASES = 1 << 22
# Columns with more distinct values are not classes.
_MAX_LABEL_VALUES = 50


def check_leakage(
    train: Any,
    valid: Any,
    genome: str | os.PathLike[str],
    *,
    width: int | None = None,
    label: str | None = None,
) -> LeakageReport:
    """Find validation intervals that repeat training sequences, and compare both sets.

    A validation interval leaks if it overlaps a training interval, or if their sequences
    are homologous. On either strand, homologous sequences share at least three k-mers, and
    at least a quarter of the k-mers of the shorter one; or they have at least k bases and
    are equal. ``split(groups="homology")`` keeps such sequences in one set.

    Copies with 95 % equal bases are expected to share 54 % of the 12-mers. In sets of more
    than 16.8 million bases, 16-mers are compared (44 %). At most 8.4 million k-mers are
    compared, a random sample of all, so short intervals of large sets have few. One million
    intervals of 200 bases have 7.7 each; 63 % of such copies are then found. A k-mer of
    more than 1,000 training sequences is compared with the first 1,000 of them only.

    The report also compares the G+C content, the lengths, the share of unknown bases and
    the classes of both sets.

    Args:
        train: The training intervals, as in `IntervalDataset`.
        valid: The validation or test intervals.
        genome: A FASTA or FASTQ file: plain, bgzip or gzip.
        width: The length of all intervals, which is the number of bases that the model
            reads; each is centred at its summit or its middle. With None, intervals keep
            their lengths.
        label: The name of a column with the classes of the intervals.

    Returns:
        The report.

    Raises:
        FormatError: An interval is empty, or its sequence is not in the genome.
        ArgumentError: The column does not exist or does not contain classes.

    Examples:
        >>> from pathlib import Path
        >>> bases = "AACGTCCTAAGGCTTACGGATCTAGACCATGCA"
        >>> _ = Path("g.fa").write_text(
        ...     f">a\\n{bases}\\n>b\\n{bases}\\n>c\\n{'GATT' * 9}\\n"
        ... )
        >>> train = {"chrom": ["a"], "start": [0], "stop": [30]}
        >>> valid = {"chrom": ["a", "b", "c"], "start": [29, 0, 0], "stop": [33, 33, 33]}
        >>> report = check_leakage(train, valid, "g.fa")
        >>> report.overlapping, report.homologous, report.leaks["chrom"]
        (1, 1, ['a', 'b'])
    """
    if width is not None:
        check_integer("width", width, least=1, most=MAX_POSITION)
    opened = open_genome(genome)
    one, two = (
        _IntervalSet.read(it, opened, width=width, label=label) for it in (train, valid)
    )
    partners, shares = _find_overlaps(one.linear, two.linear)
    is_overlap = partners >= 0
    hashing = KmerHashing.for_homology(sum(it.bases for it in (one, two)))
    others, similarities = _find_homologous(one, two, opened, hashing=hashing)
    partners = np.where(is_overlap, partners, others)
    rows = np.flatnonzero(partners >= 0)
    table = take_table(two.table, two.spans, rows, width=width)
    table["train"] = [one.name(row) for row in partners[rows].tolist()]
    table["reason"] = [("homology", "overlap")[it] for it in is_overlap[rows].tolist()]
    table["shared"] = np.where(is_overlap, shares, similarities)[rows].tolist()
    return LeakageReport(one.summary(), two.summary(), Regions(table, {}), hashing.k)


@dataclass(frozen=True, slots=True, eq=False)
class _IntervalSet:
    """Intervals with their positions, counts of bases and classes."""

    table: Intervals
    spans: Spans
    edge: int
    linear: LinearSpans
    counts: tuple[Integers, Integers]
    classes: dict[str, int]

    @classmethod
    def read(
        cls, intervals: Any, genome: Genome, *, width: int | None, label: str | None
    ) -> _IntervalSet:
        """Read intervals, and count their bases."""
        table = read_intervals(intervals)
        wanted = compute_spans(table, genome, width)
        apply_edge_rule(table, wanted, genome.lengths, jitter=0, edge="pad")
        spans = wanted.clip(genome.lengths)
        is_cut = (spans.starts != wanted.starts) | (spans.stops != wanted.stops)
        linear = LinearSpans.of(spans, genome.lengths)
        classes = {} if label is None else _count_classes(table, label)
        counts = count_bases(spans, genome)
        return cls(table, wanted, int(is_cut.sum()), linear, counts, classes)

    @property
    def bases(self) -> int:
        """The number of bases of all intervals."""
        return int((self.linear.stops - self.linear.starts).sum())

    def name(self, row: int) -> str:
        """Return the position of an interval."""
        start, stop = int(self.spans.starts[row]), int(self.spans.stops[row])
        return f"{self.table.chroms[row]}:{start}-{stop}"

    def summary(self) -> IntervalSummary:
        """Return the summary of the set."""
        gc, known = self.counts
        lengths = self.spans.stops - self.spans.starts
        return IntervalSummary(
            np.where(known > 0, gc / np.maximum(known, 1), np.nan),
            lengths,
            1 - int(known.sum()) / int(lengths.sum()),
            self.edge,
            int((self.linear.count_overlaps(self.linear) > 1).sum()),
            self.classes,
        )

    def hash_kmers(
        self, genome: Genome, hashing: KmerHashing
    ) -> tuple[KmerSets, list[int | None]]:
        """Return the k-mers of the sequences, which are read in parts, and their hashes.

        Sequences with unknown bases, or with less than k bases, have no hash.
        """
        sequence_hashes: list[int | None] = []
        spans = self.spans.clip(genome.lengths)
        blocks = np.cumsum(spans.stops - spans.starts) // _READ_BASES
        rows = np.arange(blocks.size)

        def hash_rows(at: Integers) -> tuple[NDArray[np.uint64], Integers]:
            part = spans.take(at)
            letters = genome.fetch(part.chroms, part.starts, part.stops, num_threads=1)
            is_long = letters.lengths >= hashing.k
            is_whole = (is_long & (self.counts[1][at] == letters.lengths)).tolist()
            sequence_hashes.extend(
                hash(normalise_strand(text)) if whole else None
                for text, whole in zip(letters.to_list(), is_whole, strict=True)
            )
            hashes, row = hashing.hash(letters.data, letters.offsets)
            return hashes, row + at[0]

        parts = np.split(rows, np.flatnonzero(np.diff(blocks)) + 1)
        kmers = KmerSets.join([hash_rows(it) for it in parts], rows.size)
        return kmers, sequence_hashes


def _count_classes(table: Intervals, label: str) -> dict[str, int]:
    """Count the intervals of each class."""
    counts = Counter(map(str, find_column(table, "label", label)))
    if len(counts) > _MAX_LABEL_VALUES:
        raise ArgumentError(
            f"{table.what}: the column {label!r} has {len(counts):,} distinct values, but "
            f"classes can have at most {_MAX_LABEL_VALUES}; name another column"
        )
    return {name: counts[name] for name in sorted(counts)}


def _find_overlaps(train: LinearSpans, valid: LinearSpans) -> tuple[Integers, Floats]:
    """Return an overlapping training range (-1: none), and the share of shared bases."""
    # Of the ranges that start before the end of a range, the one that ends last overlaps
    # it if any does.
    order, latest = train.find_latest()
    before = np.searchsorted(train.starts[order], valid.stops) - 1
    at = latest[np.maximum(before, 0)]
    shared = np.minimum(train.stops[at], valid.stops)
    shared -= np.maximum(train.starts[at], valid.starts)
    is_overlap = (before >= 0) & (shared > 0)
    return np.where(is_overlap, at, -1), shared / (valid.stops - valid.starts)


def _find_homologous(
    train: _IntervalSet, valid: _IntervalSet, genome: Genome, *, hashing: KmerHashing
) -> tuple[Integers, Floats]:
    """Return the most similar training interval (-1: none), and the share of k-mers."""
    (known, texts), (queries, valid_texts) = (
        it.hash_kmers(genome, hashing) for it in (train, valid)
    )
    partners, shares = np.full(len(valid.table), -1), np.zeros(len(valid.table))
    pairs = queries.match(known, MIN_HOMOLOGOUS, min_shared=MIN_SHARED_KMERS)
    for rows, others, found in pairs:
        order = np.argsort(found, kind="stable")  # the last value of a row is stored
        partners[rows[order]], shares[rows[order]] = others[order], found[order]
    # Equal sequences may have few k-mers, or only those of many sequences.
    first_rows = {text: row for row, text in reversed(list(enumerate(texts)))}
    for row, text in enumerate(valid_texts):
        if text is not None and text in first_rows:
            partners[row], shares[row] = first_rows[text], 1
    return partners, shares
