"""``seqloom pileup``: count the ends of fragments, and write them as a bigWig file."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from seqloom.cli._console import open_console
from seqloom.cli._options import OUTPUT_GROUP, Flag
from seqloom.cli._predict import check_output_path


def pileup(
    fragments: Path,
    /,
    *,
    genome: Path,
    assay: Literal["atac", "dnase"],
    shift: Annotated[str, Parameter(allow_leading_hyphen=True)] = "0/0",
    count_duplicates: Flag = False,
    outside: Literal["error", "drop"] = "error",
    out: Annotated[Path, OUTPUT_GROUP],
    strands: Annotated[Flag, OUTPUT_GROUP] = False,
    overwrite: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
) -> None:
    """Count the ends of fragments at each base, and write them as a bigWig file.

    The ends of both strands are counted at the bases start and stop - 1, after the shift.
    The shift that they already have is estimated from the bias motif and printed.

    Example: seqloom pileup fragments.tsv.gz --genome hg38.fa --assay atac --shift auto
    --out cuts.bw

    Args:
        fragments: A text file with the columns contig, start, stop, and optionally barcode
            and count: plain, gzip or bgzip. The lines of each contig must be together.
        genome: The genome of the fragments in FASTA: plain, bgzip or gzip.
        assay: The enzyme is Tn5 (atac) or DNase I (dnase).
        shift: The numbers that remain to be added to the plus and the minus ends, such as
            +4/-4. Fragments of 10x Genomics and ENCODE usually contain +4/-5. With auto,
            the existing shift is estimated, and ends are moved to +4/-4 (atac) or 0/+1
            (dnase).
        count_duplicates: Multiply counts by the fifth column, the number of duplicates.
        outside: Ends outside of a contig and contigs that the genome lacks are errors, or
            are left out and counted (drop).
        out: The bigWig file to write.
        strands: Write a file for each strand: x.plus.bw and x.minus.bw if --out is x.bw.
        overwrite: Replace files if they exist.
        quiet: Print only warnings and errors.
    """
    from seqloom.data import pileup as write_pileup
    from seqloom.data.interval._pileup import list_paths

    paths = [Path(it) for it in list_paths(out, strands=strands)]
    for path in paths:
        check_output_path(str(path), [fragments, genome], overwrite=overwrite)
    report = write_pileup(
        fragments,
        genome,
        out,
        assay=assay,
        shift=shift,
        count_duplicates=count_duplicates,
        strands=strands,
        outside=outside,
    )
    console = open_console(quiet=quiet)
    for sentence in report.sentences():
        console.print(sentence)
    for path in paths:
        console.print(f"track  {path}")
