"""The page that holds the results: docs/benchmarks.md, one section a suite."""

import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/benchmarks.md"


def publish(suite: str, text: str) -> None:
    """Prints a suite's results and puts them between its two marks on the page."""
    print(f"\n== {suite}\n\n{text}")
    before, begin, rest = PAGE.read_text("utf-8").partition(f"<!-- begin {suite} -->\n")
    _, end, after = rest.partition(f"<!-- end {suite} -->")
    assert begin, f"{PAGE.name} has no place for {suite}"
    assert end, f"{PAGE.name} has no end for {suite}"
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", "utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Writes a Markdown table, its first column to the left and the others to the right."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in [head, rule, *rows])


def machine(*packages: str) -> str:
    """Says what a figure was measured with."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return f"Measured on {_processor()}, CPython {platform.python_version()}, {versions}."


def _processor() -> str:
    """Names the processor, how many of its cores there are, and how busy they were."""
    facts = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    names = [value.strip() for key, _, value in facts if key.strip() == "model name"]
    name = names[0] if names else platform.machine()
    return f"{name} ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
