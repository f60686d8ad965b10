"""Add the counts of a fuzzing run to fuzz/hours.tsv, and update the table in the docs.

    python -m fuzz.account target/fuzz/rounds.tsv

Each line of this file contains a target, its seconds and its number of inputs. The last two
columns are the number of program edges that the inputs reached, and the number of all
edges. Both numbers are 0 if the fuzzer does not count edges.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks._processor import name_processor
from faults._page import replace_tables

HOURS_FILE = Path(__file__).with_name("hours.tsv")


class TargetTotals(NamedTuple):
    """The sums of one target over all runs."""

    target: str
    seconds: int = 0
    inputs: int = 0
    met: int = 0
    edges: int = 0

    def plus(self, other: TargetTotals) -> TargetTotals:
        """Add the counts of a run; keep the edges of the run that reached more edges."""
        later = max(self, other, key=lambda one: one.met)
        return TargetTotals(
            self.target,
            self.seconds + other.seconds,
            self.inputs + other.inputs,
            later.met,
            later.edges,
        )


def main(rounds: Path) -> None:
    """Add the counts of the rounds to the table, and remove the file of rounds."""
    tried = {one.target: one for one in _read_totals(HOURS_FILE)}
    for one in _read_totals(rounds):
        tried[one.target] = tried.get(one.target, TargetTotals(one.target)).plus(one)
    lines = ["\t".join(map(str, tried[target])) for target in sorted(tried)]
    HOURS_FILE.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    rounds.unlink()
    replace_tables({"fuzz": _write_page([tried[target] for target in sorted(tried)])})


def _read_totals(path: Path) -> list[TargetTotals]:
    """Read the table of targets, which is missing before the first run."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    fields = [line.split("\t") for line in lines]
    return [TargetTotals(target, *map(int, numbers)) for target, *numbers in fields]


def _write_page(tried: list[TargetTotals]) -> str:
    """Return the sums over all targets."""
    hours = sum(one.seconds for one in tried) / 3600
    inputs = sum(one.inputs for one in tried)
    return (
        f"{len(tried)} targets ran for {hours:.1f} core hours on {inputs:,} inputs; the "
        f"last run was on an {name_processor()}."
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
