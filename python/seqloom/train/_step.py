"""One training step: from a batch to a loss, its gradients and an update of the weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.infer._forward import label_name
from seqloom.models import Task, TorchModule
from seqloom.nn import Buffer, Module
from seqloom.optim import WeightAverage
from seqloom.tensor import Gradients
from seqloom.train._batch_loss import (
    BatchLoss,
    as_array,
    count_records,
    differentiate,
    numbers_of,
)
from seqloom.train._checkpoint import State
from seqloom.train._compiling import Compiling
from seqloom.train._not_finite import error_of_loss
from seqloom.train._parts import LoaderBatches
from seqloom.train._precision import FULL, scaled, unscale
from seqloom.train._progress import Step
from seqloom.train._ranks import Ranks
from seqloom.train._settings import Settings
from seqloom.train._update import Accumulation, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMaker:
    """Makes the steps of a run: each changes the weights, and is described by a `Step`."""

    train: Any  # Examples, or LoaderBatches
    task: Task
    objective: BatchLoss
    compiling: Compiling
    settings: Settings
    ranks: Ranks
    folder: Path | None

    def make(self, state: State, batch: dict[str, Any]) -> Step:
        """Makes the next step of the epoch, with the learning rate of the state."""
        key = Key(self.settings.seed, state.epoch, len(state.steps))
        arrays = self.objective.prepare(state.model, batch)
        if self.ranks.are_several:
            return self._make_jointly(state, batch, arrays, key=key)
        records = count_records(batch)
        weight = self._weigh(batch, records)
        compiled = None
        if self.compiling.is_on:
            compiled = self._run_compiled(state, arrays, weight=weight, key=key)
        if compiled is None:
            loss, extra, grads = _differentiate(state, self.objective, arrays, key=key)
        else:
            (loss, extra), grads = compiled, None
        value = float(loss.item())
        self._require_finite(value, state, batch)
        if compiled is None:
            self._use(state, grads, weight=weight)
        elif (sums := _accumulation_of(state)) is not None:
            self._count(state, sums, weight)
        return _describe(
            state,
            records=records,
            loss=value,
            accuracy=self._accuracy(extra, batch),
            numbers=numbers_of(extra),
        )

    def finish_epoch(self, state: State) -> None:
        """Updates the weights by the batches that are left, fewer than a step takes."""
        sums = _accumulation_of(state)
        if sums is not None and sums.batches:
            self._update(state, sums.take(state.model))

    def _make_jointly(
        self, state: State, batch: dict[str, Any], arrays: dict[str, Any], *, key: Key
    ) -> Step:
        """Makes a step with the other processes; it equals that of one process alone."""
        ranks, own = self.ranks, self._count_own(batch, len(state.steps))
        # The mean over all records is the weighted mean of the means of the processes.
        share, total = self._share_of(self._weigh(batch, own))
        # Statistics, as of batch normalisation, are computed over the whole batch.
        with ranks.sharing(has_records=own > 0):
            loss, extra, grads = _differentiate(
                state,
                _scale(self.objective, share),
                arrays,
                key=key.fold(ranks.number),  # each process draws its own dropout
            )
        (value,) = ranks.sum_numbers(float(loss.item()))
        accuracy = self._accuracy(extra, batch)
        means = {f"number {name}": it for name, it in numbers_of(extra).items()}
        means |= {} if accuracy is None else {"accuracy": accuracy}
        means, records = ranks.average(means, own)
        self._require_finite(value, state, batch)
        self._use(state, _reduce(ranks, state.model, grads), weight=total)
        return _describe(
            state,
            records=records,
            loss=value,
            accuracy=means.pop("accuracy", None),
            numbers={name.removeprefix("number "): it for name, it in means.items()},
        )

    def _share_of(self, weight: float) -> tuple[float, float]:
        """Returns this process's share of the weights of all processes, and their sum."""
        (total,) = self.ranks.sum_numbers(weight)
        return weight / total if total else math.nan, total

    def _run_compiled(
        self, state: State, arrays: dict[str, Any], *, weight: float, key: Key
    ) -> tuple[Any, Any] | None:
        """Runs the compiled step: to its update, or to its sums; None if it cannot be."""
        sums = _accumulation_of(state)
        target = self._update_of(state) if sums is None else sums
        factor = state.lr if sums is None else weight
        return self.compiling.run(state.model, target, factor, arrays=arrays, key=key)

    def _use(self, state: State, grads: Any, *, weight: float) -> None:
        """Updates the weights by gradients, or adds these up for a later update."""
        scale: Any = state.others.get("loss_scale")
        found = grads if scale is None else unscale(grads, scale)
        if (sums := _accumulation_of(state)) is None:
            self._update(state, found)
            return
        if found is not None:
            sums.step(weight, state.model, found)
        self._count(state, sums, 0.0 if found is None else weight)

    def _count(self, state: State, sums: Accumulation, weight: float) -> None:
        """Counts a batch whose gradients were added; the last of a step updates."""
        sums.count(weight)
        if sums.is_full:
            self._update(state, sums.take(state.model))

    def _update(self, state: State, grads: Any | None) -> None:
        """Updates the weights; None skips the step, as gradients in float16 overflow."""
        if grads is None:
            return
        self._update_of(state).step(state.lr, state.model, grads)
        if isinstance(state.model, TorchModule):
            state.model.update_torch()

    def _update_of(self, state: State) -> Any:
        """Returns the optimiser, with clipping and an average if these are wanted."""
        average, limit = state.others.get("weight_average"), self.settings.clip_norm
        if average is None and limit is None:
            return state.optimizer
        own = average if isinstance(average, WeightAverage) else None
        return Update(state.optimizer, limit, own)

    def _count_own(self, batch: dict[str, Any], number: int) -> int:
        """Counts the records of the batch that belong to this process."""
        if isinstance(self.train, LoaderBatches):
            return count_records(batch)
        # Not the rows of the batch: a process without a record of its own computes with
        # the record of another one, which does not count.
        size = self.settings.batch_size
        return self.ranks.count_own(min(size, len(self.train) - number * size))

    def _weigh(self, batch: dict[str, Any], own: int) -> float:
        """Computes the weight of this process's loss in the mean over all processes."""
        weights, name = getattr(self.task, "weights", None), label_name(batch)
        is_loss_of_task = self.objective.loss == getattr(self.task, "loss", None)
        if not own or weights is None or name is None or not is_loss_of_task:
            return float(own)
        # With class weights the loss is a weighted mean: its weight is the sum of these.
        return float(np.asarray(weights)[np.asarray(batch[name])].sum())

    def _require_finite(self, loss: float, state: State, batch: dict[str, Any]) -> None:
        """Ends the run at a loss of NaN or infinity, before its gradients are used."""
        if not math.isfinite(loss):
            place = state.epoch + 1, len(state.steps) + 1
            raise error_of_loss(
                loss, place, train=self.train, batch=batch, folder=self.folder
            )

    def _accuracy(self, outputs: Any, batch: dict[str, Any]) -> float | None:
        """Computes the share of right answers in a batch; None for other tasks."""
        name = label_name(batch)
        if name is None or not hasattr(outputs, "shape"):
            return None
        logits = as_array(outputs)
        if self.settings.precision != FULL:
            logits = logits.astype(FULL)
        decided = self.task.decide(self.task.activate(logits))
        return None if decided is None else float((decided == as_array(batch[name])).mean())


