"""`VariantDataset`, the sequences of a genome with the alleles of variants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_bool, as_choice, quote
from seqloom._ragged import Ragged
from seqloom.data._dataset import Dataset
from seqloom.data._encoder import check_encoder
from seqloom.data._frame import Frame, to_values
from seqloom.data._position import check_integer
from seqloom.data._source import Fetched, FetchOptions, Source
from seqloom.data.interval._interval_labels import label_intervals
from seqloom.data.interval._interval_source import choose_alphabet, reverse_complement
from seqloom.data.interval._intervals import MAX_POSITION, Intervals
from seqloom.data.interval._spans import EDGE_CHOICES, open_genome
from seqloom.data.label._labels import DEFAULTS, LabelColumn, Labels
from seqloom.data.variant._alleles import MISMATCH_CHOICES, AlleleTable, variant_windows
from seqloom.data.variant._variant_rows import VariantRows
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from seqloom.data._encoder import Encoder
    from seqloom.data._source import Rows
    from seqloom.data.interval._spans import Genome

_ALLELES = ("reference", "alternative")
_STRANDS = ("+", "-")
_ID_SUFFIXES = {"reference": "ref", "alternative": "alt"}


def VariantDataset(
    variants: Any,
    genome: str | os.PathLike[str],
    *,
    width: int,
    encoder: Encoder | None = None,
    allele: Literal["both", "reference", "alternative"] = "both",
    strand: Literal["+", "-", "both"] = "+",
    shift: int = 0,
    edge: Literal["error", "pad", "drop"] = "error",
    on_mismatch: Literal["error", "skip", "swap"] = "error",
    split_mnps: bool = False,
    labels: Any = None,
) -> Dataset:
    """Sequences around variants, with the reference and the alternative allele.

    Alleles are compared with the genome, and converted to the normal form of ``bcftools
    norm``. Each ALT of a record is a variant. The position of a variant in normal form is
    base ``width // 2`` of its window. The windows of both alleles begin at the same base of
    the genome; after a deletion, the window is filled from the genome. Sequences are in
    upper case.

    An item is a dict with ``id`` and ``inputs`` or ``sequence``. The id is
    ``"chr1:12345:A:G:ref"`` or ``"chr1:12345:A:G:alt"``, from the normal form. An item also
    has ``ordinal``, ``chrom``, ``start`` (zero-based), ``ref``, ``alt``, ``allele``,
    ``strand``, ``record`` (an index into the input) and, with labels, ``label``. ALT
    alleles without a sequence, such as ``<DEL>``, are counted by reason in
    ``report["skipped"]``.

    Args:
        variants: A VCF or BCF file, a batch of ``sl.io.open_variants``, or a dict or data
            frame. The columns are ``chrom``, ``pos`` (from 1) or ``start`` (from 0),
            ``ref`` and ``alt``.
        genome: A FASTA file: plain, bgzip or gzip.
        width: The length of all sequences.
        encoder: Encodes residues as numbers.
        allele: The alleles to return; with ``"both"``, each variant has two items.
        strand: The strand to return. The minus strand is reverse-complemented after the
            allele is inserted. With ``"both"``, each allele has two items.
        shift: The number of bases by which windows are moved to the right.
        edge: The treatment of variants whose window extends beyond the contig.
            ``"error"`` raises; ``"pad"`` pads with N; ``"drop"`` skips the variant.
        on_mismatch: The treatment of records whose REF differs from the genome.
            ``"error"`` raises after all records were read; ``"skip"`` skips them;
            ``"swap"`` uses ALT as the reference where the genome has ALT. Records whose REF
            is also on the other strand are skipped.
        split_mnps: If True, a substitution of several bases becomes one variant for each
            base.
        labels: The name of a column of the table, or a list with one label for each record.
            A ``Labels`` object also has options for reading the labels.

    Returns:
        The dataset.

    Raises:
        FileError: A file cannot be read.
        FormatError: A REF differs from the genome, or a window extends beyond its
            contig.
        LabelError: Labels are missing, or do not fit the task.
        ArgumentError: An argument is invalid.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("g.fa").write_text(">chr1\\nAACCGGTTAC\\n")
        >>> table = {"chrom": ["1", "1"], "pos": [4, 6], "ref": ["C", "GT"]}
        >>> data = VariantDataset(table | {"alt": ["T", "G"]}, "g.fa", width=6)
        >>> [(item["id"], item["sequence"]) for item in data][:2]
        [('chr1:4:C:T:ref', b'AACCGG'), ('chr1:4:C:T:alt', b'AACTGG')]
        >>> data[3]["id"], data[3]["sequence"]
        ('chr1:6:GT:G:alt', b'CCGGTA')
    """
    check_encoder(encoder)
    if choose_alphabet(None, encoder) == "protein":
        raise ArgumentError(
            "variants are changes of DNA, but the encoder reads proteins; pass an encoder "
            'of DNA, such as sl.encode.OneHot("dna")'
        )
    check_integer("width", width, least=1, most=MAX_POSITION)
    check_integer("shift", shift, least=-MAX_POSITION, most=MAX_POSITION)
    as_choice("allele", allele, ("both", *_ALLELES))
    as_choice("strand", strand, ("both", *_STRANDS))
    as_choice("edge", edge, EDGE_CHOICES)
    as_choice("on_mismatch", on_mismatch, MISMATCH_CHOICES)
    as_bool("split_mnps", split_mnps)
    fasta = open_genome(genome)
    left = width // 2 - shift
    variant_rows = VariantRows.read(
        variants, fasta, on_mismatch=on_mismatch, split_mnps=split_mnps
    )
    variant_rows.apply_edge_rule(fasta, edge, left=left, width=width)
    source = _VariantSource(
        fasta,
        variant_rows.table,
        left=left,
        width=width,
        alleles=_ALLELES if allele == "both" else (allele,),
        strands=_STRANDS if strand == "both" else (strand,),
    )
    options = Labels.of(labels, DEFAULTS)
    column = _label_items(options, variants, variant_rows=variant_rows, source=source)
    column = replace(column, report=variant_rows.facts() | column.report)
    return Dataset(source, encoder=encoder, labels=column)


def _label_items(
    labels: Labels, variants: Any, *, variant_rows: VariantRows, source: _VariantSource
) -> LabelColumn:
    """Return the label of each item: the label of its record."""
    if labels.source is None:
        return LabelColumn()
    values = _read_labels(labels.source, Frame.of(variants))
    if len(values) != variant_rows.record_count:
        raise ArgumentError(
            f"labels must be one for each of {variant_rows.record_count:,} records, got "
            f"{len(values):,}"
        )
    rows = np.arange(source.size)
    columns = source.columns(rows, None)
    starts = np.asarray(columns["start"])
    item_labels = [values[record] for record in columns["record"].tolist()]
    # `label_intervals` checks and encodes the labels, so each item becomes an interval.
    intervals = Intervals(
        "the variants",
        columns["chrom"],
        starts,
        starts + 1,
        np.zeros(source.size, np.int64),
        np.full(source.size, -1),
        columns={"label": item_labels},
    )
    return label_intervals(
        replace(labels, source="label"), intervals, rows, ids=source.ids(rows)
    )


def _read_labels(labels: Any, table: Frame | None) -> list[Any]:
    """Return the label of each record."""
    is_name = isinstance(labels, str)
    if is_name and table is not None and labels in table.names:
        return table.column(labels)
    if is_name or not hasattr(labels, "__len__"):
        columns = "" if table is None else f"; the table has {', '.join(table.names)}"
        raise ArgumentError(
            "labels must be a list with one label for each record, or the name of a column "
            f"of a table of variants, got {quote(labels)}{columns}"
        )
    return to_values(labels)


class _VariantSource(Source):
    """Reads the windows of all variants, with each allele and strand."""

    kind, title = "intervals", "VariantDataset"
    supports_threads, is_checked = True, False
    counts_letters = True

    def __init__(
        self,
        genome: Genome,
        table: AlleleTable,
        *,
        left: int,
        width: int,
        alleles: tuple[str, ...],
        strands: tuple[str, ...],
    ) -> None:
        self.paths = (genome.path,)
        self.table, self._genome = table, genome
        self._left, self._width = left, width
        self._alleles, self._strands = alleles, strands
        self.size = len(table) * len(alleles) * len(strands)

    @property
    def record_files(self) -> tuple[str, ...]:
        """No files: the content of the table identifies the records."""
        return ()

    def _split(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the index of the variant, the allele and the strand of each row."""
        others, strands = np.divmod(rows, len(self._strands))
        variants, alleles = np.divmod(others, len(self._alleles))
        return variants, alleles, strands

    def ids(self, rows: Rows) -> list[str]:
        """Return ids such as ``chr1:12345:A:G:ref``."""
        columns = self.columns(rows, None)
        names = ("chrom", "ref", "alt", "allele", "strand")
        parts = zip(
            columns["start"].tolist(), *(columns[name] for name in names), strict=True
        )
        return [
            f"{chrom}:{start + 1}:{ref}:{alt}:{_ID_SUFFIXES[allele]}"
            + ("(-)" if strand == "-" else "")
            for start, chrom, ref, alt, allele, strand in parts
        ]

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the width of the windows."""
        del encoder
        return np.full(rows.size, self._width)

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return the position, alleles, strand and record of rows."""
        del epoch
        variants, alleles, strands = self._split(rows)
        table = self.table.take(variants)
        names = self._genome.names
        return {
            "chrom": [names[number] for number in table.contigs.tolist()],
            "start": table.starts,
            "ref": [allele.decode("ascii") for allele in table.refs.to_list()],
            "alt": [allele.decode("ascii") for allele in table.alts.to_list()],
            "allele": [self._alleles[number] for number in alleles.tolist()],
            "strand": [self._strands[number] for number in strands.tolist()],
            "record": table.records,
        }

    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched:
        """Return the windows of rows, reverse-complemented on the minus strand."""
        variants, alleles, strands = self._split(rows)
        letters = np.empty((rows.size, self._width), np.uint8)
        for number, allele in enumerate(self._alleles):
            at = np.flatnonzero(alleles == number)
            letters[at] = variant_windows(
                self._genome,
                self.table.take(variants[at]),
                left=self._left,
                width=self._width,
                allele=allele,
            )
        offsets = np.arange(rows.size + 1) * self._width
        sequences = Ragged(letters.reshape(-1), offsets)
        is_minus = np.array([strand == "-" for strand in self._strands])[strands]
        alphabet = choose_alphabet(None, options.encoder)
        reverse_complement(sequences, is_minus, alphabet or "dna")
        return Fetched(self.ids(rows), (sequences, None))

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield bytes to hash: the genome's hash, the alleles, rows and labels."""
        del jitter
        is_rna = choose_alphabet(None, encoder) == "rna"
        windows = self._left, self._width, self._alleles, self._strands
        yield repr((labels.task, labels.classes, windows, is_rna)).encode()
        yield self._genome.digest()
        table = self.table
        for column in (table.contigs, table.starts, table.refs.offsets, table.refs.data):
            yield column.tobytes()
        for column in (table.alts.offsets, table.alts.data, rows):
            yield column.tobytes()
        yield labels.to_bytes()
