"""Data and results of the demo."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._files import write_atomic
from seqloom.report import Tile, percent, wilson_interval, write_report

if TYPE_CHECKING:
    from seqloom.data import Dataset
    from seqloom.train import Part, Run

# Accuracy of a radial basis function network, the best method on this split in the
# StatLog study.
STATLOG_BEST = 0.959
# Name of the file with the results. The next demo may replace a folder that contains
# this file.
RESULTS_FILE = "demo.json"
REPORT_LEAD = (
    "A small convolutional network reads 60 bases of DNA and predicts whether a donor "
    "(EI), an acceptor (IE) or neither (N) is in the middle. It had {}."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """Three sets of windows, and a mask of test windows that also occur in another set."""

    train: "Dataset"
    valid: "Dataset"
    test: "Dataset"
    is_shared: NDArray[np.bool_]

    def __str__(self) -> str:
        return (
            f"{len(self.train):,} windows for training, {len(self.valid):,} for "
            f"validation, and {len(self.test):,} of the official test set"
        )


def read_splice(seed: int) -> Splice:
    """Read the packaged files, and hold out a tenth of the windows for validation."""
    from seqloom.data import split

    whole = _read_set("train", classes=None)
    # Keep equal windows in one set, so that the validation set is independent.
    train, valid = split(whole, (0.9, 0.1), groups="sequence", seed=seed)
    test = _read_set("test", classes=whole.classes)
    shared = np.isin(test.group("sequence"), whole.group("sequence"))
    return Splice(train=train, valid=valid, test=test, is_shared=shared)


def _read_set(part: str, classes: tuple[str, ...] | None) -> "Dataset":
    """Read the training or the test set of the official split."""
    from seqloom import _demo
    from seqloom.data import Labels, SequenceDataset
    from seqloom.encode import OneHot

    return SequenceDataset(
        _demo.example_path(f"{part}.fa.gz"),
        labels=Labels(_demo.example_path(f"{part}.tsv"), classes=classes),
        encoder=OneHot("dna"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Accuracies of several methods on the test windows."""

    accuracy: float
    interval: tuple[float, float]
    linear: float
    unshared: float
    tests: int
    shared: int
    seconds: float

    def tiles(self) -> tuple[Tile, ...]:
        """Return the key results, with the results of the network first."""
        low, high = self.interval
        unseen = f"{self.tests - self.shared:,} windows that are not in the training set"
        return (
            Tile(
                "test accuracy",
                percent(self.accuracy),
                note=f"95 % interval {100 * low:.1f} to {percent(high)}",
            ),
            Tile("published", percent(STATLOG_BEST), note="the best of the StatLog study"),
            Tile(
                "logistic regression",
                percent(self.linear),
                note="on the same one-hot encoding",
            ),
            Tile("without shared windows", percent(self.unshared), note=unseen),
        )

    def note(self) -> str:
        """Return the number of test windows that are also in the official training set."""
        return (
            f"{self.shared:,} of the {self.tests:,} test windows are also in the "
            "official training set."
        )


def compare_methods(run: "Run", splice: Splice) -> Outcome:
    """Compare the network with logistic regression; score unseen windows separately."""
    right = _correct_mask(run)
    hits, tests = int(right.sum()), right.size
    return Outcome(
        accuracy=hits / tests,
        interval=wilson_interval(hits, tests),
        linear=next(
            it.metrics["test"]["accuracy"] for it in run.baselines if "one-hot" in it.name
        ),
        unshared=float(right[~splice.is_shared].mean()),
        tests=tests,
        shared=int(splice.is_shared.sum()),
        seconds=round(sum(row["seconds"] for row in run.history), 1),
    )


def write_outcome(run: "Run", outcome: Outcome, splice: Splice, *, folder: Path) -> Path:
    """Write the report of the run with the comparison, and the results as JSON."""
    report = replace(
        run.report,
        title="Primate splice junctions",
        lead=REPORT_LEAD.format(splice),
        tiles=outcome.tiles(),
        notes=(*run.report.notes, outcome.note()),
    )
    write_atomic(
        folder / RESULTS_FILE, (json.dumps(asdict(outcome), indent=2) + "\n").encode()
    )
    return write_report(folder, report)


def _correct_mask(run: "Run") -> NDArray[np.bool_]:
    """Return a mask of the test windows that were classified correctly."""
    part = cast("Part", run.test)  # the demo always has a test set
    return part.scores.to_numpy().argmax(axis=1) == part.labels
