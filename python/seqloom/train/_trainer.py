"""The training loop: steps to epochs, epochs to checkpoints."""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._key import Key
from seqloom.data import DataLoader, PadCollator
from seqloom.errors import GradientError
from seqloom.infer import Scores
from seqloom.infer._forward import label_name
from seqloom.infer._loop import run_model
from seqloom.models import Examples, TorchModule, Trained
from seqloom.models._examples import count_positions
from seqloom.models._folder import write_history
from seqloom.nn import Module
from seqloom.tensor import scope
from seqloom.train._arrays import Arrays, Given, count_batches
from seqloom.train._checkpoint import State
from seqloom.train._checkpoints import Checkpoints
from seqloom.train._compiling import Compiling
from seqloom.train._joint_step import JointStep
from seqloom.train._judged import Part, judge
from seqloom.train._metrics import Metric, measure_all
from seqloom.train._objective import (
    Judgement,
    Objective,
    as_array,
    count_records,
    differentiate,
    numbers_of,
)
from seqloom.train._precision import FULL, scaled, unscale
from seqloom.train._progress import Step
from seqloom.train._ranks import Ranks
from seqloom.train._rates import Rates, Round
from seqloom.train._rounds import ends_of_rounds
from seqloom.train._settings import Settings
from seqloom.train._shares import share_out
from seqloom.train._signals import Held
from seqloom.train._watching import Watchers


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """Trains a network to the end of its run."""

    trained: Trained
    train: Any  # Examples, or Given
    valid: Any | None
    objective: Objective
    settings: Settings
    checkpoints: Checkpoints
    folder: Path | None
    progress: Watchers
    rates: Rates
    metrics: Mapping[str, Metric]
    compiling: Compiling
    ranks: Ranks
    held: Held

    def run(self, state: State) -> None:
        """Trains from where the state is to the last epoch, or until nothing improves."""
        try:
            self._run(state)
        except KeyboardInterrupt:
            self.checkpoints.after_stop(state)
            raise

    def _run(self, state: State) -> None:
        """Trains epoch by epoch."""
        loader = self._loader()
        here = self._round(state)
        while here is not None and not self.is_stopped(state):
            start = time.perf_counter() - state.seconds
            rates = self.rates.of(here, self.batches, state.history)
            self._epoch(state, loader, rates, start=start)
            row = {"epoch": state.epoch + 1, "lr": state.lr, **_means(state.steps)}
            row |= self._judge(state.averaged)
            self._keep(state, row | {"seconds": round(time.perf_counter() - start, 3)})
            here = self._round(state)

    def _round(self, state: State) -> Round | None:
        """Gives the round that the next epoch is in, if any."""
        start, end = 0, 0
        for end in ends_of_rounds(self.settings.epochs, state.history):
            if end > state.epoch:
                break
            start = end
        if state.epoch >= end:
            return None
        if state.epoch == start > 0:
            self.progress.on_more(end)
        return Round(start, end)

    def is_stopped(self, state: State) -> bool:
        """Says whether a watcher ends the run, or nothing has improved for too long."""
        patience = self.settings.early_stop
        if self.progress.is_stopped:
            return True
        return patience is not None and state.epoch - state.best_epoch >= patience

    def batches(self) -> int:
        """Counts the batches of an epoch."""
        if isinstance(self.train, Given):
            return len(self.train)  # says what helps where it has no length
        return count_batches(self.train, self.settings.batch_size)

    def _loader(self) -> DataLoader | Given:
        """Makes the loader, whose order depends on the seed and the epoch alone."""
        if isinstance(self.train, Given):
            return self.train
        # Not sorted by length: where lengths tell classes apart, such batches are of one
        # class, and batch normalisation then learns other averages than evaluation uses.
        whole = DataLoader(
            self.train,
            batch_size=self.settings.batch_size,
            shuffle=True,
            seed=self.settings.seed,
            collate_fn=_collator_of(self.train),
            rank=0,
            world_size=1,
        )
        return share_out(whole, self.ranks)

    def _epoch(
        self,
        state: State,
        loader: DataLoader | Given,
        rates: Callable[[int], float],
        *,
        start: float,
    ) -> None:
        """Makes the steps of one epoch that are left."""
        state.model.train()
        for batch in self._batches_left(state, loader):
            # What the step makes is given back before the next batch is read.
            with self._changing(state), scope():
                state.lr = rates(state.optimizer.step_count)
                step = self._step(state, batch, len(state.steps), lr=state.lr)
                state.steps.append(step)
                state.seconds = time.perf_counter() - start
            self.checkpoints.after_step(state)
            self.progress.on_batch(step)
            if self._is_ended():
                break

    def _is_ended(self) -> bool:
        """Says whether a watcher ends the run; a signal to one process stops all."""
        if not self.ranks.are_several:
            return self.progress.is_stopped
        signal = self._take_signal()
        ended, stopped = self.ranks.sum_numbers(
            self.progress.is_stopped, signal is not None
        )
        if stopped:
            raise signal or KeyboardInterrupt("another process was stopped")
        self.progress.is_stopped = ended > 0
        return self.progress.is_stopped

    def _take_signal(self) -> KeyboardInterrupt | None:
        """Gives what a signal that has come raises."""
        try:
            self.held.deliver()
        except KeyboardInterrupt as stop:
            return stop
        return None

    def _batches_left(
        self, state: State, loader: DataLoader | Given
    ) -> Iterator[dict[str, Any]]:
        """Reads the batches of an epoch behind those whose steps are made."""
        done = len(state.steps)
        if isinstance(loader, Given):
            return loader.epoch(state.epoch, done=done)
        loader.set_epoch(state.epoch)
        if done:
            position = min(done * self.settings.batch_size, len(loader.dataset))
            # The loader of one process counts records; the share of one of several counts
            # its batches.
            position = done if self.ranks.are_several else position
            loader.load_state_dict({**loader.state_dict(), "position": position})
        return iter(loader) if done < len(loader) else iter(())

    @contextmanager
    def _changing(self, state: State) -> Generator[None]:
        """Lets a signal wait while the state is changed part by part."""
        with self.held.hold():
            state.is_whole = False
            yield
            state.is_whole = True

    def _step(self, state: State, batch: dict[str, Any], number: int, *, lr: float) -> Step:
        """Makes one step, and says how it went."""
        key = Key(self.settings.seed, state.epoch, number)
        position = (state.epoch + 1, number + 1)
        arrays = self.objective.prepare(state.model, batch)
        if self.ranks.are_several:
            return self._joint_step(state, batch, arrays, key=key)
        found = self.compiling.run(state.model, state.optimizer, lr, arrays=arrays, key=key)
        if found is None:
            loss, extra, grads = _differentiate(state, self.objective, arrays, key=key)
            value = self._finite(float(loss.item()), *position)
            _update(state, grads)
        else:
            loss, extra = found
            value = self._finite(float(loss.item()), *position)
        right, numbers = self._right(extra, batch), numbers_of(extra)
        counted, size = state.optimizer.step_count, count_records(batch)
        return Step(*position, size, value, right, counted, lr, numbers)

    def _joint_step(
        self, state: State, batch: dict[str, Any], arrays: dict[str, Any], *, key: Key
    ) -> Step:
        """Makes one step with the other processes: that of the batch that they share."""
        position = (state.epoch + 1, len(state.steps) + 1)
        joint = JointStep(self.ranks, self._count_own(batch, position[1]))
        weighted = joint.weigh(self.objective, self._weigh(batch, joint.own))
        with joint.computing():
            # Each process draws its own dropout.
            own_key = key.fold(self.ranks.number)
            loss, extra, grads = _differentiate(state, weighted, arrays, key=own_key)
        found = joint.sum_up(loss, self._right(extra, batch), numbers_of(extra))
        value = self._finite(found.loss, *position)
        _update(state, joint.reduce(state.model, grads))
        made = (found.right, state.optimizer.step_count, state.lr, found.numbers)
        return Step(*position, found.records, value, *made)

    def _count_own(self, batch: dict[str, Any], number: int) -> int:
        """Counts the records of a batch that this process has; a filler is none."""
        if isinstance(self.train, Given):
            return count_records(batch)
        size = self.settings.batch_size
        return self.ranks.count_own(min(size, len(self.train) - (number - 1) * size))

    def _weigh(self, batch: dict[str, Any], own: int) -> float:
        """Gives what the records of this process count in a loss that is a mean."""
        weights, name = getattr(self.trained.task, "weights", None), label_name(batch)
        is_ours = self.objective.loss == getattr(self.trained.task, "loss", None)
        if not own or weights is None or name is None or not is_ours:
            return float(own)
        return float(np.asarray(weights)[np.asarray(batch[name])].sum())

    def _finite(self, value: float, epoch: int, batch: int) -> float:
        """Gives the loss; one that is no number ends the run before the step."""
        if not math.isfinite(value):
            advice = _advice(epoch, self.folder)
            raise GradientError(
                f"epoch {epoch}, batch {batch}: the loss is {value}; {advice}"
            )
        return value

    def _right(self, outputs: Any, batch: dict[str, Any]) -> float | None:
        """Gives the share of right answers in a batch, where there are any."""
        task, name = self.trained.task, label_name(batch)
        if name is None or not hasattr(outputs, "shape"):
            return None
        logits = as_array(outputs)
        if self.settings.precision != FULL:
            logits = logits.astype(FULL)
        decided = task.decide(task.activate(logits))
        return None if decided is None else float((decided == as_array(batch[name])).mean())

    def _judge(self, model: Module) -> dict[str, Any]:
        """Measures a network on the validation part."""
        if self.valid is None:
            return {}
        found: dict[str, float] = {}
        if not self.objective.is_custom:
            found = self._judge_examples(model, self.valid)
        if self.objective.is_custom or self.objective.step:
            found |= self._judge_batches(model, self.valid)[0]
        return {f"valid_{name}": _number(value) for name, value in found.items()}

    def judge_part(self, part: Any) -> Part | None:
        """Judges the kept weights on a part."""
        if part is None or not self.objective.is_custom:
            return judge(self.trained, part, self.metrics)
        found, count = self._judge_batches(self.trained.model, part)
        none = np.empty((0, 0), np.float32)
        return Part(Scores([], [], none), none, {"n": count, **found})

    def _judge_examples(self, model: Module, part: Examples) -> dict[str, float]:
        """Measures a network on records whose task is known."""
        trained, labels = self.trained, np.asarray(part.labels)
        with self.ranks.sharing():
            logits = run_model(model, part, batch_size=trained.batch_size)
        loss = self.objective.loss_of(model, logits, labels)
        scores = trained.task.activate(logits)
        found = {"loss": loss, **trained.task.measure(labels, scores)}
        return found | measure_all(self.metrics, labels, scores)

    def _judge_batches(
        self, model: Module, part: Examples | Given
    ) -> tuple[dict[str, float], int]:
        """Measures a network batch by batch; gives how many records there were too."""
        if isinstance(part, Given):
            batches = part.epoch(0)
        else:
            batches = _cut(part, self.settings.batch_size)
        judgement = Judgement(
            objective=self.objective,
            model=model.eval(),
            key=Key(self.settings.seed).fold("validation"),
            metrics=self.metrics if self.objective.is_custom else {},
        )
        found, count = judgement.measure(batches), judgement.records
        return (
            self.ranks.average(found, count) if isinstance(part, Given) else (found, count)
        )

    def _keep(self, state: State, row: dict[str, Any]) -> None:
        """Ends an epoch: remembers the best weights, then saves where the run stands."""
        _check_finite(state.model, row, self.folder)
        with self._changing(state):
            is_best = self.valid is None or _is_best([*state.history, row])
            state.end_epoch(row, is_best=is_best)
        if self.folder is not None:
            self.checkpoints.write(state)
            write_history(self.folder, state.history)
            if state.best_epoch == state.epoch:
                state.best.save(self.folder / "model.safetensors")
        self.progress.on_epoch(row)
        self._is_ended()


