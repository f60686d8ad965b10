"""``seqloom inspect`` and ``seqloom index``: summarise and index sequence files."""

import json as json_text
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from seqloom._files import GZIP_MAGIC
from seqloom.cli import _bed
from seqloom.cli._console import check_not_existing, make_fact_table, open_console
from seqloom.cli._options import PATH, SEQUENCE_GROUP, Flag, Threads, takes_options
from seqloom.errors import ArgumentError
from seqloom.io._settings import TextOptions

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.io import Summary

_MAX_IDS = 3
_BAR_WIDTH = 40
_MAX_COLUMNS = 75
_QUALITY_ROWS = 4
_MAX_SCORE = 40
_BASES_OF_ALPHABET = {"dna": "ACGTN", "rna": "ACGUN"}
_BAR_CHARACTERS = " ▁▂▃▄▅▆▇█"
_ASCII_BAR_CHARACTERS = " .:-=+*#%@"


@takes_options()
def inspect(
    file: Annotated[str, PATH],
    /,
    *,
    reading: Annotated[TextOptions, SEQUENCE_GROUP],
    sequence_column: Annotated[str, SEQUENCE_GROUP] = "sequence",
    id_column: Annotated[str, SEQUENCE_GROUP] = "id",
    plot: Path | None = None,
    overwrite: Flag = False,
    json: Flag = False,
) -> None:
    """Show the contents of a sequence file: records, lengths, residues, qualities.

    Example: seqloom inspect reads.fq.gz --plot reads.svg

    Args:
        file: A sequence file, a table with a column of sequences (CSV, TSV, Parquet), or -
            for standard input. The format and the compression are detected.
        reading: Options for reading the file.
        sequence_column: The column of sequences, if the file is a table.
        id_column: The column of ids, if the file is a table.
        plot: Plot lengths, qualities and composition into this SVG file.
        overwrite: Replace the plot if it exists.
        json: Print JSON.
    """
    from seqloom.data._sources import is_sequence_table
    from seqloom.io import inspect as look
    from seqloom.report import check_svg

    check_not_existing(plot, overwrite=overwrite)
    check_svg(plot)
    if plot is None and _bed.is_bed(file):
        _reject_options(reading)
        _bed.inspect(file, json=json)
        return
    if is_sequence_table(file, sequence_column):
        columns = {"sequence_column": sequence_column, "id_column": id_column}
        summary = _summarise_table(file, **asdict(reading), **columns)
    else:
        summary = look(file, **asdict(reading))
    console = open_console()
    if json:
        sys.stdout.write(json_text.dumps(summary.to_dict(), indent=2) + "\n")
    else:
        console.print(make_fact_table(summary.facts()))
        _draw_plots(summary, console)
    # Print the summary first, in case the plot cannot be written.
    if plot is None:
        return
    summary.plot(plot)
    if not json:
        console.line()
        console.print(f"plots in {plot}")


def _reject_options(reading: TextOptions) -> None:
    """Raise if options for sequences are given, but the file contains genotypes."""
    usual = asdict(TextOptions())
    names = [f"--{name}" for name, value in asdict(reading).items() if value != usual[name]]
    if names:
        raise ArgumentError(
            f"{' and '.join(names)}: only for sequences, but FILES are genotypes (a PLINK "
            ".bed)"
        )


def _summarise_table(file: str, **options: Any) -> "Summary":
    """Summarise the sequences of a table, which is read as in `seqloom train`."""
    from seqloom.data._inputs import SourceOptions
    from seqloom.data._sources import read_sources
    from seqloom.io._inspect import summarise_tally
    from seqloom.io._summary import Tally

    (held,) = read_sources(file, SourceOptions(**options)).held.values()
    tally = Tally()
    tally.add([held.batch])
    numbers = Counter(held.batch.ids)
    path = Path(file)
    with path.open("rb") as opened:
        is_packed = opened.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return summarise_tally(
        tally,
        options["quality"],
        path=file,
        format="table",
        compression="gzip" if is_packed else "none",
        file_bytes=path.stat().st_size,
        duplicate_ids=len(held.batch) - len(numbers),
        duplicate_examples=tuple(name for name, n in numbers.items() if n > 1)[:_MAX_IDS],
    )


