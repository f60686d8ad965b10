"""``seqloom inspect``: what a sequence file holds."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from seqloom.cli._machine import open_console
from seqloom.cli._options import Flag

if TYPE_CHECKING:
    from seqloom.io import Summary

BAR_WIDTH = 40


def inspect(file: Path, /, *, json: Flag = False) -> None:
    """Show what a sequence file holds: format, records, lengths, alphabet, GC.

    Example: seqloom inspect train.fa.gz

    Args:
        file: A sequence file; format and compression are told from its content.
        json: Print JSON, for another program to read.
    """
    from seqloom.io import inspect as look

    summary = look(file)
    if json:
        print_json(summary)
        return
    console = open_console()
    console.print(_facts(summary))
    console.print(_histogram(summary, console))


def print_json(summary: "Summary") -> None:
    """Prints the summary as one JSON object."""
    sys.stdout.write(json.dumps(summary.to_dict(), indent=2) + "\n")


def _facts(summary: "Summary") -> Table:
    """Puts the summary's own words into two columns."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in summary.facts().items():
        table.add_row(name, fact)
    return table


def _histogram(summary: "Summary", console: Console) -> Table:
    """Draws how the lengths are spread, a bar a bin."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column("length", justify="right")
    table.add_column("records", justify="right")
    table.add_column("")
    block = "█" if console.encoding.startswith("utf") else "#"
    most = max(each.records for each in summary.histogram)
    for each in summary.histogram:
        width = -(-BAR_WIDTH * each.records // most)
        table.add_row(_span(each.start, each.stop), f"{each.records:,}", block * width)
    return table


def _span(start: int, stop: int) -> str:
    """Spells a bin."""
    return f"{start:,}" if start == stop else f"{start:,} to {stop:,}"
