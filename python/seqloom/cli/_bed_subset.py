"""``seqloom bed subset``: some individuals and variants of a PLINK set."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from seqloom.cli._bed_filters import FilterOptions, choose
from seqloom.cli._bed_paths import check_target
from seqloom.cli._counter_bar import counter_bar
from seqloom.cli._machine import open_console
from seqloom.cli._options import PATH, Flag, Threads
from seqloom.errors import ArgumentError

DEFAULTS = FilterOptions()


def subset(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str, PATH, Parameter(name="OUT")],
    /,
    *,
    filters: FilterOptions = DEFAULTS,
    threads: Threads | None = None,
    overwrite: Flag = False,
    skip_format_check: Flag = False,
) -> None:
    """Write some individuals and variants of a PLINK set as another one.

    Example: seqloom bed subset x.bed common.bed --keep cases.txt --maf 0.01

    Args:
        source: A .bed file, with its .fam and .bim beside it.
        target: The .bed to write, whole or not at all, with its .fam and .bim.
        filters: Which of them.
        threads: How many threads read; otherwise as many as the machine allows.
        overwrite: Replace the set where it is there already.
        skip_format_check: Do not look whether the tables fit the ends of the .bed's lines.

    Raises:
        ArgumentError: OUT is no name of a .bed.
    """
    from seqloom.io import open_bed
    from seqloom.io.plink._export import copy_set

    if Path(target).suffix != ".bed":
        raise ArgumentError(f"{target}: expected the name of a .bed to write")
    check_target(source, Path(target), overwrite=overwrite)
    bed = open_bed(source, num_threads=threads, skip_format_check=skip_format_check)
    console = open_console()
    chosen, notes = choose(bed, filters)
    with counter_bar() as on_progress:
        copy_set(bed, Path(target), chosen, major=bed.major, on_progress=on_progress)
    console.print(f"individuals {len(chosen[0]):,} of {bed.iid_count:,}")
    console.print(f"variants    {len(chosen[1]):,} of {bed.sid_count:,}")
    for note in notes:
        console.print(note)
