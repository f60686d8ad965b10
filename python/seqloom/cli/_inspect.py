"""``seqloom inspect``: what a sequence file holds."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from seqloom.cli import _bed_inspect
from seqloom.cli._check import check_free
from seqloom.cli._kinds import check_no_sequence_options
from seqloom.cli._machine import open_console, table_of
from seqloom.cli._options import FILE_DEFAULTS, PATH, FileOptions, Flag
from seqloom.cli._sights import draw_lengths, draw_means, draw_positions, is_plain

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.io import Summary


def inspect(
    file: Annotated[str, PATH],
    /,
    *,
    reading: FileOptions = FILE_DEFAULTS,
    plot: Path | None = None,
    overwrite: Flag = False,
    json: Flag = False,
) -> None:
    """Show what a sequence file holds: records, lengths, letters, qualities.

    Example: seqloom inspect reads.fq.gz --plot reads.png

    Args:
        file: A sequence file, or - for standard input; format and compression are told
            from the content.
        reading: How the file is read.
        plot: Draw lengths, qualities and composition into this PNG file.
        overwrite: Replace the picture where it is there already.
        json: Print JSON, for another program to read.
    """
    from seqloom.io import inspect as look

    check_free(plot, overwrite=overwrite)
    if plot is None and _bed_inspect.is_bed(file):
        check_no_sequence_options(reading)
        _bed_inspect.inspect(file, json=json)
        return
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
