"""Compare contig names and REF alleles of records with a genome."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from seqloom._text import (
    MAX_EXAMPLES,
    contig_aliases,
    format_count,
    join_first_names,
)
from seqloom.data.interval._spans import EDGE_REMEDIES
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data.interval._spans import Genome

# The flags of `seqloom-variants::check`, from the lowest bit.
FLAGS = (
    "iupac",
    "differs",
    "exchanged",
    "other_strand",
    "other_strand_exchanged",
    "one_left",
    "one_right",
    "genome_n",
    "lower_case",
    "not_compared",
)
_REASONS = {
    "exchanged": "the genome has ALT",
    "other_strand": "the genome has REF on the other strand",
    "other_strand_exchanged": "the genome has ALT on the other strand",
    "one_left": "the genome has REF one base to the left",
    "one_right": "the genome has REF one base to the right",
    "genome_n": "the genome has N",
}
_PROBABLE_CAUSES = {
    "exchanged": "REF and ALT are probably exchanged",
    "other_strand": "the alleles are probably those of the other strand",
    "other_strand_exchanged": (
        "the alleles are probably exchanged, and those of the other strand"
    ),
    "one_left": "POS is probably one too large",
    "one_right": "POS probably counts from 0; VCF counts from 1",
    "genome_n": "pass a genome that is not masked with N",
}
_REMEDY = 'pass on_mismatch="skip" (--on-mismatch skip) to skip these records'
_SWAP_REMEDY = (
    'on_mismatch="swap" (--on-mismatch swap) to use ALT as the reference where the genome '
    "has ALT"
)
# A cause is reported as probable if it explains this fraction of the differences.
_PROBABLE_FRACTION = 0.9
_MIN_DIFFERENCES = 5  # fewer differences have no probable cause
_MAX_SHOWN_BASES = 20  # of an allele in a message


class VariantColumns(Protocol):
    """Columns of records, such as a ``VariantBatch``."""

    @property
    def chrom_codes(self) -> NDArray[np.int32]: ...
    @property
    def chrom_names(self) -> Sequence[str]: ...
    @property
    def starts(self) -> NDArray[np.int64]: ...
    @property
    def refs(self) -> Ragged: ...
    @property
    def alts(self) -> Ragged: ...
    @property
    def lines(self) -> NDArray[np.int64]: ...


class CheckReport:
    """Counts of the differences between records and a genome, over all batches of a file.

    Several reasons may apply to one record: a base equals its neighbour by chance in one of
    four cases.

    Args:
        genome: The genome.
        lengths: The lengths of contigs in the header of the VCF file.
        what: The name of the file in error messages.
        noun: The unit of the ``lines`` of a batch: "line", "record" (BCF) or "row".

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data.interval._spans import Genome
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> report = CheckReport(Genome("g.fa"), {"1": 12})
        >>> report.describe_lengths()
        '1 has 12 bases in the header and 10 in the genome'
    """

    def __init__(
        self,
        genome: Genome,
        lengths: Mapping[str, int | None] | None = None,
        *,
        what: str = "the variants",
        noun: str = "line",
    ) -> None:
        self.genome, self.what, self.noun = genome, what, noun
        self.contigs = ContigNames(genome, what)
        self.records = 0
        self.counts: Counter[str] = Counter()
        self.missing_contigs: Counter[str] = Counter()
        self.examples: list[str] = []
        # Another instance, because contigs without records may have two names.
        names = ((name, ContigNames(genome).find(name)) for name in lengths or ())
        # Lengths in the header and in the genome, where they differ.
        self.other_lengths: dict[str, tuple[int, int]] = {
            name: (length, int(genome.lengths[at]))
            for name, at in names
            if at >= 0 and (length := (lengths or {})[name]) is not None
            if length != genome.lengths[at]
        }

    def add(
        self, batch: VariantColumns, contigs: NDArray[np.int32], flags: NDArray[np.uint16]
    ) -> None:
        """Count the records of a batch; ``flags`` has the bits of FLAGS."""
        self.records += flags.size
        for bit, name in enumerate(FLAGS):
            if count := int(np.count_nonzero(flags & (1 << bit))):
                self.counts[name] += count
        absent = np.flatnonzero(contigs < 0)
        codes: list[int] = batch.chrom_codes[absent].tolist()
        self.missing_contigs.update(batch.chrom_names[code] for code in codes)
        stops = batch.starts + batch.refs.lengths
        # Index -1, an absent contig, has 0 bases.
        ends = np.append(self.genome.lengths, 0)[contigs]
        is_outside = (contigs >= 0) & ((batch.starts < 0) | (stops > ends))
        if count := int(np.count_nonzero(is_outside)):
            self.counts["outside_contig"] += count
        if len(self.examples) < MAX_EXAMPLES:
            differs = (flags & (1 << FLAGS.index("differs"))) != 0
            rows = np.flatnonzero(differs | is_outside)[: MAX_EXAMPLES - len(self.examples)]
            self.examples += [self._describe(batch, row, contigs) for row in rows.tolist()]

    def _describe(self, batch: VariantColumns, row: int, contigs: NDArray[np.int32]) -> str:
        """Return a record's line, position and REF, and the bases of the genome there."""
        start, ref = int(batch.starts[row]), batch.refs[row].tobytes().decode("latin-1")
        chrom = batch.chrom_names[int(batch.chrom_codes[row])]
        place = (
            f"{self.noun} {batch.lines[row]}, {chrom}:{start + 1}: REF is {_shorten(ref)}"
        )
        number = contigs[row : row + 1].astype(np.int64)
        end = int(self.genome.lengths[number[0]])
        if start < 0 or start + len(ref) > end:
            return f"{place}, the contig has {end:,} bases"
        bounds = np.array([start]), np.array([start + len(ref)])
        bases = self.genome.fetch(number, *bounds, num_threads=1)[0].tobytes().decode()
        return f"{place}, the genome has {_shorten(bases)}"

    @property
    def difference_count(self) -> int:
        """Number of records whose REF differs from the genome or exceeds the contig."""
        return self.counts["differs"] + self.counts["outside_contig"]

    def to_dict(self) -> dict[str, Any]:
        """Return all counts, for a report."""
        return {
            "records": self.records,
            "reference": dict(self.counts),
            "examples": list(self.examples),
            "missing_contigs": dict(self.missing_contigs),
            "other_lengths": dict(self.other_lengths),
            "contig_names": self.contigs.describe(),
        }

    def raise_for_mismatch(self) -> None:
        """Raise if a record differs from the genome, or if no contig is in the genome.

        Raises:
            FormatError: With the number of differences, probable reasons and remedies.
        """
        if self.records and sum(self.missing_contigs.values()) == self.records:
            names = join_first_names(list(self.missing_contigs))
            raise FormatError(
                f"{self.what}: {self.genome.path} has none of the contigs {names}; the "
                f"genome has {join_first_names(self.genome.names)}; pass the genome of the "
                "variants, or rename the contigs"
            )
        if self.difference_count:
            raise FormatError(self.describe_differences())

    def raise_for_edge(
        self, variant: tuple[int, int, int], *, counts: tuple[int, int], width: int
    ) -> NoReturn:
        """Raise an error about the first variant whose window extends beyond the contig.

        `variant` is its contig, start and line. `counts` are the number of such variants,
        and the number of all variants.

        Raises:
            FormatError: Always.
        """
        contig, start, line = variant
        name, length = self.genome.names[contig], self.genome.lengths[contig]
        raise FormatError(
            f"{self.what}, {self.noun} {line}, {name}:{start + 1}: the window of {width:,} "
            f"bases is not within the {length:,} bases of {name}, in {counts[0]:,} of "
            f"{counts[1]:,} variants; {EDGE_REMEDIES}"
        )

    def describe_differences(self) -> str:
        """Return the number of differences, their reasons, examples and remedies."""
        total = self.difference_count
        reasons = [
            f"{what} in {self.counts[name]:,}"
            for name, what in _REASONS.items()
            if self.counts[name]
        ]
        if outside := self.counts["outside_contig"]:
            reasons.append(f"REF extends beyond the contig in {outside:,}")
        parts = [
            (
                f"{self.what}: REF differs from {self.genome.path} in {total:,} of "
                f"{format_count(self.records, 'records')}"
            ),
            ", ".join(reasons),
            *self.examples,
            *self._probable_reasons(),
            f"{_REMEDY}, or {_SWAP_REMEDY}" if self.counts["exchanged"] else _REMEDY,
        ]
        return "; ".join(part for part in parts if part)

    def _probable_reasons(self) -> list[str]:
        total = self.difference_count
        reasons: list[str] = []
        if total >= _MIN_DIFFERENCES:
            reasons = [
                advice
                for name, advice in _PROBABLE_CAUSES.items()
                if self.counts[name] >= _PROBABLE_FRACTION * total
            ]
        if lengths := self.describe_lengths():
            reasons.append(f"{lengths}: the genome is probably another build")
        elif total >= _MIN_DIFFERENCES and 2 * total > self.records and not reasons:
            reasons.append(
                "most records differ: the genome is probably another build or species"
            )
        return reasons

    def describe_lengths(self) -> str:
        """Return the contigs whose lengths differ between the header and the genome."""
        lengths = [
            f"{name} has {header:,} bases in the header and {genome:,} in the genome"
            for name, (header, genome) in self.other_lengths.items()
        ]
        return join_first_names(lengths)


