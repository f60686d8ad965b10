"""The demo's experiment: its data, the linear model to beat, and its outcome."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._files import write_atomic
from seqloom.nn import Linear, Module
from seqloom.report import Tile, percent, wilson_interval, write_report
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from seqloom.data import Dataset
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
class Splice:
    """Holds the parts, and which test windows also stand in the training windows."""

    train: "Dataset"
    valid: "Dataset"
    test: "Dataset"
    is_shared: NDArray[np.bool_]

    def __str__(self) -> str:
        return (
            f"{len(self.train):,} windows to learn from, {len(self.valid):,} to choose the "
            f"epoch by, {len(self.test):,} of the official test split to score at the end"
        )


def read_splice(seed: int) -> Splice:
    """Read the packaged files and keep a tenth of the training windows aside."""
    from seqloom.data import split

    whole = _read("train", classes=None)
    # Equal windows fall on one side: the epoch is chosen by windows that were not learned.
    train, valid = split(whole, (0.9, 0.1), groups="sequence", seed=seed)
    test = _read("test", classes=whole.classes)
    shared = np.isin(test.group("sequence"), whole.group("sequence"))
    return Splice(train=train, valid=valid, test=test, is_shared=shared)


def _read(part: str, classes: tuple[str, ...] | None) -> "Dataset":
    """Read one part of the official split."""
    from seqloom import _demo
    from seqloom.data import Labels, SequenceDataset
    from seqloom.encode import OneHot

    return SequenceDataset(
        _demo.path(f"{part}.fa.gz"),
        labels=Labels(_demo.path(f"{part}.tsv"), classes=classes),
        encoder=OneHot("dna"),
    )


class Logistic(Module):
    """One number for each letter at each position and class, and nothing else."""

    head: Linear

    def __init__(self, inputs: int, outputs: int) -> None:
        self.head = Linear(inputs, outputs)

    def logits(self, x: Tensor, *, mask: object = None, key: object = None) -> Tensor:
        """Return the outputs ``(batch, class)`` of ``(batch, channel, position)``."""
        del mask, key  # windows have one length, and nothing is drawn
        return self.head(x.reshape(x.shape[0], -1))


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
        """Spell the figures, the network's first."""
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
        """Say how many windows stand in both parts of the official split."""
        return (
            f"{self.shared:,} of the {self.tests:,} test windows are also in the "
            "official training part."
        )


def compare(run: "Run", linear: "Run", splice: Splice) -> Outcome:
    """Compare the network with the linear model, and with itself on unseen windows."""
    right = _find_hits(run)
    hits, tests = int(right.sum()), right.size
    return Outcome(
        accuracy=hits / tests,
        interval=wilson_interval(hits, tests),
        linear=float(_find_hits(linear).mean()),
        unshared=float(right[~splice.is_shared].mean()),
        tests=tests,
        shared=int(splice.is_shared.sum()),
        seconds=round(sum(row["seconds"] for row in run.history), 1),
    )


def publish(run: "Run", outcome: Outcome, splice: Splice, *, folder: Path) -> Path:
    """Write the run's report with the comparison, and the numbers beside it."""
    report = replace(
        run.report,
        title="Primate splice junctions",
        lead=LEAD.format(splice),
        tiles=outcome.tiles(),
        notes=(*run.report.notes, outcome.note()),
    )
    write_atomic(folder / RESULTS, (json.dumps(asdict(outcome), indent=2) + "\n").encode())
    return write_report(folder, report)


def _find_hits(run: "Run") -> NDArray[np.bool_]:
    """Return for each test window whether its class was predicted."""
    part = cast("Part", run.test)  # the demo always has one
    return part.scores.to_numpy().argmax(axis=1) == part.labels
