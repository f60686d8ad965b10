"""``seqloom bed stats``: how often each genotype occurs."""

from pathlib import Path
from typing import Annotated

from seqloom.cli._bed_paths import check_apart, check_target
from seqloom.cli._counter_bar import counter_bar
from seqloom.cli._machine import open_console, table_of
from seqloom.cli._options import PATH, Flag, Threads


def stats(
    file: Annotated[str, PATH],
    /,
    *,
    out: Path | None = None,
    plot: Path | None = None,
    nonfounders: Flag = False,
    mid_p: Flag = False,
    threads: Threads | None = None,
    overwrite: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Count genotypes: missing ones, allele frequency, Hardy-Weinberg equilibrium.

    Example: seqloom bed stats x.bed --out stats.tsv --plot stats.svg

    Args:
        file: A .bed file, with its .fam and .bim beside it.
        out: Write a table with a line for each variant.
        plot: Draw frequencies, missing genotypes and p-values into this SVG file.
        nonfounders: Count those with parents too, for frequency and p.
        mid_p: Give the mid-p variant of the exact test.
        threads: How many threads count; otherwise as many as the machine allows.
        overwrite: Replace the table and the picture where they are there already.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.
    """
    from seqloom.io import genotype_stats, open_bed
    from seqloom.report import check_svg

    for target in (out, plot):
        check_target(file, target, overwrite=overwrite)
    check_apart(out, plot)
    check_svg(plot)
    with counter_bar() as on_progress:
        found = genotype_stats(
            open_bed(file, skip_format_check=skip_format_check),
            nonfounders=nonfounders,
            mid_p=mid_p,
            num_threads=threads,
            on_progress=on_progress,
        )
    console = open_console()
    console.print(table_of(found.facts()))
    if out is not None:
        found.to_tsv(out)
        console.line()
        console.print(f"table in {out}")
    if plot is not None:
        found.plot(plot)
        console.line()
        console.print(f"plots in {plot}")
