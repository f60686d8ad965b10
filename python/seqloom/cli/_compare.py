"""``seqloom compare``: compare the metrics and settings of runs."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich import box
from rich.table import Table
from rich.text import Text

from seqloom._files import write_atomic
from seqloom._text import printable
from seqloom.cli._console import check_not_existing, open_console
from seqloom.cli._options import OUTPUT_GROUP, Flag
from seqloom.cli._show import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from seqloom.report import Report, Table as Numbers

# A column may use at most a third of the width of the terminal.
_MIN_COLUMNS = 3
# Width at which no table wraps, to measure the natural width of a table.
_NO_WRAP_WIDTH = 100_000


def compare(
    runs: list[Path],
    /,
    *,
    out: Path | None = None,
    overwrite: Flag = False,
    json: Annotated[Flag, OUTPUT_GROUP] = False,
    quiet: Annotated[Flag, OUTPUT_GROUP] = False,
) -> None:
    """Compare runs, best first: metrics, significance tests, and settings that differ.

    Example: seqloom compare runs/small runs/wide --out compare.html

    To compare all runs in a folder: seqloom compare runs

    Args:
        runs: Two or more run folders that `seqloom train` wrote, or one folder that
            contains run folders.
        out: Also write an HTML page, with all learning curves in one chart.
        overwrite: Replace the page if it exists.
        json: Print the results as one JSON object, and all other output to standard error.
        quiet: Print only warnings, errors and requested results.
    """
    from seqloom.report import make_page
    from seqloom.train._compare import report_of, values_of
    from seqloom.train._compared import compare_with_best, open_runs

    check_not_existing(out, overwrite=overwrite)
    compared = open_runs(runs)
    tests = compare_with_best(compared)
    report = report_of(compared, tests)
    if out is not None:
        write_atomic(out, make_page(report))
    if json:
        print_json(values_of(compared, tests))
    else:
        _print_tables(report)
    if out is not None:
        open_console(stderr=json, quiet=quiet).print(f"page   {out}")


def _print_tables(report: "Report") -> None:
    """Print the tables of a comparison, each followed by its note."""
    console = open_console()
    for section in report.sections:
        if section.table is None:
            continue
        # Each run is a row; columns that do not fit are printed in another table.
        left = list(range(1, len(section.table.columns)))
        while left:
            fitting = _count_columns(console, section.table, left)
            console.print(_make_table(section.table, left[:fitting], console.width))
            left = left[fitting:]
        if section.note:
            console.print(section.note)


def _count_columns(console: "Console", numbers: "Numbers", columns: list[int]) -> int:
    """Return the number of columns that fit in the width of the terminal, at least one."""
    unlimited = console.options.update(width=_NO_WRAP_WIDTH)
    for count in range(len(columns), 1, -1):
        table = _make_table(numbers, columns[:count], console.width)
        if console.measure(table, options=unlimited).maximum <= console.width:
            return count
    return 1


def _make_table(numbers: "Numbers", columns: list[int], width: int) -> Table:
    """Create a table of the given columns; long cells wrap."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    widest = width // _MIN_COLUMNS
    title = printable(numbers.title.lower())
    table.add_column(title, overflow="fold", max_width=widest)
    for it in columns:
        # Put each word of a heading on its own line.
        name = Text(printable(numbers.columns[it]).replace(" ", "\n"))
        table.add_column(name, justify="right", overflow="fold", max_width=widest)
    for row in numbers.rows:
        table.add_row(*(_make_cell(str(row[it])) for it in (0, *columns)))
    return table


def _make_cell(text: str) -> Text:
    """Format a table cell, with text in brackets on a line below the number."""
    parts = re.fullmatch(r"(\S+) \((.+)\)", text)
    lines = parts.groups() if parts else (text,)
    return Text("\n".join(map(printable, lines)))
