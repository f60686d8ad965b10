"""Evaluates a network on the validation set after each epoch, and at the end of a run.

For a built-in task, all records are scored together, as `predict` does. For a custom task
or a user's step, the objective is computed batch by batch.
"""

import math
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom._files import reading, write_atomic
from seqloom._key import Key
from seqloom.errors import ArgumentError, FormatError
from seqloom.infer import Scores
from seqloom.infer._forward import find_label_name
from seqloom.infer._loop import run_model
from seqloom.infer._predict import score_records
from seqloom.infer._scores import compute_exact_scores, measure_scores
from seqloom.models import Classify, Custom, Profile, Regress, Task, TorchModule
from seqloom.models._ensemble import is_trainable, list_members
from seqloom.models._tracks import read_labels
from seqloom.models._training_facts import find_duplicates
from seqloom.nn import Module
from seqloom.report import auprc_interval, auroc_interval, pearson_interval, wilson_interval
from seqloom.tensor import scope
from seqloom.train._job import FitJob
from seqloom.train._loss import BatchLoss, as_array, count_records, numbers_of
from seqloom.train._parts import Data, LoaderBatches, read_in_order
from seqloom.train._track_results import track_intervals
from seqloom.train._values import Metric, MetricObject, list_metrics

_TWO_CLASSES = 2
# With fewer records than this, even a good model may be no better than a constant
# prediction.
_MIN_RECORDS = 10
# Predictions with a higher correlation are useful even if r2 is below 0.
CORRELATED = 0.5


@dataclass(frozen=True, slots=True)
class Part:
    """The results of the final model on the validation or test set.

    Attributes:
        scores: The predictions for each record; empty for a custom task.
        labels: The true labels of the records; empty for a custom task.
        metrics: The metrics, as `seqloom.infer.evaluate` computes them.
        known: A mask of the records that are duplicates of training sequences, which
            the model may have memorised. None if the records are not sequences, or are too
            many.

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
        return f"Part of {round(self.metrics['n']):,} records: {first_metric(self.metrics)}"


def first_metric(metrics: dict[str, float]) -> str:
    """Format the first metric with its name."""
    name = next(key for key in metrics if key != "n")
    return f"{name.replace('_', ' ')} {metrics[name]:.4f}"


def as_comparable(loss: float) -> float:
    """Return a finite loss unchanged; otherwise infinity, which no other loss exceeds."""
    return loss if math.isfinite(loss) else math.inf


def candidate_key(number: int) -> str:
    """Return the name in the history of a candidate's validation loss, from 1."""
    return f"valid_loss_{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Evaluates a network on the validation set, and the final network on the test set."""

    job: FitJob
    objective: BatchLoss

    def measure(self, model: Module) -> dict[str, float | None]:
        """Evaluate a network on the validation set; return entries of the history."""
        # If several candidates are trained, the metrics are those of the best candidate.
        part, trained = self.job.parts.valid, self.job.trained
        found: dict[str, float] = {}
        if part is None:
            return {}
        if not (self.objective.is_custom or isinstance(part, LoaderBatches)):
            # Metrics of built-in tasks are computed from all records together, not
            # batch by batch.
            labels = read_labels(part)
            candidates = list_members(model) if self.job.selects else [model]
            with self.job.ranks.sharing():
                outputs = {
                    number: run_model(it, part, batch_size=trained.batch_size)
                    for number, it in enumerate(candidates, start=1)
                    if not self.job.selects or is_trainable(it)
                }
            losses = {
                number: self.objective.loss_of(model, it, labels)
                for number, it in outputs.items()
            }
            if len(candidates) > 1:
                # A candidate that is no longer trained has no loss.
                numbers = range(1, len(candidates) + 1)
                found |= {f"loss_{it}": losses.get(it, math.nan) for it in numbers}
            best = min(losses, key=lambda it: as_comparable(losses[it]))
            found["loss"], logits = losses[best], outputs[best]
            found |= trained.task.measure_outputs(labels, logits)
            found |= self._measure_metrics(labels, trained.task.activate(logits))
        if self.objective.is_custom or self.objective.step:
            found |= self._measure_batches(model, part)[0]
        # JSON has neither NaN nor infinity, so such values are replaced by None.
        return {
            f"valid_{name}": float(value) if math.isfinite(value) else None
            for name, value in found.items()
        }

    def evaluate(self, part: Data | None) -> Part | None:
        """Score the trained model on a set, and compare the scores with the labels."""
        if part is None:
            return None
        trained = self.job.trained
        if self.objective.is_custom or isinstance(part, LoaderBatches):
            found, count = self._measure_batches(trained.model, part)
            no_values = np.empty((0, 0), np.float32)
            return Part(Scores([], [], no_values), no_values, {"n": count, **found})
        scores, labels = score_records(trained, part), read_labels(part)
        found = {"n": len(scores), **measure_scores(trained.task, labels, scores)}
        found |= self._measure_metrics(labels, compute_exact_scores(trained.task, scores))
        return Part(scores, labels, found, find_duplicates(trained.known_letters, part))

    def _measure_metrics(
        self, labels: NDArray[Any], scores: NDArray[Any]
    ) -> dict[str, float]:
        """Compute the user's metrics over all records."""
        metrics = list_metrics(self.job.settings.objective.metrics)
        return measure_all(metrics, labels, scores)

    def _measure_batches(self, model: Module, part: Data) -> tuple[dict[str, float], int]:
        """Evaluate a network batch by batch; return metrics and the number of records."""
        settings = self.job.settings
        metrics = settings.objective.metrics if self.objective.is_custom else None
        measurement = _BatchMeasurement(
            objective=self.objective,
            model=model.eval(),
            key=Key(settings.seed).fold("validation"),
            metrics=list_metrics(metrics),
        )
        found = measurement.measure(read_in_order(part, settings.batches.batch_size))
        if isinstance(part, LoaderBatches):
            # Each process reads different batches, so the results of all processes are
            # gathered.
            return self.job.ranks.average(found, measurement.records)
        return found, measurement.records


