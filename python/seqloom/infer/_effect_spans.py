"""Genes and regions, by the contigs of a genome."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._text import join_first_names
from seqloom.data.variant._check import ContigNames
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome

    Integers = NDArray[np.int64]


class SpansByContig:
    """Genes or regions on the contigs of a genome."""

    def __init__(self, spans: Intervals, genome: Genome) -> None:
        self._spans = spans
        self._exon_ends: list[Integers] = []
        codes = {name: code for code, name in enumerate(dict.fromkeys(spans.chroms))}
        contigs = ContigNames(genome, spans.what)
        numbers = np.array([contigs.find(name) for name in codes], np.int64)
        if (numbers < 0).all():
            raise FormatError(
                f"{spans.what}: {genome.path} has none of the contigs "
                f"{join_first_names(list(codes))}; the genome has "
                f"{join_first_names(genome.names)}"
            )
        of_rows = numbers[[codes[name] for name in spans.chroms]]
        # The rows of each contig, their sorted starts, and their sorted stops.
        self._by_contig: dict[int, tuple[Integers, Integers, Integers]] = {}
        for number in np.unique(of_rows[of_rows >= 0]).tolist():
            rows = np.flatnonzero(of_rows == number)
            bounds = np.sort(spans.starts[rows]), np.sort(spans.stops[rows])
            self._by_contig[number] = rows, *bounds

    @classmethod
    def of(cls, spans: Intervals | None, genome: Genome) -> SpansByContig | None:
        """Group intervals by contig; return None for None."""
        return None if spans is None else cls(spans, genome)

    def find(
        self, contigs: NDArray[np.int32], starts: Integers
    ) -> tuple[Integers, Integers]:
        """Return the rows of positions, and of intervals that contain them (-1: none)."""
        rows: list[int] = []
        matches: list[int] = []
        pairs = zip(contigs.tolist(), starts.tolist(), strict=True)
        for row, (contig, start) in enumerate(pairs):
            containing = [-1]
            if contig in self._by_contig:
                spans = self._by_contig[contig][0]
                is_match = self._spans.starts[spans] <= start
                is_match &= start < self._spans.stops[spans]
                containing = spans[is_match].tolist() or containing
            rows += [row] * len(containing)
            matches += containing
        return np.array(rows, np.int64), np.array(matches, np.int64)

    def overlap(
        self, contigs: NDArray[np.int32], starts: Integers, stops: Integers
    ) -> NDArray[np.bool_]:
        """Return True for variants that overlap an interval."""
        is_inside = np.zeros(len(starts), bool)
        for contig in set(contigs.tolist()) & set(self._by_contig):
            at = np.flatnonzero(contigs == contig)
            # A variant overlaps an interval if more intervals start before its end than
            # end before its start.
            _, span_starts, span_stops = self._by_contig[contig]
            started = np.searchsorted(span_starts, stops[at])
            ended = np.searchsorted(span_stops, starts[at], "right")
            is_inside[at] = started > ended
        return is_inside

    def names(self, rows: Integers) -> list[str]:
        """Return the names of intervals; the name of row -1 is empty."""
        names: list[Any] = self._column("name") or [""] * len(self._spans)
        return [str(names[row]) if row >= 0 else "" for row in rows.tolist()]

    def check_strands(self) -> None:
        """Raise if an interval has no strand."""
        (rows,) = np.nonzero(self._spans.strands == 0)
        if rows.size:
            raise self._spans.error(
                int(rows[0]),
                "expected a gene with a strand, + or -, because its direction decides how "
                "the model reads the sequence",
            )

    def read_exons(self) -> None:
        """Read both ends of each exon; raise if the table has no exons."""
        starts, stops = self._column("exon_start"), self._column("exon_end")
        if starts is None or stops is None:
            raise FormatError(
                f"{self._spans.what}: masked (--masked) needs the columns EXON_START and "
                "EXON_END, each with numbers between commas, as in the tables of SpliceAI"
            )
        for row, pair in enumerate(zip(starts, stops, strict=True)):
            exon_starts, exon_stops = (self._numbers(row, cell) for cell in pair)
            ends = np.concatenate([exon_starts, exon_stops - 1])
            self._exon_ends.append(np.unique(ends))

    def find_exon_distances(self, rows: Integers, starts: Integers) -> Integers:
        """Return the distance from each position to the nearest end of an exon."""
        nearest: Integers = np.zeros(len(rows), np.int64)
        for at, (row, start) in enumerate(zip(rows, starts, strict=True)):
            distances = self._exon_ends[int(row)] - int(start)
            nearest[at] = min(distances.tolist(), key=abs)
        return nearest

    def _numbers(self, row: int, cell: Any) -> Integers:
        texts = cell.split(",") if isinstance(cell, str) else list(cell)
        try:
            numbers = [int(text) for text in texts if text != ""]
        except (TypeError, ValueError):
            numbers = []
        if not numbers:
            raise self._spans.error(row, f"expected positions of exons, found {cell!r}")
        return np.array(numbers, np.int64)

    def _column(self, name: str) -> list[Any] | None:
        """Return a column whose name may have capitals, a plural, or no underscore."""
        columns = {it.lower().replace("_", ""): it for it in self._spans.columns}
        key = name.replace("_", "")
        match = columns.get(key) or columns.get(f"{key}s")
        return None if match is None else self._spans.columns[match]


def digest_spans(spans: Intervals | None) -> str:
    """Return a hash of intervals and their other columns."""
    if spans is None:
        return "none"
    texts = repr((spans.chroms, sorted(spans.columns.items())))
    digest = hashlib.blake2b(texts.encode(), digest_size=16)
    for column in (spans.starts, spans.stops, spans.strands):
        digest.update(column.tobytes())
    return digest.hexdigest()