def _differentiate(
    state: State, objective: Any, arrays: dict[str, Any], *, key: Key
) -> tuple[Any, Any, Any]:
    """Computes loss, outputs and gradients, which are scaled where the run has a scale."""
    scale: Any = state.others.get("loss_scale")
    if scale is None:
        return differentiate(objective, state.model, arrays, key=key)
    objective = scaled(objective, scale)
    loss, extra, grads = differentiate(objective, state.model, arrays, key=key)
    return loss / scale.value, extra, grads


def _update(state: State, grads: Any) -> None:
    """Makes the optimiser's step, or skips it where gradients in float16 overflow."""
    scale: Any = state.others.get("loss_scale")
    if scale is not None and (grads := unscale(grads, scale)) is None:
        return
    state.optimizer.step(state.lr, state.model, grads)
    if isinstance(state.model, TorchModule):
        state.model.update_torch()


def _collator_of(part: Examples) -> Callable[[Any], Any] | None:
    """Gives what makes a batch of records: padded, where they differ in length."""
    if isinstance(part, Arrays):
        return _as_it_is
    is_last = getattr(part.encoder, "channels", None) == "last"
    axis = 0 if is_last else -1  # of the positions in one record
    return PadCollator(axis=axis) if np.ptp(count_positions(part)) else None