@dataclass(slots=True, kw_only=True)
class _BatchMeasurement:
    """Collects losses, further numbers and outputs of batches, to compute metrics."""

    objective: BatchLoss
    model: Module
    key: Key
    metrics: Mapping[str, Metric]
    records: int = 0
    _labels: list[Any] = field(default_factory=list[Any])
    _outputs: list[Any] = field(default_factory=list[Any])

    def measure(self, batches: Iterator[dict[str, Any]]) -> dict[str, float]:
        """Return the metrics, and the means of further numbers over all records."""
        sums: dict[str, float] = {}
        counts: dict[str, int] = {}
        for number, batch in enumerate(batches):
            count = count_records(batch)
            self.records += count
            with scope():
                found = self._measure_batch(batch, number)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value * count
                counts[name] = counts.get(name, 0) + count
        if not sums:
            raise ArgumentError(
                "the loader of the validation or test set returned no batch; it must "
                "start again in each epoch, and drop_last must leave a batch"
            )
        means = {name: value / max(counts[name], 1) for name, value in sums.items()}
        if not self.metrics:
            return means
        pair = np.concatenate(self._labels), np.concatenate(self._outputs)
        return means | measure_all(self.metrics, *pair)

    def _measure_batch(self, batch: dict[str, Any], number: int) -> dict[str, float]:
        """Return loss and further numbers of a batch, and store outputs for metrics."""
        arrays = self.objective.prepare(self.model, batch)
        key = self.key.fold(number) if self.objective.step else None
        if isinstance(self.model, TorchModule):
            with self.model.evaluating(self.key.fold(number)):
                loss, extra = self.objective(self.model, arrays, key)
        else:
            loss, extra = self.objective(self.model, arrays, key)
        if self.metrics:
            name = find_label_name(batch)
            if extra is None or isinstance(extra, (Mapping, tuple)):
                raise ArgumentError(
                    "metrics need the outputs of the network: let step return "
                    "(loss, outputs)"
                )
            if name is None:
                raise ArgumentError(
                    f"metrics need labels, but a batch has the arrays {', '.join(batch)}; "
                    "name one of them label, labels, y or target"
                )
            self._outputs.append(as_array(extra))
            self._labels.append(as_array(batch[name]))
        return {"loss": float(as_array(loss)), **numbers_of(extra)}


def measure_all(
    metrics: Mapping[str, Metric], labels: NDArray[Any], scores: NDArray[Any]
) -> dict[str, float]:
    """Compute each metric over all records."""
    found: dict[str, float] = {}
    for name, metric in metrics.items():
        if isinstance(metric, MetricObject):
            own = deepcopy(metric)  # do not change the user's object
            own.update(labels, scores)
            value = own.compute()
        else:
            value = metric(labels, scores)
        if np.ndim(value):
            raise ArgumentError(
                f"the metric {name!r} must return one number, got an array of shape "
                f"{np.shape(value)}"
            )
        try:
            found[name] = float(value)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"the metric {name!r} must return one number, got {quote(value)}"
            ) from error
    return found


