"""Write the results of the fault tests into docs/reliability.md and its CSV files."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._page import markdown_table
from benchmarks._processor import name_processor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from faults._all import Result

PAGE = Path(__file__).parents[1] / "docs/reliability.md"
WRITER_HEAD = ("what is written", "failing calls", "power cuts", "wrong results")
READER_HEAD = (
    "what is read",
    "failing calls",
    "truncations and flipped bits",
    WRITER_HEAD[-1],
)


def publish(results: Sequence[Result], seconds: float, *, jobs: int) -> None:
    """Replace the tables of faults in the page."""
    replace_tables(_tables(results, seconds, jobs=jobs))


def replace_tables(tables: Mapping[str, str]) -> None:
    """Replace each table: the text between the two comments with the name of the table."""
    text = PAGE.read_text("utf-8")
    for name, content in tables.items():
        marked = rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)"
        text, count = re.subn(marked, rf"\1\n{content}\n\n\2", text, flags=re.DOTALL)
        assert count == 1, f"{PAGE.name} has no place for {name}"
    PAGE.write_text(text, "utf-8")


def _tables(results: Sequence[Result], seconds: float, *, jobs: int) -> dict[str, str]:
    """Return the text of each table."""
    by_kind = {
        kind: {result.name: result for result in results if result.kind == kind}
        for kind in ("calls", "crash", "read", "damage", "rival")
    }
    calls, crash, read, damage, rival = by_kind.values()
    writers = [
        (name, f"{it.tried:,}", f"{crash[name].tried:,}", _count_wrong(it, crash[name]))
        for name, it in calls.items()
        if name in crash
    ]
    readers = [
        (name, f"{it.tried:,}", f"{damage[name].tried:,}", _count_wrong(it, damage[name]))
        for name, it in read.items()
    ]
    ours = [it for it in results if it.kind != "rival"]
    tried, wrong = sum(it.tried for it in ours), sum(len(it.wrong) for it in ours)
    return {
        "sum": f"The last run tried **{tried:,} faults in {seconds / 60:.0f} minutes; "
        f"{wrong} had a wrong result**, with {jobs} processes on an {name_processor()}.",
        "writers": summarise("writers", WRITER_HEAD, writers),
        "readers": summarise("readers", READER_HEAD, readers),
        "rivals": markdown_table(
            ("library", "faults", "data lost"),
            [(name, f"{it.tried:,}", _count_wrong(it)) for name, it in rival.items()],
        ),
    }


def summarise(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write all rows into a CSV file; return a table of sums for each kind of file."""
    folder = PAGE.with_suffix("")
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([head, *rows])
    sums: dict[str, list[int]] = {}
    for title, *cells in rows:
        kind = re.split(r",| of |\.", title)[0]
        counts = [int(cell.replace(",", "")) for cell in cells]
        sums[kind] = list(
            map(sum, zip(sums.get(kind, [0] * len(counts)), counts, strict=True))
        )
    lines = [(kind, *(f"{count:,}" for count in counts)) for kind, counts in sums.items()]
    return f"{markdown_table(head, lines)}\n\n[All rows as CSV]({folder.name}/{name}.csv)."


def _count_wrong(*results: Result) -> str:
    """Return the number of faults that led to wrong results."""
    return f"{sum(len(result.wrong) for result in results):,}"