def _as_it_is(batch: dict[str, Any]) -> dict[str, Any]:
    """Takes rows of arrays, which are a batch already."""
    return batch


def _cut(part: Examples, size: int) -> Iterator[dict[str, Any]]:
    """Gives records in batches, in their order."""
    for start in range(0, len(part), size):
        yield part.batch(np.arange(start, min(start + size, len(part))))


def _means(steps: list[Step]) -> dict[str, float]:
    """Gives the means of an epoch's steps over its records."""
    samples = sum(step.samples for step in steps)
    means = {"train_loss": sum(step.loss * step.samples for step in steps) / samples}
    shares = [step.accuracy * step.samples for step in steps if step.accuracy is not None]
    means |= {"train_accuracy": sum(shares) / samples} if shares else {}
    for name in steps[0].numbers:
        total = sum(step.numbers[name] * step.samples for step in steps)
        means[f"train_{name}"] = total / samples
    return means


def _is_best(history: list[dict[str, Any]]) -> bool:
    """Says whether the newest epoch's validation loss is lower than all before."""
    *before, last = [row["valid_loss"] for row in history]
    return all(last < loss for loss in before)


def _number(value: float) -> float | None:
    """Gives a number that JSON knows."""
    return float(value) if math.isfinite(value) else None


def _check_finite(model: Module, row: dict[str, Any], folder: Path | None) -> None:
    """Refuses to save a network that has run away."""
    weights = model.to_record().values()
    if row.get("valid_loss", 0.0) is None or not all(
        np.isfinite(array).all() for array in weights
    ):
        raise GradientError(
            f"epoch {row['epoch']}: the network's numbers are no longer finite; "
            f"{_advice(row['epoch'], folder)}"
        )


def _advice(epoch: int, folder: Path | None) -> str:
    """Says what may help, and what is left of the epochs before."""
    if folder is None or epoch == 1:
        return "nothing was saved; a lower lr (--lr) may help"
    return f"the checkpoint of epoch {epoch - 1} is good; a lower lr (--lr) may help"
