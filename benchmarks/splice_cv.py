"""Choose the network of the demo by cross-validation on the 2,000 training windows.

The test set of the demo is not read. Equal windows are in the same fold. As in the
demo, the best epoch is chosen on a tenth of the training set.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import mean, stdev
from typing import Any

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._splice_data import group_equal_windows, read_splice_windows
from seqloom.cli._demo import NETWORK_SETTINGS
from seqloom.data import Dataset, folds, split
from seqloom.infer import evaluate
from seqloom.models import SequenceCNNConfig
from seqloom.train import Objective, Updates, fit

FOLDS = 5
REPEATS = full_or_quick(4, 1)
TABLE_COLUMNS = (
    "network and training",
    "accuracy",
    "difference from the demo",
    "standard error",
)


@dataclass(frozen=True, slots=True)
class CandidateNetwork:
    """Settings of a candidate network that differ from those of the demo."""

    name: str
    network: Mapping[str, Any] = field(default_factory=dict[str, Any])
    training: Mapping[str, Any] = field(default_factory=dict[str, Any])


CANDIDATE_NETWORKS = (
    CandidateNetwork("**the demo's**"),
    CandidateNetwork("kernels 5, 5, 5", {"kernel_size": 5}),
    CandidateNetwork("no pooling", {"pools": (1, 1, 1)}),
    CandidateNetwork(
        "two blocks", {"widths": (32, 32), "pools": (2, 2), "kernel_size": (9, 5)}
    ),
    CandidateNetwork("one block", {"widths": (64,), "pools": (1,), "kernel_size": 9}),
    CandidateNetwork(
        "four blocks",
        {"widths": (32,) * 4, "pools": (1, 1, 2, 2), "kernel_size": (3, 3, 5, 5)},
    ),
    CandidateNetwork("twice as wide", {"widths": (64, 64, 64)}),
    CandidateNetwork("head dropout 0.2", {"dropout": 0.2}),
    CandidateNetwork("rate 1e-3", training={"lr": 1e-3}),
    CandidateNetwork("rate 2e-3", training={"lr": 2e-3}),
    CandidateNetwork("batches of 32", training={"batch_size": 32}),
    CandidateNetwork("weight decay 0.1", training={"optimizer": Updates(weight_decay=0.1)}),
    CandidateNetwork("25 epochs", training={"epochs": 25}),
    CandidateNetwork(
        "classes weighted", training={"objective": Objective(class_weight="balanced")}
    ),
)


def main() -> None:
    """Evaluate every candidate on the same folds."""
    data = read_splice_windows("train")
    candidates = full_or_quick(CANDIDATE_NETWORKS, CANDIDATE_NETWORKS[:4])
    scores = {each.name: _fold_accuracies(each, data) for each in candidates}
    first = next(iter(scores.values()))
    rows = [(name, *_candidate_summary(values, first)) for name, values in scores.items()]
    text = (
        f"{markdown_table(TABLE_COLUMNS, rows)}\n\n{describe_machine('numpy', 'seqloom')}"
    )
    publish_section("splice_cv", text, shown="demo's|one block|four blocks|wide")


def _candidate_summary(scores: list[float], first: list[float]) -> tuple[str, str, str]:
    """Return the mean accuracy, and the mean difference from the first candidate."""
    gaps = [own - other for own, other in zip(scores, first, strict=True)]
    error = stdev(gaps) / len(gaps) ** 0.5
    return f"{mean(scores):.4f}", f"{mean(gaps):+.4f}", f"{error:.4f}"


def _fold_accuracies(candidate: CandidateNetwork, data: Dataset) -> list[float]:
    """Return the accuracy on each fold of each repeat."""
    groups = group_equal_windows(data)
    scores = [
        _fold_accuracy(candidate, pair, groups, seed=FOLDS * seed + number)
        for seed in range(REPEATS)
        for number, pair in enumerate(folds(data, FOLDS, groups=groups, seed=seed))
    ]
    print(candidate.name, f"{mean(scores):.4f}", sep="\t", flush=True)
    return scores


def _fold_accuracy(
    candidate: CandidateNetwork,
    pair: tuple[Dataset, Dataset],
    groups: dict[str, str],
    *,
    seed: int,
) -> float:
    """Train like the demo and return the accuracy on the held-out fold."""
    teach, held = pair
    inner = {each: groups[each] for each in teach.ids}
    train, valid = split(teach, (0.9, 0.1), groups=inner, seed=seed)
    config = replace(SequenceCNNConfig.for_data(train), **candidate.network)
    training: dict[str, Any] = {**NETWORK_SETTINGS, **candidate.training}
    run = fit(config, train, valid, seed=seed, **training)
    return evaluate(run.trained, held)["accuracy"]
