"""``seqloom compare``: runs beside each other."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.cli._check import check_free
from seqloom.cli._json import print_json
from seqloom.cli._machine import open_console
from seqloom.cli._options import SHOWN_DEFAULTS, Flag, ShownOptions

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.report import Report, Table as Numbers


def compare(
    runs: list[Path],
    /,
    *,
    out: Path | None = None,
    overwrite: Flag = False,
    shown: ShownOptions = SHOWN_DEFAULTS,
) -> None:
    """Show runs beside each other: metrics with intervals, settings that differ, time.

    Example: seqloom compare runs/small runs/wide --out compare.html

    All runs in a folder: seqloom compare runs

    Args:
        runs: Two or more run folders that `seqloom train` wrote, or one folder that holds
            them.
        out: Write a page too, one file of HTML, with the learning curves in one chart.
        overwrite: Replace the page where it is there already.
        shown: What is printed, and how.
    """
    from seqloom.report import make_page
    from seqloom.train._compare import report_of, values_of
    from seqloom.train._compared import open_runs

    check_free(out, overwrite=overwrite)
    compared = open_runs(runs)
    report = report_of(compared)
    if out is not None:
        write_atomic(out, make_page(report))
    if shown.json:
        print_json(values_of(compared))
    else:
        _show(report)
    if out is not None:
        open_console(stderr=shown.json, quiet=shown.quiet).print(f"page   {out}")


def _show(report: "Report") -> None:
    """Prints the tables of a comparison, and what to know of them."""
    console = open_console()
    for section in report.sections:
        if section.table is not None:
            show_numbers(console, section.table)
    console.print(report.sections[0].note)


def show_numbers(console: "Console", numbers: "Numbers") -> None:
    """Prints a table; an interval has a line of its own, so that more runs fit."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column(numbers.title.lower())
    for name in numbers.columns[1:]:
        table.add_column(name, justify="right", overflow="fold")
    for first, *cells in numbers.rows:
        table.add_row(str(first), *(_cell(str(cell)) for cell in cells))
    console.print(table)


def _cell(text: str) -> Group:
    """Puts what stands in brackets below the number; nothing in a name is obeyed."""
    parts = re.fullmatch(r"(\S+) \((.+)\)", text)
    lines = parts.groups() if parts else (text,)
    return Group(*(Text(printable(line)) for line in lines))
