"""Reads the usable alleles of a file, a batch or a table of variants."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import is_list, quote
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._text import MAX_EXAMPLES
from seqloom.data._frame import Frame
from seqloom.data.interval._bed import as_whole_number
from seqloom.data.interval._intervals import MAX_POSITION
from seqloom.data.interval._spans import EDGE_REMEDIES
from seqloom.data.variant._alleles import (
    STATUS,
    SWAPPED,
    AlleleTable,
    mark_edges,
    resolve_alleles,
    windows_within_contigs,
)
from seqloom.data.variant._check import CheckReport
from seqloom.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._check import VariantColumns


@dataclass(slots=True)
class VariantRows:
    """The usable alleles of all records, and counts of the others."""

    report: CheckReport
    table: AlleleTable = field(init=False)
    lines: NDArray[np.int64] = field(init=False)  # Line of each row of the table.
    record_count: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])

    @classmethod
    def read(cls, variants: Any, genome: Genome, on_mismatch: str) -> VariantRows:
        """Read and check all records."""
        if isinstance(variants, (str, os.PathLike)):
            from seqloom.io import open_variants

            path = os.fspath(variants)
            noun = "record" if path.endswith(".bcf") else "line"
            with open_variants(path) as reader:
                found = cls(CheckReport(genome, reader.contigs, what=path, noun=noun))
                found._add(reader.batches(), genome, on_mismatch)
        elif hasattr(variants, "chrom_codes"):
            found = cls(CheckReport(genome))
            found._add([variants], genome, on_mismatch)
        else:
            what = "the table of variants"
            found = cls(CheckReport(genome, what=what, noun="row"))
            found._add([_read_table(variants)], genome, on_mismatch)
        if on_mismatch == "error":
            found.report.raise_for_mismatch()
        return found

    def _add(
        self, batches: Iterable[VariantColumns], genome: Genome, on_mismatch: str
    ) -> None:
        tables: list[AlleleTable] = []
        lines: list[NDArray[np.int64]] = []
        for batch in batches:
            table = resolve_alleles(
                batch, genome, on_mismatch=on_mismatch, report=self.report
            )
            self._count(table.take(np.flatnonzero(~table.usable)), batch)
            table = table.take(np.flatnonzero(table.usable))
            lines.append(np.asarray(batch.lines)[table.records])
            tables.append(replace(table, records=table.records + self.record_count))
            self.record_count += len(batch.starts)
        if not self.record_count:
            raise FormatError(f"{self.report.what}: expected variants, found none")
        self.table, self.lines = _join_tables(tables), np.concatenate(lines)

    def _count(self, table: AlleleTable, batch: VariantColumns) -> None:
        """Count the skipped alleles of a batch by reason."""
        for code, count in enumerate(np.bincount(table.status, minlength=len(STATUS))):
            if count:
                self.skipped[STATUS[code]] += int(count)
        for row in range(min(len(table), MAX_EXAMPLES - len(self.examples))):
            record = int(table.records[row])
            name = batch.chrom_names[int(batch.chrom_codes[record])]
            where = f"{self.report.noun} {batch.lines[record]}, {name}"
            self._add_example(where, table, row)

    def _add_example(self, where: str, table: AlleleTable, row: int) -> None:
        ref, alt = (
            rows[row].tobytes().decode("latin-1") for rows in (table.refs, table.alts)
        )
        reason = STATUS[int(table.status[row])]
        self.examples.append(f"{where}:{table.starts[row] + 1} {ref}>{alt}: {reason}")

    def apply_edge_rule(
        self, genome: Genome, edge: str, *, left: int, width: int
    ) -> VariantRows:
        """Raise for windows that leave their contig, or drop them."""
        if edge == "pad":
            return self
        is_within = windows_within_contigs(genome, self.table, left=left, width=width)
        outside = np.flatnonzero(~is_within)
        if not outside.size:
            return self
        table, row = mark_edges(self.table, is_within), int(outside[0])
        contig = int(table.contigs[row])
        name = genome.names[contig]
        where = f"{self.report.noun} {self.lines[row]}, {name}"
        if edge == "error":
            raise FormatError(
                f"{self.report.what}, {where}:{table.starts[row] + 1}: the window of "
                f"{width:,} bases is not within the {genome.lengths[contig]:,} bases of "
                f"{name}, in {outside.size:,} of {len(table):,} variants; {EDGE_REMEDIES}"
            )
        self.skipped["edge"] += int(outside.size)
        if len(self.examples) < MAX_EXAMPLES:
            self._add_example(where, table, row)
        rows = np.flatnonzero(is_within)
        self.table, self.lines = table.take(rows), self.lines[rows]
        return self

    def facts(self) -> dict[str, Any]:
        """Return the counts of the dataset's report."""
        return self.report.to_dict() | {
            "swapped": int((self.table.status == SWAPPED).sum()),
            "skipped": dict(self.skipped),
            "skipped_examples": self.examples,
        }


