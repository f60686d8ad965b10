"""Write the number of code changes that tests detect into docs/reliability.md.

python -m tests.soak.mutants.scores target/mutants
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks._page import markdown_table
from faults._page import replace_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

MUTANTS_FOLDER = Path(__file__).parent
# Table of the latest scores, with a column for the score of each package's first run.
SCORES_FILE = MUTANTS_FOLDER / "scores.tsv"
# Changes that no test can detect. Columns: file, old line, new line, reason.
EQUIVALENT_MUTANTS_FILE = MUTANTS_FOLDER / "equivalent.tsv"


class Score(NamedTuple):
    """Numbers of tested, equivalent and undetected changes of a crate or package."""

    name: str
    all: int
    tried: int
    equivalent: int
    survived: int
    first: str = ""

    @property
    def detected(self) -> str:
        """Number and percentage of detected changes, without equivalent changes."""
        relevant = self.tried - self.equivalent
        detected = relevant - self.survived
        return f"{detected} of {relevant}, {100 * detected / relevant:.0f} %"


def publish(home: Path) -> None:
    """Add the results of a run to the scores, and write the table of scores."""
    scores = {score.name: score for score in _read_scores()}
    for score in [*_count_crates(home), *_count_packages(home)]:
        first = scores[score.name].first if score.name in scores else score.detected
        scores[score.name] = score._replace(first=first)
    lines = ["\t".join(map(str, score)) for score in scores.values()]
    SCORES_FILE.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rows = [
        (it.name, f"{it.all:,}", f"{it.tried}", f"{it.equivalent}", it.first, it.detected)
        for it in scores.values()
    ]
    head = ("part", "changes", "tried", "equivalent", "detected at first", "detected now")
    replace_tables({"mutants": markdown_table(head, rows)})


def _read_scores() -> Iterator[Score]:
    lines = SCORES_FILE.read_text("utf-8").splitlines() if SCORES_FILE.exists() else []
    for name, *numbers, first in (line.split("\t") for line in lines):
        yield Score(name, *map(int, numbers), first=first)


def _count_packages(home: Path) -> Iterator[Score]:
    """Return the scores of the packages that sample.py tested."""
    with EQUIVALENT_MUTANTS_FILE.open(encoding="utf-8", newline="") as lines:
        listed = {tuple(row[:3]) for row in csv.reader(lines, delimiter="\t")}
    for path in sorted(home.glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        differences = [difference for difference in found["tried"].values() if difference]
        equivalent = sum(_name(difference) in listed for difference in differences)
        survived = len(differences) - equivalent
        yield Score(path.stem, found["all"], len(found["tried"]), equivalent, survived)


def _name(difference: str) -> tuple[str, str, str]:
    """Return the file, the old line and the new line of a change."""
    lines = difference.splitlines()
    path = next(line[6:] for line in lines if line.startswith("--- a/"))
    old = [line[1:].strip() for line in lines if line.startswith("-") and line[:3] != "---"]
    new = [line[1:].strip() for line in lines if line.startswith("+") and line[:3] != "+++"]
    return path, " ".join(filter(None, old)), " ".join(filter(None, new))


def _count_crates(home: Path) -> Iterator[Score]:
    """Return the scores of crates; cargo-mutants skips changes listed in crates.toml."""
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
