"""Read the usable alleles of a file, a batch or a table of variants."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._text import MAX_EXAMPLES
from seqloom.data.variant._alleles import (
    STATUS,
    SWAPPED,
    AlleleTable,
    mark_edges,
    resolve_alleles,
    windows_within_contigs,
)
from seqloom.data.variant._variant_input import VariantInput
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._check import CheckReport, VariantColumns


@dataclass(slots=True)
class VariantRows:
    """The usable alleles of all records, and counts of the others."""

    report: CheckReport
    table: AlleleTable = field(init=False)
    lines: NDArray[np.int64] = field(init=False)  # Line in the file of each row.
    record_count: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    examples: list[str] = field(default_factory=list[str])

    @classmethod
    def read(cls, variants: Any, genome: Genome, **rules: Any) -> VariantRows:
        """Read and check all records; the rules are those of `resolve_alleles`."""
        source = VariantInput(variants)
        rows = cls(source.report(genome))
        rows._add(source.batches(), genome, rules)
        if rules["on_mismatch"] == "error":
            rows.report.raise_for_mismatch()
        return rows

    def _add(
        self, batches: Iterable[VariantColumns], genome: Genome, rules: dict[str, Any]
    ) -> None:
        """Add the usable alleles of all batches, and count the others."""
        tables: list[AlleleTable] = []
        lines: list[NDArray[np.int64]] = []
        for batch in batches:
            table = resolve_alleles(batch, genome, report=self.report, **rules)
            self._count(table.take(np.flatnonzero(~table.usable)), batch)
            table = table.take(np.flatnonzero(table.usable))
            lines.append(np.asarray(batch.lines)[table.records])
            tables.append(replace(table, records=table.records + self.record_count))
            self.record_count += len(batch.starts)
        if not self.record_count:
            raise FormatError(f"{self.report.what}: expected variants, found none")
        self.table, self.lines = _join_tables(tables), np.concatenate(lines)

    def _count(self, table: AlleleTable, batch: VariantColumns) -> None:
        """Count the skipped alleles of a batch by reason; the first become examples."""
        for code, count in enumerate(np.bincount(table.status, minlength=len(STATUS))):
            if count:
                self.skipped[STATUS[code]] += int(count)
        for row in range(min(len(table), MAX_EXAMPLES - len(self.examples))):
            record = int(table.records[row])
            name = batch.chrom_names[int(batch.chrom_codes[record])]
            place = f"{self.report.noun} {batch.lines[record]}, {name}"
            self._add_example(place, table, row)

    def _add_example(self, place: str, table: AlleleTable, row: int) -> None:
        """Add the position, alleles and status of a row; `place` is line and contig."""
        ref, alt = (
            rows[row].tobytes().decode("latin-1") for rows in (table.refs, table.alts)
        )
        reason = STATUS[int(table.status[row])]
        self.examples.append(f"{place}:{table.starts[row] + 1} {ref}>{alt}: {reason}")

    def apply_edge_rule(self, genome: Genome, edge: str, *, left: int, width: int) -> None:
        """Raise for windows that extend beyond the contig, drop them, or keep them."""
        if edge == "pad":
            return
        is_within = windows_within_contigs(genome, self.table, left=left, width=width)
        outside = np.flatnonzero(~is_within)
        if not outside.size:
            return
        if edge == "error":
            row, table = int(outside[0]), self.table
            variant = int(table.contigs[row]), int(table.starts[row]), int(self.lines[row])
            counts = outside.size, len(table)
            self.report.raise_for_edge(variant, counts=counts, width=width)
        table, row = mark_edges(self.table, is_within), int(outside[0])
        name = genome.names[int(table.contigs[row])]
        place = f"{self.report.noun} {self.lines[row]}, {name}"
        self.skipped["edge"] += int(outside.size)
        if len(self.examples) < MAX_EXAMPLES:
            self._add_example(place, table, row)
        rows = np.flatnonzero(is_within)
        self.table, self.lines = table.take(rows), self.lines[rows]

    def facts(self) -> dict[str, Any]:
        """Return the counts for the ``report`` of the dataset."""
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
        np.concatenate([table.alt_numbers for table in tables]),
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
