"""The training loop: the epochs of a run, each with steps, validation and a checkpoint."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqloom._signals import HeldSignals
from seqloom.data import DataLoader
from seqloom.errors import GradientError
from seqloom.models._folder import write_history
from seqloom.nn import Module
from seqloom.tensor import scope
from seqloom.train._checkpoint import State
from seqloom.train._checkpoints import Checkpoints
from seqloom.train._not_finite import describe_part
from seqloom.train._parts import LoaderBatches, count_batches, make_loader, read_batches
from seqloom.train._progress import Step
from seqloom.train._ranks import Ranks
from seqloom.train._schedule import Rates, Round, ends_of_rounds
from seqloom.train._settings import Settings
from seqloom.train._step_maker import StepMaker, advise
from seqloom.train._validation import Validation
from seqloom.train._watchers import Watchers


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """Trains a network to the end of its run."""

    train: Any  # Examples, or LoaderBatches
    step_maker: StepMaker
    validation: Validation
    settings: Settings
    checkpoints: Checkpoints
    folder: Path | None
    watchers: Watchers
    rates: Rates
    ranks: Ranks
    signals: HeldSignals

    def run(self, state: State) -> None:
        """Trains from where the state is to the last epoch, or until the run is stopped."""
        try:
            self._run_epochs(state)
        except KeyboardInterrupt:
            self.checkpoints.after_stop(state)
            raise

    def _run_epochs(self, state: State) -> None:
        """Trains epoch by epoch."""
        loader = make_loader(self.train, self.settings, self.ranks)
        current = self._next_round(state)
        while current is not None and not self._is_over(state):
            self._run_epoch(state, loader, current)
            current = self._next_round(state)

    def _next_round(self, state: State) -> Round | None:
        """Finds the round of the next epoch, if any; tells watchers of a further round."""
        ends = ends_of_rounds(self.settings.epochs, state.history)
        found = Round.of(state.epoch, ends)
        if found is not None and state.epoch == found.start > 0:
            self.watchers.on_more(found.end)
        return found

    def _is_over(self, state: State) -> bool:
        """Says whether a watcher ends the run, or nothing has improved for too long."""
        patience = self.settings.early_stop
        if self.watchers.is_stopped:
            return True
        return patience is not None and state.epoch - state.best_epoch >= patience

    def _run_epoch(
        self, state: State, loader: DataLoader | LoaderBatches, current: Round
    ) -> None:
        """Makes the steps that an epoch has left, then validates and saves."""
        # A resumed epoch counts the seconds of its steps before the stop too.
        start = time.perf_counter() - state.seconds
        rates = self.rates.of(current, self._count_steps, state.history)
        self._make_steps(state, loader, rates, start=start)
        row = {"epoch": state.epoch + 1, "lr": state.lr, **_average(state.steps)}
        row |= self.validation.measure(state.averaged)
        row["seconds"] = round(time.perf_counter() - start, 3)
        self._end_epoch(state, row)

    def _count_steps(self) -> int:
        """Counts the steps of an epoch; the last one may take fewer batches."""
        settings = self.settings
        if isinstance(self.train, LoaderBatches):
            batches = len(self.train)  # raises an error with advice if there is no length
        else:
            size, drop_last = settings.batch_size, settings.drop_last
            batches = count_batches(self.train, size, drop_last=drop_last)
        return -(-batches // settings.accumulate)

    def _make_steps(
        self,
        state: State,
        loader: DataLoader | LoaderBatches,
        rates: Callable[[int], float],
        *,
        start: float,
    ) -> None:
        """Makes the steps that an epoch has left."""
        state.model.train()
        place: Any = {"epoch": state.epoch, "done": len(state.steps)}
        for batch in read_batches(loader, self.settings, self.ranks, **place):
            # The scope releases the step's tensors before the next batch is read.
            with self._whole_change(state), scope():
                state.lr = rates(state.optimizer.step_count)
                step = self.step_maker.make(state, batch)
                state.steps.append(step)
                state.seconds = time.perf_counter() - start
            self.checkpoints.after_step(state)
            self.watchers.on_batch(step)
            self._agree_on_stop()
            if self.watchers.is_stopped:
                break
        with self._whole_change(state), scope():
            self.step_maker.finish_epoch(state)

    @contextmanager
    def _whole_change(self, state: State) -> Generator[None]:
        """Lets a signal wait while a block changes the parts of the state one by one."""
        with self.signals.hold():
            state.is_whole = False
            yield
            state.is_whole = True

    def _agree_on_stop(self) -> None:
        """Stops all processes where a watcher or a signal stops one of them."""
        if not self.ranks.are_several:
            return
        signal = self._take_signal()
        ended, stopped = self.ranks.sum_numbers(
            self.watchers.is_stopped, signal is not None
        )
        if stopped:
            raise signal or KeyboardInterrupt("another process was stopped")
        self.watchers.is_stopped = ended > 0

    def _take_signal(self) -> KeyboardInterrupt | None:
        """Returns the exception of a signal that has arrived meanwhile, if any."""
        try:
            self.signals.deliver()
        except KeyboardInterrupt as stop:
            return stop
        return None

    def _end_epoch(self, state: State, row: dict[str, Any]) -> None:
        """Takes up an epoch's row and perhaps its weights, then writes a checkpoint."""
        self._check_finite(state.model, row)
        with self._whole_change(state):
            is_best = self.validation.part is None or _is_best([*state.history, row])
            state.end_epoch(row, is_best=is_best)
        if self.folder is not None:
            self.checkpoints.write(state)
            write_history(self.folder, state.history)
            if state.best_epoch == state.epoch:
                state.best.save(self.folder / "model.safetensors")
        self.watchers.on_epoch(row)
        self._agree_on_stop()

    def _check_finite(self, model: Module, row: dict[str, Any]) -> None:
        """Refuses to save a network whose weights or validation loss are not finite."""
        weights, epoch = model.to_record().values(), row["epoch"]
        cause = ""
        if all(np.isfinite(array).all() for array in weights):
            if row.get("valid_loss", 0.0) is not None:
                return
            cause = describe_part(self.validation.part)
            cause = cause and f"in the validation part {cause}"
        what = "the validation loss is" if cause else "the network's numbers are no longer"
        raise GradientError(
            f"epoch {epoch}: {what} {'not ' if cause else ''}finite; "
            f"{advise(epoch, self.folder, cause)}"
        )


def _average(steps: list[Step]) -> dict[str, float]:
    """Averages what an epoch's steps gave over its records."""
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
