"""`variant_effects`: the effects of variants on the scores of a model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_bool, as_choice, as_integer, as_path, is_list
from seqloom._threads import count_threads, limit_blas
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._spans import Genome
from seqloom.data.variant._alleles import (
    MISMATCH_CHOICES,
    STATUS,
    mark_edges,
    resolve_alleles,
    windows_within_contigs,
)
from seqloom.data.variant._check import CheckReport
from seqloom.errors import ArgumentError
from seqloom.infer._effects_table import VariantEffects
from seqloom.infer._loop import ProgressOption, report_batches, require_reverse_complement
from seqloom.infer._variant_networks import open_networks
from seqloom.infer._variant_scores import (
    COMPARISONS,
    AlleleScorer,
    Orientation,
    ScoreSettings,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.variant._alleles import AlleleTable
    from seqloom.infer._predict import Model

_EDGES, _INDELS = ("error", "pad", "drop"), ("left", "both", "spliceai")
_BATCH_RECORDS = 1024
# The maximum number of bases in the windows of one call of the networks.
_MAX_CHUNK_BASES = 1 << 22


def variant_effects(
    model: Model | Any,
    variants: Any,
    genome: str | os.PathLike[str],
    *,
    width: int | None = None,
    compare: str | tuple[str, ...] = "difference",
    reverse_complement: bool = False,
    shifts: tuple[int, ...] = (0,),
    indels: Literal["left", "both", "spliceai"] = "left",
    genes: Any = None,
    within: int | None = None,
    on_mismatch: Literal["error", "skip", "swap"] = "error",
    edge: Literal["error", "pad", "drop"] = "pad",
    encoder: Any = None,
    num_threads: int | None = None,
    progress: ProgressOption = None,
) -> VariantEffects:
    """Compute how variants change the scores of a model.

    Each ALT allele is compared with the genome, and converted to the normal form of
    ``bcftools norm``, because the score must not depend on the spelling of a variant. The
    model scores two sequences: the window of the genome whose middle is the variant, and
    the same window with the alternative allele. A deletion is filled from the genome.

    A score is the mean over the models of a list (folds), both strands, and shifts. Both
    alleles are averaged in the same way, before they are compared.

    Args:
        model: A trained model, its run, its run folder, or an exported model. A `Module` or
            a ``torch.nn.Module`` is also accepted, and so is a list of models.
        variants: A VCF or BCF file, or a batch of its records.
        genome: A FASTA file: plain, bgzip or gzip.
        width: The number of bases of a window; by default, the length of the training
            sequences.
        compare: ``"difference"`` (alternative minus reference), ``"log_ratio"`` (the binary
            logarithm of alternative / reference), ``"logit"`` (the difference of the
            log-odds), or a tuple of these.
        reverse_complement: If True, use the mean score of both strands.
        shifts: Numbers of bases by which the window is moved to the right.
        indels: The bases that the windows of an insertion or deletion share. With
            ``"left"``, they have the same left end. With ``"both"``, the score is the mean
            of two pairs of windows: with the same left end, and with the same right end.
            ``"spliceai"`` uses the rules of SpliceAI: an insertion makes the window longer.
            An allele that replaces several bases by several bases is not scored, nor is a
            REF longer than twice `within`.
        genes: Genes in any form that `IntervalDataset` accepts as intervals, with the
            columns name, chrom, start, stop and strand. Bases outside of the gene are
            replaced by N, and the window is read in the direction of the gene. A variant
            in several genes has several rows.
        within: For models with an output at each position: report the largest gain and loss
            within this number of positions, and where they are. By default, the mean over
            all positions is compared.
        on_mismatch: The treatment of records whose REF differs from the genome. ``"error"``
            reads all records before it raises. ``"skip"`` does not score them. ``"swap"``
            uses ALT as the reference allele where the genome has ALT.
        edge: The treatment of windows that extend beyond the contig: ``"pad"`` puts N
            there, ``"drop"`` does not score the variant.
        encoder: The encoder of a network without one; by default, one-hot DNA.
        num_threads: The number of threads; by default the number of available CPU cores.
        progress: A function that is called with the numbers of finished records and of all
            records. True shows a progress bar on a terminal.

    Returns:
        A row for each record and ALT allele, in input order. Alleles that are not scored
        have a status with the reason.

    Raises:
        ArgumentError: An argument has the wrong type or value, or no width is known.
        FileError: A file cannot be read.
        FormatError: A file has invalid content, or REF differs from the genome.
        ShapeError: The model does not read sequences of this width.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> table = {"sequence": ["ACGT", "ACGA"], "label": ["yes", "no"]}
        >>> data = sl.data.SequenceDataset(table, encoder=sl.encode.OneHot("dna"))
        >>> run = sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=1)
        >>> _ = Path("genome.fa").write_text(">chr1\\nACGTACGTAC\\n")
        >>> names = "#CHROM POS ID REF ALT QUAL FILTER INFO".replace(" ", "\\t")
        >>> record = "chr1 5 rs1 A G . . .".replace(" ", "\\t")
        >>> _ = Path("my.vcf").write_text(f"##fileformat=VCFv4.3\\n{names}\\n{record}\\n")
        >>> effects = sl.infer.variant_effects(run, "my.vcf", "genome.fa")
        >>> effects.status, effects.alleles
        (['ok'], ['chr1:5:A:G'])
    """
    as_choice("on_mismatch", on_mismatch, MISMATCH_CHOICES)
    as_choice("edge", edge, _EDGES)
    as_choice("indels", indels, _INDELS)
    threads = count_threads(num_threads)
    networks = open_networks(model, encoder, threads=threads)
    both = as_bool("reverse_complement", reverse_complement)
    if both:
        require_reverse_complement(networks[0].encoder)
    settings = ScoreSettings(
        width=_find_width(width, networks[0].width),
        compare=_check_comparisons(compare),
        both_strands=both,
        shifts=_check_shifts(shifts, within),
        within=None if within is None else as_integer("within", within, least=0),
        indels=indels,
    )
    source = Genome(str(as_path("genome", genome)))
    job = _EffectsJob(
        AlleleScorer(networks, source, settings),
        genes=None if genes is None else read_intervals(genes),
        on_mismatch=on_mismatch,
        edge=edge,
    )
    with limit_blas(threads), report_batches(progress, noun="records") as tell:
        if on_mismatch == "error":
            job.check(variants)
        parts: list[VariantEffects] = []
        for part in job.run(variants):
            parts.append(part)
            if tell is not None:
                tell(int(part.records[-1]) + 1, max(job.report.records, 1))
    return _join(parts, job.report)


class _EffectsJob:
    """Reads records, resolves their alleles and scores them, a batch at a time."""

    def __init__(
        self,
        scorer: AlleleScorer,
        *,
        genes: Intervals | None,
        on_mismatch: str,
        edge: str,
    ) -> None:
        self.scorer, self.genes = scorer, genes
        self.on_mismatch, self.edge = on_mismatch, edge
        self.report = CheckReport(scorer.genome)

    def check(self, variants: Any) -> None:
        """Raise if a record differs from the genome; all records are read."""
        for batch in _read_batches(variants):
            resolve_alleles(batch, self.scorer.genome, report=self.report)
        self.report.raise_for_mismatch()

    def run(self, variants: Any) -> Iterator[VariantEffects]:
        """Yield the effects of each batch of records."""
        report, first = CheckReport(self.scorer.genome), 0
        for batch in _read_batches(variants):
            table = resolve_alleles(
                batch, self.scorer.genome, on_mismatch=self.on_mismatch, report=report
            )
            yield self._score_batch(batch, self._apply_edge_rule(table), first)
            first += len(batch.starts)
        self.report = report

    def _apply_edge_rule(self, table: AlleleTable) -> AlleleTable:
        if self.edge == "pad":
            return table
        settings, genome = self.scorer.settings, self.scorer.genome
        is_within = np.ones(len(table), bool)
        for shift in settings.shifts:
            is_within &= windows_within_contigs(
                genome, table, left=settings.left - shift, width=settings.width
            )
        marked = mark_edges(table, is_within)
        if self.edge == "error" and (marked.status != table.status).any():
            row = int((marked.status != table.status).argmax())
            raise ArgumentError(
                f"{_spell_alleles(table, genome)[row]}: the window of {settings.width} "
                'bases extends beyond the contig; edge="pad" (--edge pad) puts N there, '
                'edge="drop" (--edge drop) does not score the variant'
            )
        return marked

    def _score_batch(self, batch: Any, table: AlleleTable, first: int) -> VariantEffects:
        """Score the usable rows; rows of genes are repeated."""
        rows, genes = self._match_genes(table)
        table = table.take(rows)
        usable = table.usable
        status = np.array(STATUS, object)[table.status]
        if self.scorer.settings.indels == "spliceai":
            removed, longest = table.refs.lengths, 2 * (self.scorer.settings.within or 0)
            status[usable & (np.minimum(removed, table.alts.lengths) > 1)] = "complex"
            status[usable & (removed > longest)] = "too_long"
        if self.genes is not None:
            status[usable & (genes < 0)] = "outside_genes"
        columns = self._score_rows(table, genes, np.flatnonzero(_is_scored(status)))
        records = table.records
        alleles = np.array(_spell_alleles(table, self.scorer.genome), object)
        alleles[~usable] = ""
        return VariantEffects(
            records + first,
            [batch.chrom_names[code] for code in batch.chrom_codes[records].tolist()],
            batch.starts[records],
            _to_texts(batch.ids, records),
            _to_texts(batch.refs, records),
            _split_alternatives(batch.alts, table),
            status.tolist(),
            alleles.tolist(),
            self._name_genes(genes),
            columns,
            {},
        )

    def _score_rows(
        self, table: AlleleTable, genes: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Score rows in chunks of limited memory; other rows get NaN."""
        columns: dict[str, NDArray[np.float64]] = {}
        count = max(1, _MAX_CHUNK_BASES // self.scorer.settings.width)
        for start in range(0, len(rows), count):
            chunk = rows[start : start + count]
            part = self.scorer.compare(table.take(chunk), self._orient(genes[chunk]))
            for name, values in part.items():
                column = columns.setdefault(name, np.full(len(table), np.nan))
                column[chunk] = values
        return columns

    def _match_genes(
        self, table: AlleleTable
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of alleles, one for each gene, and the rows of the genes."""
        if self.genes is None:
            return np.arange(len(table)), np.full(len(table), -1)
        names = np.array([*self.scorer.genome.names, ""], object)[table.contigs]
        chroms = np.array(self.genes.chroms, object)
        rows: list[int] = []
        genes: list[int] = []
        for row, start in enumerate(table.starts.tolist()):
            is_match = (self.genes.starts <= start) & (start < self.genes.stops)
            found = np.flatnonzero(is_match & (chroms == names[row])).tolist() or [-1]
            rows += [row] * len(found)
            genes += found
        return np.array(rows, np.int64), np.array(genes, np.int64)

    def _orient(self, genes: NDArray[np.int64]) -> Orientation:
        if self.genes is None:
            return Orientation(np.zeros(len(genes), bool))
        limits = self.genes.starts[genes], self.genes.stops[genes]
        return Orientation(self.genes.strands[genes] < 0, limits)

    def _name_genes(self, genes: NDArray[np.int64]) -> list[str] | None:
        if self.genes is None:
            return None
        columns = {name.lower(): texts for name, texts in self.genes.columns.items()}
        names: list[Any] = columns.get("name", [""] * len(self.genes))
        return [str(names[gene]) if gene >= 0 else "" for gene in genes.tolist()]


def _is_scored(status: NDArray[Any]) -> NDArray[np.bool_]:
    return (status == "ok") | (status == "swapped")


def _read_batches(variants: Any) -> Iterator[Any]:
    """Yield batches of records of a file, or a batch in memory."""
    if hasattr(variants, "chrom_codes"):
        yield variants
        return
    from seqloom.io import open_variants

    with open_variants(variants) as reader:
        yield from reader.batches(_BATCH_RECORDS)


def _find_width(width: int | None, trained: int | None) -> int:
    if width is not None:
        return as_integer("width", width, least=1)
    if trained is None:
        raise ArgumentError(
            "width (--width) is required, because the model has no fixed length; pass the "
            "number of bases of a window, such as width=1000"
        )
    return trained


def _check_comparisons(compare: Any) -> tuple[str, ...]:
    names: tuple[Any, ...] = tuple(compare) if is_list(compare) else (compare,)
    for name in names:
        as_choice("compare", name, COMPARISONS)
    return names


def _check_shifts(shifts: Any, within: int | None) -> tuple[int, ...]:
    numbers = tuple(shifts) if is_list(shifts) else (shifts,)
    found = tuple(as_integer("each of shifts", it, least=-MAX_POSITION) for it in numbers)
    if within is not None and found != (0,):
        raise ArgumentError(
            f"shifts must be (0,) with within={within}, got {found}: shifted windows have "
            "outputs at other positions"
        )
    return found


def _spell_alleles(table: AlleleTable, genome: Genome) -> list[str]:
    """Return the normal forms, such as ``chr1:5:A:G``."""
    names = [*genome.names, "?"]
    refs, alts = (_to_texts(it, None) for it in (table.refs, table.alts))
    rows = zip(table.contigs.tolist(), table.starts.tolist(), refs, alts, strict=True)
    return [f"{names[at]}:{start + 1}:{ref}:{alt}" for at, start, ref, alt in rows]


def _to_texts(rows: Any, wanted: NDArray[np.int64] | None) -> list[str]:
    rows = rows if wanted is None else rows.take(wanted)
    return [row.decode("utf-8", "backslashreplace") for row in rows.to_list()]


def _split_alternatives(alts: Any, table: AlleleTable) -> list[str]:
    """Return the ALT allele of each row, as in the record."""
    texts = _to_texts(alts, table.records)
    numbers = table.alternatives.tolist()
    return [text.split(",")[at - 1] for text, at in zip(texts, numbers, strict=True)]


def _join(parts: list[VariantEffects], report: CheckReport) -> VariantEffects:
    """Concatenate the effects of batches."""
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    size = sum(map(len, parts))

    def column(name: str) -> NDArray[np.float64]:
        none = [part.columns.get(name, np.full(len(part), np.nan)) for part in parts]
        return np.concatenate(none)

    def texts(name: str) -> list[str]:
        return [text for part in parts for text in getattr(part, name)]

    status = texts("status")
    counts = {**report.to_dict(), "rows": size, "status": dict(Counter(status))}
    has_genes = bool(parts) and parts[0].genes is not None
    none = np.zeros(0, np.int64)
    return VariantEffects(
        np.concatenate([none, *(part.records for part in parts)]),
        texts("chroms"),
        np.concatenate([none, *(part.starts for part in parts)]),
        texts("ids"),
        texts("refs"),
        texts("alts"),
        status,
        texts("alleles"),
        texts("genes") if has_genes else None,
        {name: column(name) for name in names},
        counts,
    )