def _shorten(allele: str) -> str:
    if len(allele) <= _MAX_SHOWN_BASES:
        return allele
    return f"{allele[: _MAX_SHOWN_BASES - 3]}... ({len(allele):,} bases)"


class ContigNames:
    """Finds the sequences of a genome by the contig names of a VCF file.

    An exact name has precedence. Otherwise ``chr`` is added or removed, and M, MT, chrM and
    chrMT are one contig. Accession numbers are not translated.
    """

    def __init__(self, genome: Genome, what: str = "the variants") -> None:
        self.genome, self._what = genome, what
        self._counts = Counter(genome.names)
        self._numbers = {name: number for number, name in enumerate(genome.names)}
        self._names: dict[int, str] = {}  # The contig name of each matched sequence.
        self.matches: dict[str, int] = {}  # Sequence numbers; -1 if the genome has none.

    def find(self, name: str) -> int:
        """Return the number of the sequence of a contig; -1 if the genome lacks it."""
        if name in self.matches:
            return self.matches[name]
        names = (alias for alias in contig_aliases(name) if alias in self._numbers)
        if (match := next(names, None)) is None:
            self.matches[name] = -1
            return -1
        if self._counts[match] > 1:
            raise FormatError(
                f"{self.genome.path}: {self._counts[match]} sequences are named {match!r}, "
                "expected one; remove the others from the genome"
            )
        number = self._numbers[match]
        other = self._names.setdefault(number, name)
        if other != name:
            raise FormatError(
                f"{self._what}: contigs {other!r} and {name!r} are both {match!r} in "
                f"{self.genome.path}; use one name for the contig"
            )
        self.matches[name] = number
        return number

    def numbers(self, names: Sequence[str], codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the sequence number of each record; ``codes`` are indices into names."""
        table = np.full(len(names), -1, np.int32)
        used: list[int] = np.unique(codes).tolist()
        for code in used:
            table[code] = self.find(names[code])
        return table[codes]

    def describe(self) -> str:
        """Return the names that differ from those of the genome, as text; empty if none."""
        names = self.genome.names
        pairs = {name: names[at] for name, at in self.matches.items() if at >= 0}
        pairs = {name: match for name, match in pairs.items() if name != match}
        if not pairs:
            return ""
        return (
            f"the variants name contigs {join_first_names(list(pairs))}, the genome "
            f"{join_first_names(list(pairs.values()))}: {_describe_changes(pairs)}"
        )


def _describe_changes(pairs: dict[str, str]) -> str:
    """Return how names were changed, with the number of names for each change."""
    changes = Counter(
        "chr was added"
        if match == f"chr{name}"
        else "chr was removed"
        if name == f"chr{match}"
        else f"{match} was used for {name}"
        for name, match in pairs.items()
    )
    return ", ".join(
        f"{change} for {format_count(count, 'contigs')}" if "chr was" in change else change
        for change, count in changes.items()
    )
