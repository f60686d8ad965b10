"""``seqloom effects``: compute how variants change the scores of a trained model."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from seqloom._text import format_count
from seqloom.cli._console import open_console, print_setup
from seqloom.cli._options import (
    MACHINE_GROUP,
    OUTPUT_GROUP,
    PATH,
    SEQUENCE_GROUP,
    Count,
    Flag,
    TrainedOptions,
    takes_options,
)
from seqloom.cli._predict import check_output_path
from seqloom.cli._read import STDIN
from seqloom.infer import variant_effects
from seqloom.infer._effects_store import UNFINISHED_ENDING
from seqloom.infer._effects_table import is_vcf
from seqloom.infer._exported import find_exported
from seqloom.infer._score_bar import score_bar
from seqloom.infer._scores import find_table_format
from seqloom.models import load

Comparison = Literal["difference", "log_ratio", "logit", "jensen_shannon"]


@takes_options()
def effects(
    model: Path,
    variants: Annotated[str, PATH],
    /,
    *,
    genome: Path,
    out: Annotated[str, PATH, OUTPUT_GROUP],
    overwrite: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
    compare: Annotated[tuple[Comparison, ...], Parameter(consume_multiple=True)] = (
        "difference",
    ),
    on_mismatch: Literal["error", "skip", "swap"] = "error",
    split_mnps: Flag = False,
    width: Annotated[Count | None, Parameter(show_default=False)] = None,
    edge: Annotated[Literal["error", "pad", "drop"], SEQUENCE_GROUP] = "pad",
    reverse_complement: Annotated[Flag, SEQUENCE_GROUP] = False,
    indels: Annotated[Literal["left", "both", "spliceai"], SEQUENCE_GROUP] = "left",
    shifts: Annotated[tuple[int, ...], Parameter(consume_multiple=True)] = (0,),
    genes: Path | None = None,
    regions: Path | None = None,
    within: Annotated[int | None, Parameter(show_default=False)] = None,
    masked: Flag = False,
    machine: Annotated[TrainedOptions, MACHINE_GROUP],
) -> None:
    """Compute how variants change the scores of a trained model.

    Each ALT allele is compared with the genome and scored in a window of the genome. The
    output has each record and ALT allele, in the order of the input. Alleles that cannot be
    scored have a status with the reason. If a job is stopped, the same command continues,
    except for variants of a pipe.

    Example: seqloom effects runs/enhancers my.vcf.gz --genome hg38.fa --out scored.vcf.gz

    In a pipe: bcftools view -f PASS my.vcf.gz | seqloom effects runs/enhancers - --genome
    hg38.fa --out - | head

    Args:
        model: A run folder that `seqloom train` wrote, or a model that `seqloom export`
            wrote.
        variants: A VCF or BCF file, or - for standard input.
        genome: The genome of the variants in FASTA: plain, bgzip or gzip.
        out: The file to write: NAME.vcf.gz with the effects in INFO, or a table in
            NAME.tsv, NAME.csv or NAME.parquet. With -, a table on standard output.
        overwrite: Replace the file if it exists, and do not continue a stopped job.
        quiet: Print only warnings and errors.
        compare: The difference is the alternative minus the reference score. The log_ratio
            is the binary logarithm of their ratio. The logit is the difference of the
            log-odds. The jensen_shannon distance compares the profiles of a model of
            tracks.
        on_mismatch: Records whose REF differs from the genome: stop with an error after all
            records were read, or skip these records. With swap, use ALT as the reference
            where the genome has ALT.
        split_mnps: Score each base of a substitution of several bases.
        width: The number of bases of a window. By default, the length of the training
            sequences.
        edge: Windows that extend beyond a contig: stop with an error, put N there (pad), or
            do not score the variant (drop).
        reverse_complement: Average the scores of both strands.
        indels: The common end of the windows of an insertion or deletion: left, or the
            average of both ends. With spliceai, the rules of SpliceAI.
        shifts: Average windows that are moved by these numbers of bases.
        genes: A table of genes with the columns name, chrom, start, stop and strand. Bases
            outside of the gene become N, and the window is read in the gene's direction.
        regions: A BED file. Variants outside of its regions are not scored.
        within: For models with an output at each position: report the largest gain and loss
            within this number of positions.
        masked: Do not report gains at the nearest end of an exon, and losses elsewhere. The
            table of genes needs the columns EXON_START and EXON_END.
        machine: Backend and threads.
    """
    console = open_console(stderr=out == STDIN, quiet=quiet)
    print_setup(console, machine.backend, machine.threads)
    inputs = [Path(it) for it in (variants, genome, genes, regions) if it is not None]
    check_output_path(out, inputs, overwrite=overwrite)
    if out != STDIN and not is_vcf(out):
        find_table_format(out)
    if overwrite:
        rmtree(f"{out}{UNFINISHED_ENDING}", ignore_errors=True)
    is_exported = find_exported(model) is not None
    with score_bar(console, noun="records") as report:
        result = variant_effects(
            model if is_exported else load(model, **machine.to_keywords()),
            variants,
            genome,
            width=width,
            compare=compare,
            reverse_complement=reverse_complement,
            shifts=shifts,
            indels=indels,
            genes=genes,
            regions=regions,
            within=within,
            masked=masked,
            on_mismatch=on_mismatch,
            split_mnps=split_mnps,
            edge=edge,
            out=sys.stdout if out == STDIN else out,
            num_threads=machine.threads,
            progress=report,
        )
    for note in _list_notes(result.report, out):
        console.print(f"note: {note}")
    target = "standard output" if out == STDIN else out
    console.print(f"{_describe_status(result.report['status'])}: {target}")


def _list_notes(report: Mapping[str, Any], out: str) -> Iterator[str]:
    """Yield notes about the input and the output."""
    if names := report["contig_names"]:
        yield names
    for rule, count in report["oddities"].items():
        yield f"{format_count(count, 'records')} with {rule.replace('_', ' ')}"
    indexes = [Path(f"{out}{ending}") for ending in (".tbi", ".csi")]
    if (
        is_vcf(out)
        and out.lower().endswith("gz")
        and not any(it.exists() for it in indexes)
    ):
        yield f"{out} has no index, because the records are not sorted"


def _describe_status(counts: Mapping[str, int]) -> str:
    """Return the number of scored alleles, and the count of each status but "ok"."""
    swapped = counts.get("swapped", 0)
    scored = f"scored {format_count(counts.get('ok', 0) + swapped, 'alleles')}"
    scored += f" ({swapped:,} swapped)" if swapped else ""
    others = [
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in counts.items()
        if name not in {"ok", "swapped"}
    ]
    return ", ".join([scored, *others])
