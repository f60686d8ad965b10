"""What the demo found, for the terminal, the report and another program."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from seqloom._files import write_atomic
from seqloom.report import Tile, percent, wilson_interval, write_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seqloom.cli._splice import Splice
    from seqloom.train import Part, Run

# Radial basis functions, the best of the StatLog study on this split.
PUBLISHED = 0.959
# The numbers beside the report; also the mark of a folder that the next demo may replace.
RESULTS = "demo.json"
LEAD = (
    "A small convolutional network reads 60 letters of DNA and says whether a donor (EI), "
    "an acceptor (IE) or neither (N) is in the middle. It had {}."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Holds the accuracies on the test windows."""

    accuracy: float
    interval: tuple[float, float]
    linear: float
    unshared: float
    tests: int
    shared: int
    seconds: float

    def tiles(self) -> tuple[Tile, ...]:
        """Spells the figures, the network's first."""
        low, high = self.interval
        unseen = f"{self.tests - self.shared:,} windows that training never saw"
        return (
            Tile(
                "test accuracy",
                percent(self.accuracy),
                note=f"95 % interval {100 * low:.1f} to {percent(high)}",
            ),
            Tile("published", percent(PUBLISHED), note="the best of the StatLog study"),
            Tile("logistic regression", percent(self.linear), note="on the same one-hot"),
            Tile("without shared windows", percent(self.unshared), note=unseen),
        )

    def note(self) -> str:
        """Says how many windows stand in both parts of the official split."""
        return (
            f"{self.shared:,} of the {self.tests:,} test windows are also in the "
            "official training part."
        )


def compare(run: "Run", linear: "Run", splice: "Splice") -> Outcome:
    """Compares the network with the linear model, and with itself on unseen windows."""
    right = _is_right(_test_part(run))
    hits, tests = int(right.sum()), right.size
    return Outcome(
        accuracy=hits / tests,
        interval=wilson_interval(hits, tests),
        linear=float(_is_right(_test_part(linear)).mean()),
        unshared=float(right[~splice.is_shared].mean()),
        tests=tests,
        shared=int(splice.is_shared.sum()),
        seconds=round(sum(row["seconds"] for row in run.history), 1),
    )


def publish(run: "Run", outcome: Outcome, splice: "Splice", *, folder: Path) -> Path:
    """Writes the run's report with the comparison, and the numbers beside it."""
    report = replace(
        run.report,
        title="Primate splice junctions",
        lead=LEAD.format(splice),
        tiles=outcome.tiles(),
        notes=(*run.report.notes, outcome.note()),
    )
    write_atomic(folder / RESULTS, (json.dumps(asdict(outcome), indent=2) + "\n").encode())
    return write_report(folder, report)


def is_demo(folder: Path) -> bool:
    """Says whether a folder holds an earlier demo."""
    return (folder / RESULTS).exists()


def _test_part(run: "Run") -> "Part":
    """Gives the test part, which the demo always has."""
    return cast("Part", run.test)


def _is_right(part: "Part") -> "NDArray[np.bool_]":
    """Says of each window whether its class was found."""
    return part.scores.to_numpy().argmax(axis=1) == part.labels
