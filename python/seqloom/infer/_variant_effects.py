"""`variant_effects`: the effects of variants on the scores of a model."""

from __future__ import annotations

from contextlib import contextmanager
from io import TextIOBase
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from seqloom._arguments import as_bool, as_choice, as_integer, as_path, is_list
from seqloom._threads import count_threads, limit_blas
from seqloom.data.interval._intervals import MAX_POSITION, read_intervals
from seqloom.data.interval._spans import EDGE_CHOICES, open_genome
from seqloom.data.variant._alleles import MISMATCH_CHOICES
from seqloom.data.variant._variant_input import VariantInput
from seqloom.errors import ArgumentError
from seqloom.infer._effects_job import EffectsJob, EffectsRules
from seqloom.infer._effects_store import UNFINISHED_ENDING, ScoreStore
from seqloom.infer._effects_table import VariantEffects, as_target, open_effects
from seqloom.infer._loop import (
    OnBatch,
    ProgressOption,
    report_batches,
    require_one_strand,
    require_reverse_complement,
)
from seqloom.infer._variant_networks import open_networks
from seqloom.infer._variant_scores import COMPARISONS, AlleleScorer, ScoreSettings
from seqloom.io._settings import is_same_file

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator

    from seqloom.infer._predict import Model

_INDELS = ("left", "both", "spliceai")


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
    regions: Any = None,
    within: int | None = None,
    masked: bool = False,
    on_mismatch: Literal["error", "skip", "swap"] = "error",
    split_mnps: bool = False,
    edge: Literal["error", "pad", "drop"] = "pad",
    encoder: Any = None,
    out: str | os.PathLike[str] | IO[str] | None = None,
    num_threads: int | None = None,
    progress: ProgressOption = None,
) -> VariantEffects:
    """Compute how variants change the scores of a model.

    Each ALT allele is compared with the genome, and converted to the normal form of
    ``bcftools norm``: all spellings of a variant have the same score. The model scores two
    sequences: the window of the genome with the variant in its middle, and the same window
    with the alternative allele. After a deletion, the window is filled from the genome.

    A score is the mean over the models of a list (folds), both strands, and shifts. The
    scores of each allele are averaged first, and then compared.

    Args:
        model: A trained model, its run, its run folder, or an exported model. A `Module` or
            a ``torch.nn.Module`` is also accepted, and so is a list of models.
        variants: A VCF or BCF file, ``"-"`` for standard input, a batch of
            ``sl.io.open_variants``, or a dict or data frame. Its columns are ``chrom``,
            ``pos`` (from 1) or ``start`` (from 0), ``ref`` and ``alt``.
        genome: A FASTA file: plain, bgzip or gzip.
        width: The number of bases of a window; by default, the length of the training
            sequences.
        compare: ``"difference"`` (alternative minus reference), ``"log_ratio"`` (the binary
            logarithm of alternative / reference), ``"logit"`` (the difference of the
            log-odds), or a tuple of these. ``"jensen_shannon"`` is the distance of the
            profiles of a model of tracks.
        reverse_complement: If True, use the mean score of both strands.
        shifts: Numbers of bases by which the window is moved to the right.
        indels: The bases that the windows of an insertion or deletion share. With
            ``"left"``, they have the same left end. With ``"both"``, the score is the mean
            of two pairs of windows: with the same left end, and with the same right end.
            Do not use ``"both"`` with `within`. ``"spliceai"`` uses the rules of SpliceAI:
            an insertion makes the window longer. An allele that replaces several bases by
            several bases is not scored, nor is a REF longer than twice `within`.
        genes: Genes in any form that `IntervalDataset` accepts as intervals, with the
            columns name, chrom, start, stop and strand. Bases outside of the gene are
            replaced by N, and the window is read in the direction of the gene. A variant
            in several genes has several rows.
        regions: A BED file, or intervals in another form that `IntervalDataset` accepts.
            Variants outside of these regions are not scored.
        within: For models with an output at each position: report the largest gain and loss
            within this number of positions, and where they are. By default, the mean over
            all positions is compared.
        masked: If True, the effects that the annotation explains are 0, as with ``spliceai
            -M 1``: gains at the nearest end of an exon, and losses at other positions. The
            table of genes needs the columns ``EXON_START`` and ``EXON_END``.
        on_mismatch: The treatment of records whose REF differs from the genome. ``"error"``
            reads all records before it raises. ``"skip"`` does not score them. ``"swap"``
            uses ALT as the reference allele where the genome has ALT.
        split_mnps: If True, a substitution of several bases has a row for each base, as
            with ``bcftools norm --atomize``.
        edge: The treatment of windows that extend beyond the contig: ``"pad"`` puts N
            there, ``"drop"`` does not score the variant.
        encoder: The encoder of a network without one; by default, one-hot DNA.
        out: The path of a file that is written batch by batch, in a format of
            `VariantEffects.save`, or an open text file for tab-separated text. Memory does
            not depend on the number of variants, and the returned table has no rows. If
            the call is stopped, its scores stay in the folder ``NAME.unfinished`` next to
            the file, and a call with the same arguments continues.
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
        RunFolderError: The stored scores of a stopped call have other settings.
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
    as_choice("edge", edge, EDGE_CHOICES)
    _check_indels(indels, within)
    if masked and (genes is None or within is None):
        raise ArgumentError(
            "masked (--masked) needs genes (--genes) with exons, and within (--within)"
        )
    threads = count_threads(num_threads)
    networks = open_networks(model, encoder, threads=threads)
    both_strands = as_bool("reverse_complement", reverse_complement)
    if both_strands:
        require_reverse_complement(networks[0].encoder)
        require_one_strand(networks[0].task)
    settings = ScoreSettings(
        width=find_width(width, networks[0].width),
        compare=_check_comparisons(compare),
        reverse_complement=both_strands,
        shifts=_check_shifts(shifts, within),
        within=None if within is None else as_integer("within", within, least=0),
        indels=indels,
    )
    scorer = AlleleScorer(networks, open_genome(genome), settings)
    rules = EffectsRules(
        genes=None if genes is None else read_intervals(genes),
        regions=None if regions is None else read_intervals(regions),
        on_mismatch=on_mismatch,
        split_mnps=as_bool("split_mnps", split_mnps),
        masked=as_bool("masked", masked),
        edge=edge,
    )
    job = EffectsJob(scorer, VariantInput(variants), rules)
    _check_out(out, job.variants.lasting_path)
    with limit_blas(threads), report_batches(progress, noun="records") as on_batch:
        job.check()
        if out is None:
            return job.join(list(_report(job.run(), job, on_batch)))
        _write(job, as_target("out", out), on_batch)
    return job.join([])


def _write(job: EffectsJob, target: Path | TextIOBase, on_batch: OnBatch | None) -> None:
    """Run the job, and write the rows of each batch."""
    with (
        _open_store(job, target) as store,
        open_effects(target, job.variants.path) as write,
    ):
        for part in _report(job.run(store), job, on_batch):
            write(part)


def _check_out(out: Any, source: str | None) -> None:
    """Raise if the output is the file of variants."""
    is_path = out is not None and not isinstance(out, TextIOBase)
    if is_path and source is not None and is_same_file(as_path("out", out), source):
        raise ArgumentError(f"out is {out}, the file of variants; use another name")


def _report(
    parts: Iterator[VariantEffects], job: EffectsJob, on_batch: OnBatch | None
) -> Iterator[VariantEffects]:
    """Yield batches; report the numbers of finished and of all records."""
    total = job.report.records  # 0 if `check` did not read the records
    for part in parts:
        yield part
        if on_batch is not None:
            on_batch(job.report.records, max(total, job.report.records))


@contextmanager
def _open_store(job: EffectsJob, target: Path | TextIOBase) -> Generator[ScoreStore | None]:
    """Yield the scores of a stopped job; the folder is removed if the block succeeds."""
    # Streams, copies of streams and records in memory cannot be read by a later call.
    if isinstance(target, TextIOBase) or job.variants.lasting_path is None:
        yield None
        return
    store = ScoreStore(Path(f"{target}{UNFINISHED_ENDING}"), job.plan())
    try:
        yield store
    except ArgumentError:
        raise  # the same call would fail again
    except BaseException:
        store.save()
        raise
    store.remove()


def find_width(width: int | None, trained: int | None) -> int:
    """Return the width of a window: the argument, or the length of training sequences."""
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


def _check_indels(indels: Any, within: int | None) -> None:
    as_choice("indels", indels, _INDELS)
    if indels == "spliceai" and within is None:
        raise ArgumentError(
            'indels="spliceai" (--indels spliceai) needs within (--within), because its '
            "scores are changes within a number of positions, such as 50"
        )
    if indels == "both" and within is not None:
        raise ArgumentError(
            f'indels="both" (--indels both) cannot be used with within={within}: windows '
            "with the same right end have outputs at other positions; use left"
        )


def _check_shifts(shifts: Any, within: int | None) -> tuple[int, ...]:
    numbers = tuple(shifts) if is_list(shifts) else (shifts,)
    if not numbers:
        raise ArgumentError("shifts is empty; expected one or more integers, such as (0,)")
    moves = tuple(as_integer("each of shifts", it, least=-MAX_POSITION) for it in numbers)
    if within is not None and moves != (0,):
        raise ArgumentError(
            f"shifts must be (0,) with within={within}, got {moves}: shifted windows have "
            "outputs at other positions"
        )
    return moves
