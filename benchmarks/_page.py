"""Write results into docs/benchmarks.md and the CSV files next to it.

Each suite has a section of the page with notes, and the main results of one processor.
"""

import csv
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from statistics import geometric_mean

from benchmarks._measure import is_quick_run
from benchmarks._processor import describe_processor, name_processor

QUICK_RUN_NOTE = (
    "This was a quick run, with fewer rounds, fewer cases or smaller files. "
    "It does not write docs/benchmarks.md."
)
BENCHMARKS_PAGE = Path(__file__).parents[1] / "docs/benchmarks.md"
# For tables with more rows, the page shows only the lowest and the highest ratio.
MAX_TABLE_ROWS = 12
OTHER_RESULTS_PREFIX = "Also measured on "
# Groups: the processor or device, its results, and links to other CSV files.
SECTION_PATTERN = re.compile(
    rf"(?sm)^### ([^\n]+)\n\n(.*?)(?:\n\n{OTHER_RESULTS_PREFIX}(.+))?\Z"
)


def publish_section(
    suite: str,
    text: str,
    *,
    notes: str = "",
    shown: str = "",
    hidden: str = "",
    kind: str | None = None,
) -> None:
    """Print the results of a suite and write them into its section of the page.

    The page shows the results of one processor. Results of each further processor are
    written to a CSV file that the section links to. A quick run only prints.

    Args:
        suite: Name of the section.
        text: Tables and paragraphs of this run.
        notes: Description of the method; written once per section.
        shown: Regular expression for the rows that the page shows.
        hidden: Regular expression for the first line of each table or paragraph that is
            only written to the CSV file.
        kind: Processor or device; default: `name_processor()`.
    """
    notes = " ".join(notes.split())
    print(f"\n== {suite}\n\n{notes}\n\n{text}")
    if is_quick_run():
        print(f"\n{QUICK_RUN_NOTE}")
        return
    kind = kind or name_processor()
    before, begin, rest = BENCHMARKS_PAGE.read_text("utf-8").partition(
        f"<!-- begin {suite} -->\n"
    )
    section, end, after = rest.partition(f"<!-- end {suite} -->")
    assert begin, f"{BENCHMARKS_PAGE.name} has no place for {suite}"
    assert end, f"{BENCHMARKS_PAGE.name} has no end for {suite}"
    results = _merge_processor_results(
        section.strip(), kind, (f"{suite} {kind}", text, shown, hidden)
    )
    content = f"{notes}\n\n{results}" if notes else results
    BENCHMARKS_PAGE.write_text(f"{before}{begin}\n{content}\n\n{end}{after}", "utf-8")


def _merge_processor_results(
    section: str, kind: str, results: tuple[str, str, str, str]
) -> str:
    """Return the results of the main processor; link to CSV files of other processors."""
    title, text, shown, hidden = results
    match = SECTION_PATTERN.search(section)
    main_kind, part, others = match.groups("") if match else (kind, "", "")
    links = dict(re.findall(r"\[([^]]+)\]\((\S+)\)", others))
    short = shorten_tables(text, shown, hidden)
    if kind != main_kind:
        links[kind] = _write_csv_file(title, text)
    elif short != text:
        part = f"{short}\n\n[All rows as CSV]({_write_csv_file(title, text)})."
    else:
        part = text
    also = ", ".join(f"[{name}]({link})" for name, link in sorted(links.items()))
    return f"### {main_kind}\n\n{part}" + (
        f"\n\n{OTHER_RESULTS_PREFIX}{also}." if also else ""
    )


def shorten_tables(text: str, shown: str = "", hidden: str = "") -> str:
    """Return a text without hidden paragraphs, and with only the main rows of tables.

    The main rows are those that match `shown`. If no row matches, a table with ratios
    and more than `MAX_TABLE_ROWS` rows is reduced to its lowest and highest ratio.
    """
    blocks = list[str]()
    for block in text.split("\n\n"):
        head, *lines = block.split("\n")
        if hidden and re.search(hidden, head):
            continue
        if block.startswith("|"):
            rule, *lines = lines
            main = [line for line in lines if shown and re.search(shown, line)]
            split = (enumerate(line.split(" | ")) for line in lines)
            ratio = min((at for row in split for at, it in row if "**" in it), default=0)
            if not main and ratio and len(lines) > MAX_TABLE_ROWS:
                main = _extreme_rows(
                    _split_cells(head), list(map(_split_cells, lines)), ratio
                )
            blocks.append("\n".join([head, rule, *(main or lines)]))
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


def _write_csv_file(title: str, text: str) -> str:
    """Write all rows and paragraphs to a CSV file; return the path relative to the page."""
    folder = BENCHMARKS_PAGE.with_suffix("")
    file = folder / (re.sub(r"\W+", "-", title.lower()) + ".csv")
    lines = (line for line in text.split("\n") if line)
    lines = [line for line in lines if not line.startswith(("|--", "!["))]
    with file.open("w", encoding="utf-8", newline="") as out:
        rows = (_split_cells(line) if line.startswith("|") else [line] for line in lines)
        csv.writer(out).writerows(rows)
    return f"{folder.name}/{file.name}"


def _split_cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip("|").split(" | ")]


def _extreme_rows(head: list[str], rows: list[list[str]], ratio: int) -> list[str]:
    """Return the rows with the lowest and highest ratio, and the geometric mean.

    In the mean, a ratio that was rounded to 0.00 counts as 0.005, the largest value
    that rounds to 0.00.
    """
    rows = sorted((row for row in rows if row[ratio]), key=lambda row: float(row[ratio]))
    ratios = [float(row[ratio]) for row in rows]
    note = "" if all(ratios) else " (0.00 as 0.005)"
    mean = [f"geometric mean of {len(rows)} cases{note}", *[""] * (len(head) - 1)]
    mean[ratio] = f"**{geometric_mean(it or 0.005 for it in ratios):.2f}**"
    return markdown_table(head, [rows[0], mean, rows[-1]]).split("\n")[2:]


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, texts: Sequence[str] = ()
) -> str:
    """Return a Markdown table. The first column and `texts` are left-aligned."""
    rule = ["---", *("---" if name in texts else "--:" for name in head[1:])]
    first, *others = (f"| {' | '.join(map(str, row))} |" for row in [head, *rows])
    return "\n".join([first, f"|{'|'.join(rule)}|", *others])


def describe_machine(*packages: str) -> str:
    """Return the processor and the versions of Python and the packages."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    processor = describe_processor()
    return f"Measured on {processor}, CPython {platform.python_version()}, {versions}."
