"""Score the variants of an input in batches, with a row for each record and allele."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._files import fingerprint_file
from seqloom._ragged import Ragged
from seqloom._text import format_count
from seqloom._warning import warn_user
from seqloom.data.variant._alleles import (
    STATUS,
    AlleleTable,
    mark_edges,
    resolve_alleles,
    windows_within_contigs,
)
from seqloom.infer._effect_spans import SpansByContig, digest_spans
from seqloom.infer._effects_table import VariantEffects
from seqloom.infer._variant_networks import ExportedNetwork
from seqloom.infer._variant_scores import Orientation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.interval._spans import Genome
    from seqloom.data.variant._variant_input import VariantInput
    from seqloom.infer._effects_store import ScoreStore
    from seqloom.infer._variant_scores import AlleleScorer, Columns

    Integers = NDArray[np.int64]

# The number of records of a batch, which is scored and stored as a whole.
_JOB_BATCH_RECORDS = 256
# The maximum number of bases in the windows of one call of the networks.
_MAX_CHUNK_BASES = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsRules:
    """Rules that select the variants to score, and the genes to score them for."""

    genes: Intervals | None
    regions: Intervals | None
    on_mismatch: str
    split_mnps: bool
    masked: bool
    edge: str


class EffectsJob:
    """Reads records, resolves their alleles and scores them, a batch at a time."""

    def __init__(
        self, scorer: AlleleScorer, variants: VariantInput, rules: EffectsRules
    ) -> None:
        self.scorer, self.variants, self.rules = scorer, variants, rules
        genome = scorer.genome
        self.report = variants.report(genome)
        self.status: Counter[str] = Counter()
        self.not_finite = 0
        self._genes = SpansByContig.of(rules.genes, genome)
        self._regions = SpansByContig.of(rules.regions, genome)
        if self._genes is not None:
            self._genes.check_strands()
            if rules.masked:
                self._genes.read_exons()

    def check(self) -> None:
        """Read all records if a rule is "error"; raise if a record breaks it."""
        rules, report = self.rules, self.report
        if "error" not in {rules.on_mismatch, rules.edge}:
            return
        mismatch = "skip" if rules.on_mismatch == "error" else rules.on_mismatch
        first: tuple[int, int, int] | None = None
        variant_count = outside_count = 0
        for batch in self.variants.batches():
            table = resolve_alleles(
                batch,
                self.scorer.genome,
                on_mismatch=mismatch,
                split_mnps=rules.split_mnps,
                report=report,
            )
            variant_count += int(table.usable.sum())
            rows = np.flatnonzero(table.usable & ~self._find_within(table))
            if rows.size and first is None:
                row = int(rows[0])
                line = int(np.asarray(batch.lines)[table.records[row]])
                first = int(table.contigs[row]), int(table.starts[row]), line
            outside_count += rows.size
        if rules.on_mismatch == "error":
            report.raise_for_mismatch()
        if rules.edge == "error" and first is not None:
            width, counts = self.scorer.settings.width, (outside_count, variant_count)
            report.raise_for_edge(first, counts=counts, width=width)

    def run(self, store: ScoreStore | None = None) -> Iterator[VariantEffects]:
        """Yield the effects of each batch; `store` has the scores of a stopped job."""
        self.report, record_count = self.variants.report(self.scorer.genome), 0
        names = self._find_column_names()
        for number, batch in enumerate(self.variants.batches(_JOB_BATCH_RECORDS)):
            effects, rows = self._describe_batch(batch, record_count)
            stored = None if store is None else store.read(number, names)
            columns = self._score_rows(rows, names) if stored is None else stored
            if store is not None and stored is None:
                store.add(number, columns)
            self.status.update(effects.status)
            self._count_not_finite(effects.status, columns)
            yield replace(effects, columns=columns, report=self.facts())
            record_count += len(batch.starts)
        if not record_count:
            yield self.join([], names)
        if self.not_finite:
            warn_user(
                f"the scores of {format_count(self.not_finite, 'alleles')} are not finite; "
                "the model, or compare with these scores, returns NaN or infinity"
            )

    def _count_not_finite(self, status: list[str], columns: Columns) -> None:
        """Count scored alleles with scores that are not finite."""
        is_scored = np.isin(status, ("ok", "swapped"))
        is_finite = np.all([np.isfinite(it) for it in columns.values()], axis=0)
        self.not_finite += int((is_scored & ~is_finite).sum())

    def join(
        self, parts: list[VariantEffects], names: Iterable[str] = ()
    ) -> VariantEffects:
        """Return the rows of all batches; `names` are the columns of a table of no rows."""

        def texts(name: str) -> list[str]:
            return [text for part in parts for text in getattr(part, name)]

        none = np.zeros(0, np.int64)
        return VariantEffects(
            np.concatenate([none, *(part.records for part in parts)]),
            texts("chroms"),
            np.concatenate([none, *(part.starts for part in parts)]),
            texts("ids"),
            texts("refs"),
            texts("alts"),
            texts("status"),
            texts("alleles"),
            None if self._genes is None else texts("genes"),
            {
                name: np.concatenate([np.zeros(0), *(it.columns[name] for it in parts)])
                for name in (parts[0].columns if parts else names)
            },
            self.facts(),
            self.variants.lasting_path,
        )

    def facts(self) -> dict[str, Any]:
        """Return counts and settings, for a report."""
        return self.report.to_dict() | {
            "status": dict(self.status),
            "settings": self.settings(),
            "oddities": self.variants.oddities,
        }

    def settings(self) -> dict[str, Any]:
        """Return the settings of the windows, the scores and the selection."""
        names = ("on_mismatch", "split_mnps", "masked", "edge")
        rules = {name: getattr(self.rules, name) for name in names}
        return asdict(self.scorer.settings) | rules

    def plan(self) -> dict[str, str]:
        """Return the inputs and settings that a stopped job and its continuation share."""
        settings = {name: str(value) for name, value in self.settings().items()}
        return settings | {
            "version of seqloom": version("seqloom"),
            "model": " ".join(map(_digest_network, self.scorer.networks)),
            "file of variants": fingerprint_file(self.variants.path or ""),
            "genome": self.scorer.genome.digest().hex(),
            "table of genes": digest_spans(self.rules.genes),
            "file of regions": digest_spans(self.rules.regions),
        }

    def _find_column_names(self) -> list[str]:
        """Score a made-up variant at the start of the genome; return the column names."""
        zero = np.zeros(1, np.int64)
        alleles = Ragged.from_list([b"A"]), Ragged.from_list([b"C"])
        table = AlleleTable(
            zero,
            zero.astype(np.int32),
            zero.astype(np.uint8),
            zero.astype(np.int32),
            zero,
            *alleles,
        )
        return list(self.scorer.compare(table, self._orient(zero)))

    def _find_within(self, table: AlleleTable) -> NDArray[np.bool_]:
        """Return True for rows whose windows are within their contig."""
        settings, genome = self.scorer.settings, self.scorer.genome
        is_within = np.ones(len(table), bool)
        anchors = {"both": ("left", "right"), "spliceai": ("none",)}
        for shift in settings.shifts:
            for anchor in anchors.get(settings.indels, ("left",)):
                is_within &= windows_within_contigs(
                    genome,
                    table,
                    left=settings.left - shift,
                    width=settings.width,
                    anchor=anchor,
                )
        return is_within

    def _describe_batch(
        self, batch: Any, first_record: int
    ) -> tuple[VariantEffects, tuple[AlleleTable, Integers, Integers]]:
        """Return rows without scores; their alleles and genes; and the rows to score."""
        table = resolve_alleles(
            batch,
            self.scorer.genome,
            on_mismatch=self.rules.on_mismatch,
            split_mnps=self.rules.split_mnps,
            report=self.report,
        )
        if self.rules.edge != "pad":
            table = mark_edges(table, self._find_within(table))
        table, genes, status = self._add_genes(table)
        records = table.records
        alleles = np.array(spell_alleles(table, self.scorer.genome), object)
        alleles[~table.usable] = ""
        effects = VariantEffects(
            records + first_record,
            [batch.chrom_names[code] for code in batch.chrom_codes[records].tolist()],
            batch.starts[records],
            _to_texts(batch.ids, records),
            _to_texts(batch.refs, records),
            _split_alternatives(batch.alts, table),
            status.tolist(),
            alleles.tolist(),
            None if self._genes is None else self._genes.names(genes),
            source=self.variants.lasting_path,
        )
        scored = np.flatnonzero((status == "ok") | (status == "swapped"))
        return effects, (table, genes, scored)

    def _add_genes(self, table: AlleleTable) -> tuple[AlleleTable, Integers, NDArray[Any]]:
        """Return a row for each allele and gene, the gene (-1: none), and the status."""
        rows, genes = np.arange(len(table)), np.full(len(table), -1)
        if self._genes is not None:
            rows, genes = self._genes.find(table.contigs, table.starts)
        table = table.take(rows)
        settings, usable = self.scorer.settings, table.usable
        status = np.array(STATUS, object)[table.status]
        removed, added = table.refs.lengths, table.alts.lengths
        if settings.indels == "spliceai":
            status[usable & (np.minimum(removed, added) > 1)] = "complex"
            status[usable & (removed > 2 * (settings.within or 0))] = "too_long"
        if self._genes is not None:
            status[usable & (genes < 0)] = "outside_genes"
        if self._regions is not None:
            stops = table.starts + removed
            is_inside = self._regions.overlap(table.contigs, table.starts, stops)
            status[usable & ~is_inside] = "outside_regions"
        return table, genes, status

    def _score_rows(
        self, batch: tuple[AlleleTable, Integers, Integers], names: list[str]
    ) -> Columns:
        """Score rows in chunks of limited memory; other rows get NaN."""
        table, genes, rows = batch
        columns = {name: np.full(len(table), np.nan) for name in names}
        count = max(1, _MAX_CHUNK_BASES // self.scorer.settings.width)
        for start in range(0, len(rows), count):
            chunk = rows[start : start + count]
            part = self.scorer.compare(table.take(chunk), self._orient(genes[chunk]))
            if self._genes is not None and self.rules.masked:
                exons = self._genes.find_exon_distances(genes[chunk], table.starts[chunk])
                _mask_known_sites(part, exons)
            for name, values in part.items():
                columns[name][chunk] = values
        return columns

    def _orient(self, genes: Integers) -> Orientation:
        spans = self.rules.genes
        if spans is None or not len(spans):
            return Orientation(np.zeros(len(genes), bool))
        limits = spans.starts[genes], spans.stops[genes]
        return Orientation(spans.strands[genes] < 0, limits)


def _mask_known_sites(columns: Columns, exon_distances: Integers) -> None:
    """Set gains at the nearest end of an exon to 0, and losses at other positions."""
    for name, positions in columns.items():
        if name.startswith("gain_position_"):
            gains = columns[name.replace("gain_position_", "gain_", 1)]
            gains[positions == exon_distances] = 0
        elif name.startswith("loss_position_"):
            losses = columns[name.replace("loss_position_", "loss_", 1)]
            losses[positions != exon_distances] = 0


def _digest_network(network: Any) -> str:
    """Return a hash of a network's parameters, encoder and output names."""
    if isinstance(network, ExportedNetwork):
        return network.checksum
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((network.encoder, network.names)).encode())
    for name, array in network.model.to_record().items():
        digest.update(name.encode() + np.asarray(array).tobytes())
    return digest.hexdigest()


def spell_alleles(table: AlleleTable, genome: Genome) -> list[str]:
    """Return the normal forms, such as ``chr1:5:A:G``."""
    names = [*genome.names, "?"]  # index -1 is an absent contig
    refs, alts = (_to_texts(it, None) for it in (table.refs, table.alts))
    rows = zip(table.contigs.tolist(), table.starts.tolist(), refs, alts, strict=True)
    return [f"{names[at]}:{start + 1}:{ref}:{alt}" for at, start, ref, alt in rows]


def _to_texts(rows: Any, wanted: NDArray[np.int64] | None) -> list[str]:
    rows = rows if wanted is None else rows.take(wanted)
    return [row.decode("utf-8", "backslashreplace") for row in rows.to_list()]


def _split_alternatives(alts: Any, table: AlleleTable) -> list[str]:
    """Return the ALT allele of each row, as in the record."""
    texts = _to_texts(alts, table.records)
    numbers = table.alt_numbers.tolist()
    return [text.split(",")[at - 1] for text, at in zip(texts, numbers, strict=True)]
