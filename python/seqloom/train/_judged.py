"""A part of the data that a trained model was judged on: how well it does, and labels."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom._files import reading, write_atomic
from seqloom.errors import ArgumentError, FormatError
from seqloom.infer import Scores
from seqloom.infer._predict import measure, score
from seqloom.infer._scores import values_of
from seqloom.models import Classify, Custom, Examples, Regress, Task, Trained
from seqloom.models._known_letters import find_known
from seqloom.report import (
    auprc_interval,
    auroc_interval,
    pearson_interval,
    wilson_interval,
)

_TWO = 2
# From so many records on, chance alone seldom makes a good model look like none.
_ENOUGH = 10
# (labels, scores) -> number, or an object with update(labels, scores) and compute().
Metric: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float] | Any
Metrics: TypeAlias = Mapping[str, Metric] | Sequence[Metric] | None
LOSS = "loss"  # the name of the loss in the history


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


def no_better(task: Task, name: str, part: Part) -> str | None:
    """Says so where a model has learned nothing that holds for a part."""
    metrics = part.metrics
    if metrics["n"] < _ENOUGH or isinstance(task, Custom):
        return None
    if isinstance(task, Regress):
        # A constant part has no r2, and NaN is not at most 0.
        is_poor, beside, figure = metrics["r2"] <= 0, "the mean", f"r2 {metrics['r2']:.2f}"
    else:
        # A class that the part does not hold counts neither in the measure nor for chance.
        there = len(np.unique(part.labels)) if isinstance(task, Classify) else 2
        chance = 1 / max(there, 1)
        is_poor, figure = metrics["balanced_accuracy"] <= chance, _shares(metrics)
        beside = "always the most frequent answer"
    if not is_poor:
        return None
    return (
        f"the model is no better than {beside} on the {name} part ({figure}): check that "
        "the labels belong to these records, or give more records, epochs or another lr"
    )


def _shares(metrics: dict[str, float]) -> str:
    """Spells how often a classifier is right."""
    names = ("accuracy", "balanced_accuracy")
    return ", ".join(f"{name.replace('_', ' ')} {metrics[name]:.2f}" for name in names)


def write_labels(path: Path, task: Task, part: Part) -> None:
    """Writes a line for each record, in the order of its scores, whole or not at all."""
    if isinstance(task, Classify):
        write_atomic(path, "".join(_lines(task, part)).encode())
    else:
        values = np.reshape(part.labels, (len(part.scores), -1))
        Scores(part.scores.ids, task.columns, values).to_tsv(path)


def read_classes(path: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Reads the ids and the classes that `write_labels` wrote of a classifier."""
    with reading(Path(path)):
        text = Path(path).read_bytes().decode("utf-8", "replace")
    head, *rows = [line.split("\t") for line in text.split("\n")[:-1]] or [[]]
    if head != ["id", "label"] or any(len(row) != len(head) for row in rows):
        raise FormatError(f"{path}: not a table of ids and labels", path=str(path))
    return [row[0] for row in rows], [row[1] for row in rows]


def _lines(task: Classify, part: Part) -> Iterator[str]:
    """Gives the table's lines: an id and the name of its class."""
    yield "id\tlabel\n"
    for name, label in zip(part.scores.ids, np.asarray(part.labels), strict=True):
        yield f"{name}\t{task.columns[label]}\n"


def list_metrics(metrics: Metrics) -> dict[str, Metric]:
    """Gives metrics by name; refuses what measures nothing."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        metrics = _name_all(metrics)
    found = dict(cast("Mapping[str, Metric]", metrics))
    if LOSS in found:
        raise ArgumentError(
            "a metric cannot be named 'loss': the history holds the loss of the network "
            "under this name, and it chooses the best epoch; give the metric another name"
        )
    for name, metric in found.items():
        is_object = hasattr(metric, "update") and hasattr(metric, "compute")
        if isinstance(metric, type) or not (is_object or callable(metric)):
            raise ArgumentError(
                f"the metric {name!r} must be a function (labels, scores) -> number, or an "
                f"object with update(labels, scores) and compute(), got {quote(metric)}"
            )
    return found


def measure_all(
    metrics: Mapping[str, Metric], labels: NDArray[Any], scores: NDArray[Any]
) -> dict[str, float]:
    """Computes each metric over all records."""
    return {name: _measure(it, labels, scores, name=name) for name, it in metrics.items()}


def _measure(metric: Any, labels: Any, scores: Any, *, name: str) -> float:
    """Computes one metric; an object is copied, because it adds up what it is shown."""
    if hasattr(metric, "compute"):
        own = deepcopy(metric)
        own.update(labels, scores)
        value = own.compute()
    else:
        value = metric(labels, scores)
    if np.ndim(value):
        raise ArgumentError(
            f"the metric {name!r} must give one number, got an array of shape "
            f"{np.shape(value)}"
        )
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the metric {name!r} must give one number, got {quote(value)}"
        ) from error


def _name_all(metrics: object) -> dict[str, Metric]:
    """Names the metrics of a list."""
    if not isinstance(metrics, (list, tuple)):
        raise ArgumentError(
            f'metrics must be a dict such as {{"f1": function}}, or a list of functions, '
            f"got {quote(metrics)}"
        )
    each = cast("list[Any]", metrics)
    named = {getattr(it, "__name__", type(it).__name__): it for it in each}
    if len(named) < len(each):
        raise ArgumentError(
            "two of metrics have the same name; give a dict from name to metric"
        )
    return named
