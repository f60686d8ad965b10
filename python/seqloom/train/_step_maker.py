"""One training step: from a batch to a loss, its gradients and an update of the weights."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.errors import GradientError
from seqloom.infer._forward import label_name
from seqloom.models import Task, TorchModule
from seqloom.optim import WeightAverage
from seqloom.train._checkpoint import State
from seqloom.train._compiling import Compiling
from seqloom.train._joint_step import JointStep
from seqloom.train._not_finite import describe_batch
from seqloom.train._objective import (
    Objective,
    as_array,
    count_records,
    differentiate,
    numbers_of,
)
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
    objective: Objective
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
        return self._make_alone(state, batch, arrays, key=key)

    def _make_alone(
        self, state: State, batch: dict[str, Any], arrays: dict[str, Any], *, key: Key
    ) -> Step:
        """Makes a step of the only process: compiled, or operation by operation."""
        records = count_records(batch)
        weight, sums = self._weigh(batch, records), _accumulation_of(state)
        made = self._run_compiled(state, arrays, weight=weight, key=key)
        if made is None:
            loss, extra, grads = _differentiate(state, self.objective, arrays, key=key)
            value = self._require_finite(float(loss.item()), state, batch)
            self._use(state, grads, weight=weight)
        else:
            # The compiled step has updated the weights, or has added the gradients.
            loss, extra = made
            value = self._require_finite(float(loss.item()), state, batch)
            if sums is not None:
                self._count(state, sums, weight)
        return _describe(
            state,
            records=records,
            loss=value,
            accuracy=self._accuracy(extra, batch),
            numbers=numbers_of(extra),
        )

    def _make_jointly(
        self, state: State, batch: dict[str, Any], arrays: dict[str, Any], *, key: Key
    ) -> Step:
        """Makes a step together with the other processes, which share the batch."""
        joint = JointStep(self.ranks, self._count_own(batch, len(state.steps)))
        own = self._weigh(batch, joint.own)
        weighted, total = joint.weigh(self.objective, own)
        with joint.computing():
            # Each process draws its own dropout.
            own_key = key.fold(self.ranks.number)
            loss, extra, grads = _differentiate(state, weighted, arrays, key=own_key)
        sums = joint.sum_up(loss, self._accuracy(extra, batch), numbers_of(extra))
        value = self._require_finite(sums.loss, state, batch)
        self._use(state, joint.reduce(state.model, grads), weight=total)
        return _describe(
            state,
            records=sums.records,
            loss=value,
            accuracy=sums.right,
            numbers=sums.numbers,
        )

    def _run_compiled(
        self, state: State, arrays: dict[str, Any], *, weight: float, key: Key
    ) -> tuple[Any, Any] | None:
        """Runs the compiled step, if there is one: to its update, or to its sums."""
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

    def finish_epoch(self, state: State) -> None:
        """Updates the weights by the batches that are left, fewer than a step takes."""
        sums = _accumulation_of(state)
        if sums is not None and sums.batches:
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

    def _require_finite(self, loss: float, state: State, batch: dict[str, Any]) -> float:
        """Returns a loss; NaN or infinity ends the run, before its gradients are used."""
        if not math.isfinite(loss):
            epoch, number = state.epoch + 1, len(state.steps) + 1
            cause = describe_batch(self.train, batch)
            raise GradientError(
                f"epoch {epoch}, batch {number}: the loss is {loss}; "
                f"{advise(epoch, self.folder, cause)}"
            )
        return loss

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
    state: State, objective: Any, arrays: dict[str, Any], *, key: Key
) -> tuple[Any, Any, Any]:
    """Computes loss, extra value and gradients; the gradients stay scaled in float16."""
    scale: Any = state.others.get("loss_scale")
    if scale is None:
        return differentiate(objective, state.model, arrays, key=key)
    objective = scaled(objective, scale)
    loss, extra, grads = differentiate(objective, state.model, arrays, key=key)
    return loss / scale.value, extra, grads


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


def advise(epoch: int, folder: Path | None, cause: str) -> str:
    """Says what may help a run that diverged, and which checkpoint is left."""
    saved = "nothing was saved"
    if folder is not None and epoch > 1:
        saved = f"the checkpoint of epoch {epoch - 1} is good"
    return f"{saved}; {cause or 'a lower lr (--lr) may help'}"
