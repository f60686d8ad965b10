"""How a network does on a part of the data: after an epoch, and at the end of a run.

A part whose task is known is scored as `predict` scores it, all records together. For a
custom task, and for a user's step, the objective is computed batch by batch instead.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.infer import Scores
from seqloom.infer._forward import label_name
from seqloom.infer._loop import run_model
from seqloom.models import Examples, TorchModule, Trained
from seqloom.nn import Module
from seqloom.tensor import scope
from seqloom.train._batch_loss import BatchLoss, as_array, count_records, numbers_of
from seqloom.train._judged import Metric, Part, judge, measure_all
from seqloom.train._parts import LoaderBatches
from seqloom.train._ranks import Ranks
from seqloom.train._settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Measures networks on the validation part, and the final one on the test part too."""

    part: Any | None  # the validation part: Examples, LoaderBatches, or None
    trained: Trained
    objective: BatchLoss
    settings: Settings
    ranks: Ranks

    def measure(self, model: Module) -> dict[str, Any]:
        """Measures a network on the validation part, as entries of the history."""
        if self.part is None:
            return {}
        found: dict[str, float] = {}
        if not self.objective.is_custom:
            found = self._measure_examples(model, self.part)
        if self.objective.is_custom or self.objective.step:
            found |= self._measure_batches(model, self.part)[0]
        return {f"valid_{name}": _to_json(value) for name, value in found.items()}

    def judge(self, part: Any) -> Part | None:
        """Judges the trained model on a part."""
        if part is None or not self.objective.is_custom:
            return judge(self.trained, part, self.settings.metrics)
        found, count = self._measure_batches(self.trained.model, part)
        no_values = np.empty((0, 0), np.float32)
        return Part(Scores([], [], no_values), no_values, {"n": count, **found})

    def _measure_examples(self, model: Module, part: Examples) -> dict[str, float]:
        """Measures a network on all records of a part together."""
        trained, labels = self.trained, np.asarray(part.labels)
        with self.ranks.sharing():
            logits = run_model(model, part, batch_size=trained.batch_size)
        loss = self.objective.loss_of(model, logits, labels)
        found = {"loss": loss, **trained.task.measure_outputs(labels, logits)}
        return found | measure_all(
            self.settings.metrics, labels, trained.task.activate(logits)
        )

    def _measure_batches(
        self, model: Module, part: Examples | LoaderBatches
    ) -> tuple[dict[str, float], int]:
        """Measures a network batch by batch; returns the number of records too."""
        measurement = _BatchMeasurement(
            objective=self.objective,
            model=model.eval(),
            key=Key(self.settings.seed).fold("validation"),
            metrics=self.settings.metrics if self.objective.is_custom else {},
        )
        if not isinstance(part, LoaderBatches):
            found = measurement.measure(_cut(part, self.settings.batch_size))
            return found, measurement.records
        # Each process has read other batches of the loader.
        found = measurement.measure(part.epoch(0))
        return self.ranks.average(found, measurement.records)


def _cut(part: Examples, size: int) -> Iterator[dict[str, Any]]:
    """Yields the records of a part in batches, in their order."""
    for start in range(0, len(part), size):
        yield part.batch(np.arange(start, min(start + size, len(part))))


def _to_json(value: float) -> float | None:
    """Returns a number that JSON can hold: None in place of NaN and infinity."""
    return float(value) if math.isfinite(value) else None


@dataclass(slots=True, kw_only=True)
class _BatchMeasurement:
    """Collects the losses, further numbers and outputs of batches, to average them."""

    objective: BatchLoss
    model: Any
    key: Key
    metrics: Mapping[str, Metric]
    records: int = 0
    _labels: list[Any] = field(default_factory=list[Any])
    _outputs: list[Any] = field(default_factory=list[Any])

    def measure(self, batches: Iterator[dict[str, Any]]) -> dict[str, float]:
        """Returns the means of loss and numbers over all records, and the metrics."""
        sums: dict[str, float] = {}
        for number, batch in enumerate(batches):
            count = count_records(batch)
            self.records += count
            with scope():
                found = self._measure_batch(batch, number)
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value * count
        means = {name: value / max(self.records, 1) for name, value in sums.items()}
        if not self.metrics:
            return means
        pair = np.concatenate(self._labels), np.concatenate(self._outputs)
        return means | measure_all(self.metrics, *pair)

    def _measure_batch(self, batch: dict[str, Any], number: int) -> dict[str, float]:
        """Returns the loss and the numbers of one batch; keeps what metrics need."""
        arrays = self.objective.prepare(self.model, batch)
        key = self.key.fold(number) if self.objective.step else None
        if isinstance(self.model, TorchModule):
            with self.model.evaluating(self.key.fold(number)):
                loss, extra = self.objective(self.model, arrays, key)
        else:
            loss, extra = self.objective(self.model, arrays, key)
        if self.metrics:
            self._outputs.append(_outputs_of(extra))
            self._labels.append(_labels_of(batch))
        return {"loss": float(as_array(loss)), **numbers_of(extra)}


def _outputs_of(extra: Any) -> Any:
    """Returns the outputs from which metrics are computed."""
    if extra is None or isinstance(extra, (Mapping, tuple)):
        raise ArgumentError(
            "metrics need the outputs of the network: let step return (loss, outputs)"
        )
    return as_array(extra)


def _labels_of(batch: Mapping[str, Any]) -> Any:
    """Returns the labels from which metrics are computed."""
    name = label_name(batch)
    if name is None:
        raise ArgumentError(
            f"metrics need labels, but the arrays of a batch are {', '.join(batch)}; name "
            "one label, labels, y or target"
        )
    return as_array(batch[name])