def find_intervals(
    task: Task, metrics: dict[str, float], labels: Any, *, scores: Scores | None = None
) -> dict[str, tuple[float, float]]:
    """Compute the 95 % confidence intervals of metrics; those of tracks need scores."""
    count = round(metrics["n"])
    if isinstance(task, Classify):
        found = {"accuracy": wilson_interval(round(metrics["accuracy"] * count), count)}
        positives = int(np.sum(labels))
        negatives = len(labels) - positives
        # With two classes, AUROC and AUPRC are those of the second class.
        if len(task.columns) == _TWO_CLASSES and positives and negatives:
            area = metrics["auroc"]
            found["auroc"] = auroc_interval(area, positives, negatives)
            found["auprc"] = auprc_interval(metrics["auprc"], positives)
        return found
    if isinstance(task, Regress) and len(task.columns) == 1:
        return {"pearson": pearson_interval(metrics["pearson"], count)}
    if isinstance(task, Profile) and scores is not None and len(scores):
        return track_intervals(task, labels, compute_exact_scores(task, scores))
    return {}


def poor_model_warning(task: Task, name: str, part: Part) -> str | None:
    """Return a warning if the model is no better than a constant prediction, else None."""
    metrics = part.metrics
    if metrics["n"] < _MIN_RECORDS or isinstance(task, Custom):
        return None
    if isinstance(task, Regress):
        # If all labels are equal, r2 is NaN, so the comparison is False.
        is_poor, beside, figure = metrics["r2"] <= 0, "the mean", f"r2 {metrics['r2']:.2f}"
        if is_poor and metrics["pearson"] > CORRELATED:
            return _describe_shift(name, part)
    elif isinstance(task, Profile):
        is_poor, beside = metrics["pearson"] <= 0, "the mean count"
        figure = f"Pearson correlation of counts {metrics['pearson']:.2f}"
    else:
        # Classes without records count neither for the metric nor for the chance level.
        there = len(np.unique(part.labels)) if isinstance(task, Classify) else 2
        chance = 1 / max(there, 1)
        is_poor = metrics["balanced_accuracy"] <= chance
        names = ("accuracy", "balanced_accuracy")
        figure = ", ".join(f"{it.replace('_', ' ')} {metrics[it]:.2f}" for it in names)
        beside = "always the most frequent class"
    if not is_poor:
        return None
    return (
        f"the model is no better than {beside} on the {name} set ({figure}): check the "
        "labels, or use more records, more epochs or another lr"
    )


def _describe_shift(name: str, part: Part) -> str:
    """Describe predictions that correlate with the labels but differ in mean or scale."""
    values = (np.asarray(part.labels, np.float64), part.scores.to_numpy())
    labels, scores = (f"mean {it.mean():.3g}, SD {it.std():.3g}" for it in values)
    return (
        f"the predictions for the {name} set correlate with the labels (Spearman "
        f"{part.metrics['spearman']:.2f}), but r2 is {part.metrics['r2']:.2f}, because the "
        f"values differ: labels {labels}; predictions {scores}. Check that the labels of "
        "all sets have the same unit and the same scale"
    )


def write_labels(path: Path, task: Task, part: Part) -> None:
    """Atomically write the label of each record, in the order of the scores."""
    if isinstance(task, Classify):
        pairs = zip(part.scores.ids, np.asarray(part.labels), strict=True)
        lines = [f"{name}\t{task.columns[label]}\n" for name, label in pairs]
        write_atomic(path, "".join(["id\tlabel\n", *lines]).encode())
    else:
        labels = part.labels.sum(axis=2) if isinstance(task, Profile) else part.labels
        values = np.reshape(labels, (len(part.scores), -1))
        Scores(part.scores.ids, task.columns, values).to_tsv(path)


def read_classes(path: str | os.PathLike[str]) -> tuple[list[str], list[str]]:
    """Read the ids and classes that `write_labels` wrote for a classifier."""
    with reading(Path(path)):
        text = Path(path).read_bytes().decode("utf-8", "replace")
    head, *rows = [line.split("\t") for line in text.split("\n")[:-1]] or [[]]
    if head != ["id", "label"] or any(len(row) != len(head) for row in rows):
        raise FormatError(f"{path}: not a table of ids and labels", path=str(path))
    return [row[0] for row in rows], [row[1] for row in rows]