def _differentiate(
    state: State, objective: Callable[..., Any], arrays: dict[str, Any], *, key: Key
) -> tuple[Any, Any, Any]:
    """Computes loss, extra value and gradients; the gradients stay scaled in float16."""
    scale: Any = state.others.get("loss_scale")
    if scale is None:
        return differentiate(objective, state.model, arrays, key=key)
    objective = scaled(objective, scale)
    loss, extra, grads = differentiate(objective, state.model, arrays, key=key)
    return loss / scale.value, extra, grads


def _scale(objective: BatchLoss, share: float) -> Callable[..., tuple[Any, Any]]:
    """Multiplies the loss of an objective by this process's share of the batch."""

    def compute(*args: Any) -> tuple[Any, Any]:
        loss, extra = objective(*args)
        return loss * share, extra

    return compute


def _reduce(ranks: Ranks, model: Module, grads: Gradients) -> Gradients:
    """Sums the gradients of all processes, and copies the buffers of the first one."""
    backend = grads.backend
    ids = [p.id for _, p in model.parameters() if grads.get(p.id) is not None]
    arrays = [grads.get(number) for number in ids]
    buffers = [part for _, part in model.named(Buffer)]
    own = ranks.mask_others([it.value.raw for it in buffers], backend)
    summed = ranks.sum_arrays([*arrays, *own], backend)
    for buffer, array in zip(buffers, summed[len(ids) :], strict=True):
        buffer.put(array)
    return Gradients(dict(zip(ids, summed, strict=False)), backend)


def _accumulation_of(state: State) -> Accumulation | None:
    """Returns the sums of gradients; None if each batch makes a step."""
    sums = state.others.get("accumulation")
    return sums if isinstance(sums, Accumulation) else None


def _describe(
    state: State,
    *,
    records: int,
    loss: float,
    accuracy: float | None,
    numbers: dict[str, float],
) -> Step:
    """Describes the batch, and the step that it belongs to."""
    sums = _accumulation_of(state)
    is_open = sums is not None and sums.batches > 0
    return Step(
        epoch=state.epoch + 1,
        batch=len(state.steps) + 1,
        samples=records,
        loss=loss,
        accuracy=accuracy,
        number=state.optimizer.step_count + is_open,
        lr=state.lr,
        numbers=numbers,
    )
