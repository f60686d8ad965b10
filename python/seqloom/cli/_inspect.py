"""``seqloom inspect``: what a sequence file holds."""

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from seqloom.cli import _bed_inspect
from seqloom.cli._check import check_free
from seqloom.cli._kinds import check_no_sequence_options
from seqloom.cli._machine import open_console, table_of
from seqloom.cli._options import FILE_DEFAULTS, PATH, SEQUENCES, FileOptions, Flag
from seqloom.cli._sights import draw_lengths, draw_means, draw_positions, is_plain

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.io import Summary

_GZIP = b"\x1f\x8b"
_EXAMPLES = 3


def inspect(
    file: Annotated[str, PATH],
    /,
    *,
    reading: FileOptions = FILE_DEFAULTS,
    sequence_column: Annotated[str, Parameter(group=SEQUENCES)] = "sequence",
    id_column: Annotated[str, Parameter(group=SEQUENCES)] = "id",
    plot: Path | None = None,
    overwrite: Flag = False,
    json: Flag = False,
) -> None:
    """Show the contents of a sequence file: records, lengths, letters, qualities.

    Example: seqloom inspect reads.fq.gz --plot reads.svg

    Args:
        file: A sequence file, a table with a column of sequences (CSV, TSV, Parquet), or -
            for standard input; format and compression are recognised by the content.
        reading: How the file is read.
        sequence_column: The column of sequences, where the file is a table.
        id_column: The column of ids, where the file is a table.
        plot: Draw lengths, qualities and composition into this SVG file.
        overwrite: Replace the picture where it is there already.
        json: Print JSON, for another program to read.
    """
    from seqloom.data._sources import is_sequence_table
    from seqloom.io import inspect as look
    from seqloom.report import check_svg

    check_free(plot, overwrite=overwrite)
    check_svg(plot)
    if plot is None and _bed_inspect.is_bed(file):
        check_no_sequence_options(reading)
        _bed_inspect.inspect(file, json=json)
        return
    if is_sequence_table(file, sequence_column):
        columns = {"sequence_column": sequence_column, "id_column": id_column}
        summary = _summarise_table(file, **asdict(reading), **columns)
    else:
        summary = look(file, **asdict(reading))
    console = open_console()
    if json:
        print_json(summary)
    else:
        console.print(table_of(summary.facts()))
        _draw(summary, console)
    # Last, because what was counted is shown even where no picture can be written.
    if plot is None:
        return
    summary.plot(plot)
    if not json:
        console.line()
        console.print(f"plots in {plot}")


def _summarise_table(file: str, **options: Any) -> "Summary":
    """Counts the sequences of a table, read as `seqloom train` reads it."""
    from seqloom.data._inputs import SourceOptions
    from seqloom.data._sources import sources_of
    from seqloom.io._inspect import summarise
    from seqloom.io._tally import Tally

    (held,) = sources_of(file, SourceOptions(**options)).held.values()
    tally = Tally()
    tally.add([held.batch])
    numbers = Counter(held.batch.ids)
    path = Path(file)
    with path.open("rb") as opened:
        is_packed = opened.read(len(_GZIP)) == _GZIP
    return summarise(
        tally,
        options["quality"],
        path=file,
        format="table",
        compression="gzip" if is_packed else "none",
        file_bytes=path.stat().st_size,
        duplicate_ids=len(held.batch) - len(numbers),
        duplicate_examples=tuple(name for name, n in numbers.items() if n > 1)[:_EXAMPLES],
    )


def print_json(summary: "Summary") -> None:
    """Prints the summary as one JSON object."""
    sys.stdout.write(json.dumps(summary.to_dict(), indent=2) + "\n")


def _draw(summary: "Summary", console: "Console") -> None:
    """Draws lengths, qualities and bases as far as there are any."""
    plain = is_plain(console)
    for table in (draw_lengths, draw_means):
        if (drawn := table(summary, is_plain=plain)) is not None:
            console.print(drawn)
    for line in draw_positions(summary, is_plain=plain):
        console.print(line)
