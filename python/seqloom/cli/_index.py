"""``seqloom index``: random access to a sequence file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from seqloom.cli._machine import open_console
from seqloom.cli._options import PATH, Flag, Threads

if TYPE_CHECKING:
    from seqloom.io import SequenceIndex


def index(
    file: Annotated[str, PATH],
    /,
    *,
    fai: Flag = False,
    overwrite: Annotated[Flag, Parameter(name=("--overwrite", "--force"))] = False,
    threads: Threads | None = None,
) -> None:
    """Make the index by which records are read in any order.

    Example: seqloom index reads.fq.gz

    Args:
        file: A sequence file: FASTA or FASTQ, plain, bgzip or gzip.
        fai: Write .fai too (and .gzi for bgzip), for samtools and others.
        overwrite: Make a new index even if there is one of this file.
        threads: How many threads may take part.
    """
    console = open_console()
    side = Path(f"{file}.sli")
    if overwrite or not side.is_file():
        side = _make(console, file, threads)
    _say(console, file, side, fai=fai)


def _make(console: Console, file: str, threads: int | None) -> Path:
    """Makes the index, with a bar on a terminal."""
    from seqloom.io import build_index

    if not console.is_terminal:
        return build_index(file, num_threads=threads)
    columns = (BarColumn(bar_width=24), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        return build_index(
            file,
            num_threads=threads,
            on_progress=lambda done: bar.update(task, completed=done),
        )


def _say(console: Console, file: str, side: Path, *, fai: bool) -> None:
    """Says what there is now."""
    from seqloom.io import SequenceIndex

    found = SequenceIndex(file, index=side)
    written = [side, *(found.write_fai() if fai else ())]
    names = ", ".join(f"{path} ({path.stat().st_size:,} bytes)" for path in written)
    console.print(
        f"{file}: {len(found):,} records, {found.letters:,} letters, {found.format}, "
        f"{_container(found)}"
    )
    console.print(f"index: {names}")
    if found.note:
        console.print(f"note: {found.note}")


def _container(found: "SequenceIndex") -> str:
    """Says what the file is packed in."""
    return "not compressed" if found.compression == "none" else found.compression
