"""The page that holds the results: docs/benchmarks.md.

A suite has one section, and in it one part for each kind of processor that was measured.
"""

import csv
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from statistics import geometric_mean

from benchmarks._measure import is_quick
from benchmarks._processor import describe_processor, name_processor

QUICK_NOTE = (
    "This was a quick run, with fewer rounds, fewer cases or smaller files. "
    "It does not write docs/benchmarks.md."
)
PAGE = Path(__file__).parents[1] / "docs/benchmarks.md"
# Longer tables are CSV files; the page shows their extremes.
MAX_LINES = 34


def publish(suite: str, text: str, *, kind: str | None = None) -> None:
    """Print the results of a suite and write them into its section of the page.

    A section has one part for each kind of processor (or device, by `kind`). A quick run
    only prints its results.
    """
    print(f"\n== {suite}\n\n{text}")
    if is_quick():
        print(f"\n{QUICK_NOTE}")
        return
    kind = kind or name_processor()
    before, begin, rest = PAGE.read_text("utf-8").partition(f"<!-- begin {suite} -->\n")
    section, end, after = rest.partition(f"<!-- end {suite} -->")
    assert begin, f"{PAGE.name} has no place for {suite}"
    assert end, f"{PAGE.name} has no end for {suite}"
    parts = {**_parts(section), kind: shorten(text, f"{suite} {kind}")}
    joined = "\n\n".join(f"### {name}\n\n{part}" for name, part in sorted(parts.items()))
    PAGE.write_text(f"{before}{begin}\n{joined}\n\n{end}{after}", "utf-8")


def shorten(text: str, title: str) -> str:
    """Replace each long table by its extremes, and write all its rows into one CSV file."""
    blocks, rows = text.split("\n\n"), list[list[str]]()
    for number, block in enumerate(blocks):
        lines = block.split("\n")
        if block.startswith("|") and len(lines) > MAX_LINES:
            head, _, *cells = [
                line.strip("| ").replace("*", "").split(" | ") for line in lines
            ]
            rows += [head, *cells]
            blocks[number] = _extremes(head, cells)
    if not rows:
        return text
    folder = PAGE.with_suffix("")
    file = folder / (re.sub(r"\W+", "-", title.lower()) + ".csv")
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    return "\n\n".join([*blocks, f"[All rows]({folder.name}/{file.name}) as CSV."])


def _extremes(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of the three lowest and highest ratios, with the mean of all."""
    rows = sorted(rows, key=lambda row: float(row[-1]))
    mean = f"**{geometric_mean(float(row[-1]) for row in rows):.2f}**"
    blank = [""] * (len(head) - 2)
    middle = [f"geometric mean of {len(rows)} cases", *blank, mean]
    return table(head, [*rows[:3], middle, *rows[-3:]])


def _parts(section: str) -> dict[str, str]:
    """Read what stands for each kind of processor."""
    _, *found = re.split(r"^### (.+)\n", section, flags=re.MULTILINE)
    return {name: part.strip() for name, part in zip(found[::2], found[1::2], strict=True)}


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: Sequence[str] = ()
) -> str:
    """Write a Markdown table: its first column and `texts` to the left, figures right."""
    rule = ["---", *("---" if name in texts else "--:" for name in head[1:])]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, rule, *rows])


def machine(*packages: str) -> str:
    """Say what a figure was measured with."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    processor = describe_processor()
    return f"Measured on {processor}, CPython {platform.python_version()}, {versions}."
