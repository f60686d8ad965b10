"""Alleles of variants in normal form, and the sequences around variants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from seqloom._arguments import as_choice
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.data._position import check_integer
from seqloom.data.interval._intervals import MAX_POSITION
from seqloom.data.variant._check import CheckReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._check import VariantColumns

STATUS = (
    "ok",
    "swapped",
    "missing",
    "spanning_deletion",
    "symbolic",
    "breakend",
    "reference_block",
    "contig_not_in_genome",
    "outside_contig",
    "reference_mismatch",
    "ambiguous_swap",
    "invalid_allele",
    "edge",
)
SWAPPED, EDGE = STATUS.index("swapped"), STATUS.index("edge")
MISMATCH_CHOICES = ("error", "skip", "swap")


@dataclass(frozen=True, slots=True, eq=False)
class AlleleTable:
    """A row for each record and ALT allele, in the order of the records.

    ``refs`` and ``alts`` are in normal form, as ``bcftools norm`` writes them, where the
    status is "ok" or "swapped". Other rows have the alleles of the record.
    """

    records: NDArray[np.int64]  # Row of the record in its batch.
    alt_numbers: NDArray[np.int32]  # Number of the ALT allele, from 1.
    status: NDArray[np.uint8]  # Index into STATUS.
    contigs: NDArray[np.int32]  # Sequence number in the genome; -1 if absent.
    starts: NDArray[np.int64]  # Zero-based.
    refs: Ragged
    alts: Ragged

    def __len__(self) -> int:
        return self.records.size

    @property
    def usable(self) -> NDArray[np.bool_]:
        """True for rows whose alleles are known: "ok" and "swapped"."""
        return self.status <= SWAPPED

    def take(self, rows: NDArray[np.int64]) -> AlleleTable:
        """Return the rows at some indices."""
        return AlleleTable(
            self.records[rows],
            self.alt_numbers[rows],
            self.status[rows],
            self.contigs[rows],
            self.starts[rows],
            self.refs.take(rows),
            self.alts.take(rows),
        )


def resolve_alleles(
    batch: VariantColumns,
    genome: Genome,
    *,
    on_mismatch: str = "skip",
    split_mnps: bool = False,
    report: CheckReport | None = None,
) -> AlleleTable:
    """Compare records with the genome, and return their alleles in normal form.

    With ``on_mismatch="swap"``, a record whose ALT equals the genome has the status
    "swapped": ALT is its reference and REF its alternative. If the genome also has REF on
    the other strand, the status is "ambiguous_swap". With ``"error"``, this function skips
    the record; call ``report.raise_for_mismatch()`` after the last batch.

    Args:
        batch: The records.
        genome: The genome.
        on_mismatch: The treatment of records whose REF differs from the genome.
        split_mnps: If True, split substitutions of several bases into single bases.
        report: Counts the differences of all batches of a file.

    Returns:
        At least one row for each record.

    Raises:
        FormatError: Two contig names of the records match one sequence of the genome.
    """
    as_choice("on_mismatch", on_mismatch, MISMATCH_CHOICES)
    report = CheckReport(genome) if report is None else report
    contigs = report.contigs.numbers(batch.chrom_names, batch.chrom_codes)
    records, alt_numbers, status, starts, refs, alts, flags = _native.resolve_alleles(
        genome.native,
        genome.lengths,
        (contigs, batch.starts),
        (batch.refs.data, batch.refs.offsets),
        (batch.alts.data, batch.alts.offsets),
        on_mismatch == "swap",
        split_mnps,
    )
    report.add(batch, contigs, flags)
    positions = (contigs[records], starts)
    return AlleleTable(
        records, alt_numbers, status, *positions, Ragged(*refs), Ragged(*alts)
    )


def variant_windows(
    genome: Genome,
    table: AlleleTable,
    *,
    left: int,
    width: int,
    allele: str = "alternative",
    anchor: str = "left",
    columns: int | None = None,
    limits: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> NDArray[np.uint8]:
    """Return the sequences around variants with one of their alleles, in upper case.

    The reference window is the genome from ``start - left``, ``width`` bases long. The
    alternative window has the same first base and is filled from the genome on the right.
    With ``anchor="right"``, it has the same last base and is filled on the left. If a
    deletion includes that last base, the window ends where the deletion begins.

    Args:
        genome: The genome.
        table: The alleles; rows that are not usable give sequences without meaning.
        left: The number of bases before the variant's position.
        width: The number of bases of the reference window.
        allele: The allele to write: "reference" or "alternative".
        anchor: The end that the windows of both alleles share: "left" or "right".
        columns: The number of bases of the alternative window; by default, ``width``.
        limits: The first position that is not masked in each row, and the position after
            the last one. Inserted bases belong to the base before them.

    Returns:
        An array (rows, bases) of ASCII codes; N outside the contig and the limits.
    """
    check_integer("left", left, least=-MAX_POSITION, most=MAX_POSITION)
    check_integer("width", width, least=1, most=MAX_POSITION)
    as_choice("allele", allele, ("reference", "alternative"))
    as_choice("anchor", anchor, ("left", "right"))
    is_alternative = allele == "alternative"
    count = columns if is_alternative and columns is not None else width
    out = np.empty((len(table), count), np.uint8)
    _native.variant_windows(
        genome.native,
        genome.lengths,
        (table.contigs, table.starts),
        (table.refs.data, table.refs.offsets),
        (table.alts.data, table.alts.offsets),
        limits,
        (left, width),
        anchor == "right",
        is_alternative,
        out,
    )
    return out


def windows_within_contigs(
    genome: Genome, table: AlleleTable, *, left: int, width: int, anchor: str = "left"
) -> NDArray[np.bool_]:
    """Return True for rows whose windows of both alleles are within their contig.

    With ``anchor="none"``, the window of a deletion is shorter, not filled from the genome.
    """
    deleted = np.maximum(table.refs.lengths - table.alts.lengths, 0)
    before = deleted if anchor == "right" else 0
    after = deleted if anchor == "left" else 0
    starts = table.starts - left
    # Index -1, an absent contig, has 0 bases.
    lengths = np.append(genome.lengths, 0)[table.contigs]
    return (starts - before >= 0) & (starts + width + after <= lengths)


def mark_edges(table: AlleleTable, is_within: NDArray[np.bool_]) -> AlleleTable:
    """Set the status "edge" for usable rows whose windows extend beyond the contig."""
    status = np.where(table.usable & ~is_within, EDGE, table.status)
    return replace(table, status=status.astype(np.uint8))
