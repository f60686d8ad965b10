"""How the demo's network was chosen: cross-validation on the 2,000 training windows.

The test part is never read here. Windows with equal letters fall into one fold. In each
fold the demo's own procedure is followed: a tenth of what teaches chooses the epoch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import mean, stdev
from typing import Any

from benchmarks._page import machine, publish, table
from benchmarks._splice import read, windows_as_groups
from seqloom.cli._demo import NETWORK
from seqloom.data import SequenceDataset, Subset, folds, split
from seqloom.infer import evaluate
from seqloom.models import SequenceCNNConfig
from seqloom.train import fit

FOLDS = 5
REPEATS = 2
HEAD = ("network and training", "accuracy", "standard error", "each repeat")


@dataclass(frozen=True, slots=True)
class Candidate:
    """What differs from the demo's settings."""

    name: str
    network: Mapping[str, Any] = field(default_factory=dict[str, Any])
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])


CANDIDATES = (
    Candidate("**the demo's**"),
    Candidate("kernels 5, 5, 5", {"kernel_size": 5}),
    Candidate("no pooling", {"pools": (1, 1, 1)}),
    Candidate("two blocks", {"widths": (32, 32), "pools": (2, 2), "kernel_size": (9, 5)}),
    Candidate("one block", {"widths": (64,), "pools": (1,), "kernel_size": 9}),
    Candidate("twice as wide", {"widths": (64, 64, 64)}),
    Candidate("head dropout 0.2", {"dropout": 0.2}),
    Candidate("rate 1e-3", training={"lr": 1e-3}),
    Candidate("rate 2e-3", training={"lr": 2e-3}),
    Candidate("batches of 32", training={"batch_size": 32}),
    Candidate("weight decay 0.1", training={"weight_decay": 0.1}),
    Candidate("25 epochs", training={"epochs": 25}),
    Candidate("classes weighted", training={"class_weight": "balanced"}),
)


def main() -> None:
    """Scores every candidate on the same folds."""
    data = read("train")
    rows = [_row(candidate, data) for candidate in CANDIDATES]
    publish("splice_cv", f"{table(HEAD, rows)}\n\n{machine('numpy', 'seqloom')}")


def _row(candidate: Candidate, data: SequenceDataset) -> tuple[str, ...]:
    """Scores one candidate on every fold of every repeat."""
    scores = [_scores(candidate, data, seed) for seed in range(REPEATS)]
    every = sum(scores, list[float]())
    error = stdev(every) / len(every) ** 0.5
    repeats = ", ".join(f"{mean(each):.4f}" for each in scores)
    row = (candidate.name, f"{mean(every):.4f}", f"{error:.4f}", repeats)
    print(*row, sep="\t", flush=True)
    return row


def _scores(candidate: Candidate, data: SequenceDataset, seed: int) -> list[float]:
    """Gives the accuracy on each fold."""
    groups = windows_as_groups(data)
    return [
        _score(candidate, pair, groups, seed=FOLDS * seed + number)
        for number, pair in enumerate(folds(data, FOLDS, groups=groups, seed=seed))
    ]


def _score(
    candidate: Candidate, pair: tuple[Subset, Subset], groups: dict[str, str], *, seed: int
) -> float:
    """Trains as the demo does and judges on what was held out."""
    teach, held = pair
    inner = {each: groups[each] for each in teach.ids}
    train, valid = split(teach, (0.9, 0.1), groups=inner, seed=seed)
    config = replace(SequenceCNNConfig.for_data(train), **candidate.network)
    training: dict[str, Any] = {**NETWORK, **candidate.training}
    run = fit(config, train, valid, seed=seed, **training)
    return evaluate(run.trained, held)["accuracy"]
