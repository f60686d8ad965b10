"""A part of the data that a trained model was judged on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.infer import Scores
from seqloom.infer._predict import measure, score
from seqloom.infer._scores import values_of
from seqloom.models import Classify, Examples, Regress, Task, Trained
from seqloom.models._known_letters import find_known
from seqloom.report import (
    auprc_interval,
    auroc_interval,
    pearson_interval,
    wilson_interval,
)
from seqloom.train._metrics import Metric, measure_all

_TWO = 2


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the data that the final model was judged on.

    Attributes:
        scores: What the model says of each record; empty for a custom task.
        labels: What is true; empty for a custom task.
        metrics: How well the two agree, as `seqloom.infer.evaluate` says it.
        known: Which records have the letters of a training record, so that they show what
            the model remembers; None where they have no letters, or are too many.

    Examples:
        >>> part = Part(Scores(["a"], ["gc"], np.ones((1, 1))), np.ones(1), {"n": 1})
        >>> len(part.scores)
        1
    """

    scores: Scores
    labels: NDArray[Any]
    metrics: dict[str, float]
    known: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        return f"Part of {round(self.metrics['n']):,} records: {headline(self.metrics)}"


def headline(metrics: dict[str, float]) -> str:
    """Gives the first metric by its name."""
    name = next(key for key in metrics if key != "n")
    return f"{name.replace('_', ' ')} {metrics[name]:.4f}"


def judge(
    trained: Trained, examples: Examples | None, metrics: Mapping[str, Metric]
) -> Part | None:
    """Scores a part and compares the scores with its labels."""
    if examples is None:
        return None
    scores, labels = score(trained, examples), np.asarray(examples.labels)
    found = measure(trained, examples, scores)
    found |= measure_all(metrics, labels, values_of(trained.task, scores))
    return Part(scores, labels, found, find_known(trained.known_letters, examples))


def find_intervals(
    task: Task, metrics: dict[str, float], labels: Any
) -> dict[str, tuple[float, float]]:
    """Computes the 95 % intervals of the metrics that have one in closed form."""
    count = round(metrics["n"])
    if isinstance(task, Classify):
        found = {"accuracy": wilson_interval(round(metrics["accuracy"] * count), count)}
        has_areas = len(task.columns) == _TWO
        return found | (_areas(metrics, labels) if has_areas else {})
    if isinstance(task, Regress) and len(task.columns) == 1:
        return {"pearson": pearson_interval(metrics["pearson"], count)}
    return {}


def _areas(
    metrics: dict[str, float], labels: NDArray[Any]
) -> dict[str, tuple[float, float]]:
    """Computes those of the areas, which of two classes are of the second one."""
    positives = int(np.sum(labels))
    negatives = len(labels) - positives
    if not (positives and negatives):
        return {}
    return {
        "auroc": auroc_interval(metrics["auroc"], positives, negatives),
        "auprc": auprc_interval(metrics["auprc"], positives),
    }