def _join_tables(tables: list[AlleleTable]) -> AlleleTable:
    """Concatenate one or more tables."""
    if len(tables) == 1:
        return tables[0]
    return AlleleTable(
        np.concatenate([table.records for table in tables]),
        np.concatenate([table.alternatives for table in tables]),
        np.concatenate([table.status for table in tables]),
        np.concatenate([table.contigs for table in tables]),
        np.concatenate([table.starts for table in tables]),
        _join_rows([table.refs for table in tables]),
        _join_rows([table.alts for table in tables]),
    )


def _join_rows(parts: list[Ragged]) -> Ragged:
    lengths = np.concatenate([part.lengths for part in parts])
    data = np.concatenate([part.data for part in parts])
    return Ragged(data, lengths_to_offsets(lengths))


# Tables in memory

_COLUMN_NAMES = {
    "chrom": ("chrom", "chr", "chromosome", "contig"),
    "pos": ("pos", "position"),
    "start": ("start",),
    "ref": ("ref",),
    "alt": ("alt",),
}


@dataclass(frozen=True, slots=True, eq=False)
class _TableColumns:
    """The columns of a table of variants."""

    chrom_codes: NDArray[np.int32]
    chrom_names: list[str]
    starts: NDArray[np.int64]
    refs: Ragged
    alts: Ragged
    lines: NDArray[np.int64]


def _read_table(table: Any) -> VariantColumns:
    """Return the columns of a dict or data frame of variants."""
    frame = Frame.of(table)
    if frame is None:
        raise ArgumentError(
            "variants must be a VCF or BCF file, a batch of sl.io.open_variants, a dict of "
            f"columns or a data frame, got {quote(table)}"
        )
    names = {name.strip().lstrip("#").lower(): name for name in frame.names}
    columns = {
        wanted: frame.column(names[alias])
        for wanted, aliases in _COLUMN_NAMES.items()
        for alias in aliases
        if alias in names
    }
    missing = [name for name in ("chrom", "ref", "alt") if name not in columns]
    if missing or ("pos" in columns) == ("start" in columns):
        raise ArgumentError(
            f"{frame.what} of variants has the columns {', '.join(frame.names)}; expected "
            "chrom, ref, alt, and either pos (from 1) or start (from 0)"
        )
    chroms = [str(chrom) for chrom in columns["chrom"]]
    codes = {name: code for code, name in enumerate(dict.fromkeys(chroms))}
    return _TableColumns(
        np.array([codes[chrom] for chrom in chroms], np.int32),
        list(codes),
        _read_positions(columns),
        Ragged.from_list([_allele_text(allele) for allele in columns["ref"]]),
        Ragged.from_list([_allele_text(allele) for allele in columns["alt"]]),
        np.arange(len(chroms)),
    )


def _read_positions(columns: Mapping[str, list[Any]]) -> NDArray[np.int64]:
    """Return zero-based positions."""
    name, first = ("pos", 1) if "pos" in columns else ("start", 0)
    positions = np.zeros(len(columns[name]), np.int64)
    for row, cell in enumerate(columns[name]):
        try:
            number = as_whole_number(cell)
        except (ValueError, TypeError, OverflowError):
            number = MAX_POSITION + 1
        if abs(number) > MAX_POSITION:
            raise FormatError(
                f"the table of variants, row {row}: {name} must be an integer, found "
                f"{cell!r}",
                record=row,
            )
        positions[row] = number - first
    return positions


def _allele_text(allele: Any) -> bytes:
    """Return an allele as bytes; lists of ALT alleles are joined with commas."""
    if isinstance(allele, bytes):
        return allele
    if is_list(allele):
        return b",".join(map(_allele_text, allele))
    return str(allele).encode("latin-1", "replace")
