"""The page that holds the results: docs/benchmarks.md.

A suite has one section, and in it one part for each kind of processor that was measured.
"""

import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from benchmarks._measure import is_quick
from benchmarks._processor import describe_processor, name_processor

QUICK_NOTE = (
    "This was a quick run, with fewer rounds, fewer cases or smaller files. "
    "It does not write docs/benchmarks.md."
)
PAGE = Path(__file__).parents[1] / "docs/benchmarks.md"


def publish(suite: str, text: str, *, kind: str | None = None) -> None:
    """Print a suite's results and put them into its section, under the processor.

    A quick run prints its results, but does not put them on the page.
    """
    # Or under another kind of device.
    print(f"\n== {suite}\n\n{text}")
    if is_quick():
        print(f"\n{QUICK_NOTE}")
        return
    before, begin, rest = PAGE.read_text("utf-8").partition(f"<!-- begin {suite} -->\n")
    section, end, after = rest.partition(f"<!-- end {suite} -->")
    assert begin, f"{PAGE.name} has no place for {suite}"
    assert end, f"{PAGE.name} has no end for {suite}"
    parts = {**_parts(section), kind or name_processor(): text}
    joined = "\n\n".join(f"### {name}\n\n{part}" for name, part in sorted(parts.items()))
    PAGE.write_text(f"{before}{begin}\n{joined}\n\n{end}{after}", "utf-8")


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
