"""Measure how much of each crate fuzzing covers, and list functions that no input reaches.

    python -m fuzz.reached target/coverage/all.json

Read the export of llvm-cov, and write fuzz/unreached.txt and a table of
docs/reliability.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks._page import markdown_table
from faults._page import replace_tables

ROOT = Path(__file__).parents[1]
UNREACHED_FILE = Path(__file__).with_name("unreached.txt")
# The crates that parse files.
CRATES = (
    "compression",
    "sequences",
    "index",
    "variants",
    "tracks",
    "plink",
    "encode",
    "load",
    "graph",
    "run",
)

# The file and line of a function. All instances of a generic function share one entry.
Function = tuple[str, int]


def main(exported: Path) -> None:
    """Write the names of unreached functions, and the table."""
    (found,) = json.loads(exported.read_text("utf-8"))["data"]
    calls = _count_calls(found["functions"])
    lines = _count_lines(found["files"])
    missed = sorted(function for function, count in calls.items() if not count)
    UNREACHED_FILE.write_text(
        "".join(f"{_function_name(*function)}\n" for function in missed), "utf-8"
    )
    rows = [
        (
            f"seqloom-{crate}",
            *_reached_lines(lines[crate]),
            *_reached_functions(crate, calls),
        )
        for crate in CRATES
    ]
    head = ("crate", "lines", "lines reached", "functions", "functions not reached")
    replace_tables({"reached": markdown_table(head, rows)})
    print(f"{len(missed)} functions are not reached: {UNREACHED_FILE.relative_to(ROOT)}")


def _count_calls(functions: list[dict[str, Any]]) -> dict[Function, int]:
    """Count how often each function of the crates was called."""
    calls: dict[Function, int] = defaultdict(int)
    for function in functions:
        path = _path_in_repository(function["filenames"][0])
        if path:
            calls[path, function["regions"][0][0]] += function["count"]
    return calls


def _count_lines(files: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Count the lines of each crate, and the lines that were reached."""
    lines: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for file in files:
        if path := _path_in_repository(file["filename"]):
            found, (every, reached) = file["summary"]["lines"], lines[_crate_of(path)]
            lines[_crate_of(path)] = every + found["count"], reached + found["covered"]
    return lines


def _path_in_repository(filename: str) -> str | None:
    """Return the path in this repository of a file of one of the crates."""
    found = re.search(r"crates/seqloom-(\w+)/.*", filename)
    return found[0] if found and found[1] in CRATES else None


def _crate_of(path: str) -> str:
    """Return the crate of a file."""
    return path.split("/")[1].removeprefix("seqloom-")


def _function_name(path: str, line: int) -> str:
    """Return the file, the line and the name of a function."""
    source = (ROOT / path).read_text("utf-8").splitlines()
    found = next(
        (
            it
            for text in source[line - 1 : line + 3]
            if (it := re.search(r"fn (\w+)", text))
        ),
        None,
    )
    return f"{path}:{line} {found[1] if found else 'closure'}"


def _reached_lines(lines: tuple[int, int]) -> tuple[str, str]:
    """Format the number of lines, and the percentage that was reached."""
    every, reached = lines
    return f"{every:,}", f"{100 * reached / every:.0f} %"


def _reached_functions(crate: str, calls: dict[Function, int]) -> tuple[str, str]:
    """Format the number of functions of a crate, and the number that were never called."""
    counts = [count for (path, _), count in calls.items() if _crate_of(path) == crate]
    return f"{len(counts):,}", f"{counts.count(0):,}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
