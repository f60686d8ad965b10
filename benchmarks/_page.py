"""Write results into docs/benchmarks.md and the CSV files next to it.

Each suite has a section of the page with notes, then one part for each kind of processor.
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
# The page shows the extremes of longer tables.
MAX_ROWS = 12


def publish(
    suite: str, text: str, *, notes: str = "", shown: str = "", kind: str | None = None
) -> None:
    """Print the results of a suite and write them into its section of the page.

    A quick run only prints its results.

    Args:
        suite: Name of the section.
        text: Tables and paragraphs of this run.
        notes: Description of the method; written once per section.
        shown: Regular expression for the rows that the page shows. All rows of such a
            table are in the CSV file.
        kind: Processor or device; default: `name_processor()`.
    """
    notes = " ".join(notes.split())
    print(f"\n== {suite}\n\n{notes}\n\n{text}")
    if is_quick():
        print(f"\n{QUICK_NOTE}")
        return
    kind = kind or name_processor()
    before, begin, rest = PAGE.read_text("utf-8").partition(f"<!-- begin {suite} -->\n")
    section, end, after = rest.partition(f"<!-- end {suite} -->")
    assert begin, f"{PAGE.name} has no place for {suite}"
    assert end, f"{PAGE.name} has no end for {suite}"
    parts = {**_parts(section), kind: shorten(text, f"{suite} {kind}", shown)}
    joined = [f"### {name}\n\n{part}" for name, part in sorted(parts.items())]
    content = "\n\n".join([notes, *joined] if notes else joined)
    PAGE.write_text(f"{before}{begin}\n{content}\n\n{end}{after}", "utf-8")


def shorten(text: str, title: str, shown: str = "") -> str:
    """Return the text with the main rows of long tables; write all rows into a CSV file.

    The main rows are those that match `shown`. Without a match, tables of more than
    `MAX_ROWS` rows with a ratio are replaced by the lowest and highest ratio.
    """
    blocks, rows = text.split("\n\n"), list[list[str]]()
    for number, block in enumerate(blocks):
        if not block.startswith("|"):
            continue
        head, rule, *lines = block.split("\n")
        cells = [_cells(line) for line in lines]
        main = [line for line in lines if shown and re.search(shown, line)]
        split = (enumerate(line.split(" | ")) for line in lines)
        ratio = min((at for row in split for at, it in row if "**" in it), default=0)
        if not main and ratio and len(lines) > MAX_ROWS:
            main = _extremes(_cells(head), cells, ratio)
        if main and len(main) < len(lines):
            rows += [_cells(head), *cells]
            blocks[number] = "\n".join([head, rule, *main])
    return "\n\n".join([*blocks, link_rows(title, rows)]) if rows else text


def link_rows(title: str, rows: Iterable[Sequence[str]]) -> str:
    """Write rows into a CSV file next to the page, and return the link to it."""
    folder = PAGE.with_suffix("")
    file = folder / (re.sub(r"\W+", "-", title.lower()) + ".csv")
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    return f"[All rows as CSV]({folder.name}/{file.name})."


def _cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip("|").split(" | ")]


def _extremes(head: list[str], rows: list[list[str]], ratio: int) -> list[str]:
    """Return the rows with the lowest and highest ratio, and the geometric mean."""
    rows = sorted((row for row in rows if row[ratio]), key=lambda row: float(row[ratio]))
    mean = [f"geometric mean of {len(rows)} cases", *[""] * (len(head) - 1)]
    mean[ratio] = f"**{geometric_mean(float(row[ratio]) for row in rows):.2f}**"
    return table(head, [rows[0], mean, rows[-1]]).split("\n")[2:]


def _parts(section: str) -> dict[str, str]:
    """Return the text of each kind of processor."""
    _, *parts = re.split(r"^### (.+)\n", section, flags=re.MULTILINE)
    return {name: part.strip() for name, part in zip(parts[::2], parts[1::2], strict=True)}


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: Sequence[str] = ()
) -> str:
    """Return a Markdown table. The first column and `texts` are left-aligned."""
    rule = ["---", *("---" if name in texts else "--:" for name in head[1:])]
    first, *others = (f"| {' | '.join(map(str, row))} |" for row in [head, *rows])
    return "\n".join([first, f"|{'|'.join(rule)}|", *others])


def machine(*packages: str) -> str:
    """Return the processor and the versions of Python and the packages."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    processor = describe_processor()
    return f"Measured on {processor}, CPython {platform.python_version()}, {versions}."
