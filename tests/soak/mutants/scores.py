"""Writes how many changes of the source the tests noticed into docs/reliability.md.

python -m tests.soak.mutants.scores target/mutants
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks._page import table
from faults._page import replace_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
# What was counted so far; what was noticed when a crate or package was first tried stays.
SCORES = HERE / "scores.tsv"
# Changes that change nothing that a test could see: file, old line, new line, reason.
EQUIVALENT = HERE / "equivalent.tsv"


class Score(NamedTuple):
    """What became of the changes of a crate or package."""

    name: str
    all: int
    tried: int
    equivalent: int
    survived: int
    first: str = ""

    @property
    def noticed(self) -> str:
        """Write how many of those that matter were noticed."""
        matter = self.tried - self.equivalent
        noticed = matter - self.survived
        return f"{noticed} of {matter}, {100 * noticed / matter:.0f} %"


def publish(home: Path) -> None:
    """Add the outcomes of a run to the scores, and write their table."""
    scores = {score.name: score for score in _read_scores()}
    for score in [*_count_crates(home), *_count_packages(home)]:
        first = scores[score.name].first if score.name in scores else score.noticed
        scores[score.name] = score._replace(first=first)
    lines = ["\t".join(map(str, score)) for score in scores.values()]
    SCORES.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = [
        (it.name, f"{it.all:,}", f"{it.tried}", f"{it.equivalent}", it.first, it.noticed)
        for it in scores.values()
    ]
    head = ("part", "changes", "tried", "equivalent", "detected at first", "detected now")
    replace_tables({"mutants": table(head, rows)})


def _read_scores() -> Iterator[Score]:
    lines = SCORES.read_text("utf-8").splitlines() if SCORES.exists() else []
    for name, *numbers, first in (line.split("\t") for line in lines):
        yield Score(name, *map(int, numbers), first=first)


def _count_packages(home: Path) -> Iterator[Score]:
    """Count what sample.py tried."""
    with EQUIVALENT.open(encoding="utf-8", newline="") as lines:
        listed = {tuple(row[:3]) for row in csv.reader(lines, delimiter="\t")}
    for path in sorted(home.glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        differences = [difference for difference in found["tried"].values() if difference]
        equivalent = sum(_name(difference) in listed for difference in differences)
        survived = len(differences) - equivalent
        yield Score(path.stem, found["all"], len(found["tried"]), equivalent, survived)


def _name(difference: str) -> tuple[str, str, str]:
    """Name a change by its file, the old and the new line."""
    lines = difference.splitlines()
    path = next(line[6:] for line in lines if line.startswith("--- a/"))
    old = [line[1:].strip() for line in lines if line.startswith("-") and line[:3] != "---"]
    new = [line[1:].strip() for line in lines if line.startswith("+") and line[:3] != "+++"]
    return path, " ".join(filter(None, old)), " ".join(filter(None, new))


def _count_crates(home: Path) -> Iterator[Score]:
    """Count what cargo-mutants tried; it leaves out those that crates.toml lists."""
    for path in sorted(home.glob("*/mutants.out")):
        survived = len((path / "missed.txt").read_text("utf-8").splitlines())
        tried = survived + sum(
            len(found.read_text("utf-8").splitlines())
            for name in ("caught.txt", "timeout.txt", "previously_caught.txt")
            if (found := path / name).exists()
        )
        every = int((path.parent / "all").read_text("utf-8"))
        yield Score(path.parent.name, every, tried, 0, survived)


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