def _draw_plots(summary: "Summary", console: "Console") -> None:
    """Draw lengths, qualities and base composition on the terminal."""
    is_plain = not console.encoding.startswith("utf")
    if summary.shortest != summary.longest:
        groups = summary.histogram
        spans = ((f"{it.start:,}", f"{it.stop:,}") for it in groups)
        names = [one if one == two else f"{one} to {two}" for one, two in spans]
        records = [group.records for group in groups]
        console.print(_draw_bars("length", names, records, is_plain=is_plain))
    if summary.quality is not None:
        fives: dict[int, int] = {}
        for row in summary.quality.by_read:
            fives[row.score // 5 * 5] = fives.get(row.score // 5 * 5, 0) + row.records
        names = [f"{score} to {score + 4}" for score in fives]
        bars = _draw_bars("mean quality", names, list(fives.values()), is_plain=is_plain)
        console.print(bars)
    for line in _draw_positions(summary, is_plain=is_plain):
        console.print(line)


def _draw_bars(
    title: str, names: Sequence[str], records: Sequence[int], *, is_plain: bool
) -> Table:
    """Create a table with a bar for each name."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column(title, justify="right")
    table.add_column("records", justify="right")
    table.add_column("")
    for name, count in zip(names, records, strict=True):
        width = -(-_BAR_WIDTH * count // max(records))
        table.add_row(name, f"{count:,}", ("#" if is_plain else "█") * width)
    return table


def _draw_positions(summary: "Summary", *, is_plain: bool) -> Iterator[Text]:
    """Draw qualities and bases by position; a character may cover several positions."""
    means = [position.mean_quality or 0.0 for position in summary.positions]
    width = len(_average_bins(means))
    last = f"{summary.longest - 1:,}"
    gap = max(width - 1 - len(last), 1)
    ends = f"{'':>7}0{'':{gap}}{last}" if summary.longest > 1 else f"{'':>7}0"
    if summary.quality is not None and means:
        yield Text("\nmean quality by position", style="bold")
        values = _average_bins(means)
        top = max(_MAX_SCORE, *values)
        lines = _draw_columns(values, top, rows=_QUALITY_ROWS, is_plain=is_plain)
        for row, line in enumerate(lines):
            yield Text(f"{top * (_QUALITY_ROWS - row) / _QUALITY_ROWS:>6.0f} {line}")
        yield Text(ends, "dim")
    if summary.alphabet in _BASES_OF_ALPHABET:
        yield from _draw_shares(
            summary, _BASES_OF_ALPHABET[summary.alphabet], is_plain=is_plain
        )
        yield Text(ends, "dim")


def _draw_shares(summary: "Summary", bases: str, *, is_plain: bool) -> Iterator[Text]:
    """Yield a line for each base that occurs in the file, all on the same scale."""
    totals = [max(sum(position.letters.values()), 1) for position in summary.positions]
    rows: dict[str, list[float]] = {}
    for base in (base for base in bases if base in summary.letters):
        counts = (position.letters.get(base, 0) for position in summary.positions)
        shares = [count / total for count, total in zip(counts, totals, strict=True)]
        rows[base] = _average_bins(shares)
    top = max((value for row in rows.values() for value in row), default=1.0)
    total = sum(summary.letters.values())
    yield Text(f"\nbases by position, columns from 0 to {100 * top:.0f} %", style="bold")
    for base, row in rows.items():
        (line,) = _draw_columns(row, top, is_plain=is_plain)
        yield Text(f"{base:>6} {line}  {100 * summary.letters[base] / total:.1f} %")


def _draw_columns(
    values: Sequence[float], top: float, *, rows: int = 1, is_plain: bool = False
) -> list[str]:
    """Draw a column for each value; a column of full height has the value ``top``."""
    steps = _ASCII_BAR_CHARACTERS if is_plain else _BAR_CHARACTERS
    full = len(steps) - 1
    heights = [round(rows * full * it / top) if top > 0 else 0 for it in values]
    # Make values above 0 always visible.
    heights = [max(it, int(value > 0)) for it, value in zip(heights, values, strict=True)]
    return [
        "".join(steps[min(max(height - row * full, 0), full)] for height in heights)
        for row in reversed(range(rows))
    ]


def _average_bins(values: Sequence[float]) -> list[float]:
    """Average neighbouring values until they fit into the maximum number of columns."""
    step = -(-len(values) // _MAX_COLUMNS)
    parts = [values[start : start + step] for start in range(0, len(values), step)]
    return [sum(part) / len(part) for part in parts]


def index(
    file: Annotated[str, PATH],
    /,
    *,
    fai: Flag = False,
    overwrite: Annotated[Flag, Parameter(name=("--overwrite", "--force"))] = False,
    threads: Threads | None = None,
) -> None:
    """Build an index for random access to records.

    Example: seqloom index reads.fq.gz

    Args:
        file: A FASTA or FASTQ file, uncompressed or compressed with bgzip or gzip.
        fai: Also write a .fai (and a .gzi for bgzip), for samtools and other programs.
        overwrite: Build a new index even if one exists.
        threads: Number of threads; by default the number of available cores.
    """
    from seqloom.io import SequenceIndex

    console = open_console()
    side = Path(f"{file}.sli")
    if overwrite or not side.is_file():
        side = _build_index(console, file, threads)
    found = SequenceIndex(file, index=side)
    written = [side, *(found.write_fai() if fai else ())]
    names = ", ".join(f"{path} ({path.stat().st_size:,} bytes)" for path in written)
    container = "not compressed" if found.compression == "none" else found.compression
    console.print(
        f"{file}: {len(found):,} records, {found.letters:,} residues, {found.format}, "
        f"{container}"
    )
    console.print(f"index: {names}")
    if found.note:
        console.print(f"note: {found.note}")


def _build_index(console: "Console", file: str, threads: int | None) -> Path:
    """Build the index, with a progress bar on a terminal."""
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
