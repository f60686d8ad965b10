"""A training run: its epochs of steps, validation and checkpoints, and its end."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seqloom.data import DataLoader
from seqloom.models import Trained
from seqloom.models._examples import noun_of
from seqloom.report._values import Fact
from seqloom.tensor import scope
from seqloom.train._checkpoint import State
from seqloom.train._checkpoints import Checkpoints
from seqloom.train._facts import facts_of
from seqloom.train._finish import finish
from seqloom.train._not_finite import check_finite_epoch
from seqloom.train._parts import (
    LoaderBatches,
    Parts,
    count_batches,
    count_samples,
    make_loader,
    read_batches,
)
from seqloom.train._progress import Plan, Step
from seqloom.train._ranks import Ranks
from seqloom.train._run import Run, aim_of
from seqloom.train._schedule import (
    FIRST,
    Round,
    ends_of_rounds,
    make_rates,
    most_epochs,
)
from seqloom.train._settings import Settings
from seqloom.train._step import StepMaker
from seqloom.train._validation import Validation
from seqloom.train._watchers import Watchers


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Trains a network to the end of its run, evaluates it and writes it."""

    settings: Settings
    parts: Parts
    trained: Trained
    state: State
    steps: StepMaker
    validation: Validation
    checkpoints: Checkpoints
    watchers: Watchers
    ranks: Ranks

    def run(self, *, draws: bool) -> Run:
        """Trains from where the state is to the last epoch; `draws` writes the report."""
        self.watchers.on_start(self._plan())
        with self.checkpoints.stopping_between_steps():
            try:
                self._run_epochs()
            except KeyboardInterrupt:
                self.checkpoints.after_stop(self.state)
                raise
        with self.ranks.sharing():
            run = finish(
                self.trained,
                self.parts,
                self.state,
                judge=self.validation.judge,
                settings=self._facts(),
                folder=self.checkpoints.folder,
                writes=self.ranks.is_first,
                draws=draws,
            )
        self.watchers.on_end(run)
        return run

    def _run_epochs(self) -> None:
        """Trains epoch by epoch, until a watcher or early stopping ends the run."""
        loader = make_loader(self.parts.train, self.settings, self.ranks)
        state, patience = self.state, self.settings.early_stop
        while (current := self._next_round()) is not None:
            if self.watchers.is_stopped or (
                patience is not None and state.epoch - state.best_epoch >= patience
            ):
                break
            self._run_epoch(loader, current)

    def _next_round(self) -> Round | None:
        """Finds the round of the next epoch, if any; tells watchers of a further round."""
        ends = ends_of_rounds(self.settings.epochs, self.state.history)
        found = Round.of(self.state.epoch, ends)
        if found is not None and self.state.epoch == found.start > 0:
            self.watchers.on_more(found.end)
        return found

    def _run_epoch(self, loader: DataLoader | LoaderBatches, current: Round) -> None:
        """Makes the steps that an epoch has left, then validates and saves."""
        state = self.state
        # A resumed epoch counts the seconds of its steps before the stop too.
        start = time.perf_counter() - state.seconds
        rates = make_rates(
            self.settings.lr,
            self.settings.schedule,
            current=current,
            count_steps=self._count_steps,
            history=state.history,
        )
        self._make_steps(loader, rates, start=start)
        row = {"epoch": state.epoch + 1, "lr": state.lr, **_average(state.steps)}
        row |= self.validation.measure(state.averaged)
        row["seconds"] = round(time.perf_counter() - start, 3)
        check_finite_epoch(
            state.model, row, self.parts.valid, folder=self.checkpoints.writable_folder
        )
        with self.checkpoints.changing(state):
            is_best = self.parts.valid is None or _is_best([*state.history, row])
            state.end_epoch(row, is_best=is_best)
        self.checkpoints.after_epoch(state)
        self.watchers.on_epoch(row)
        self._agree_on_stop()

    def _make_steps(
        self,
        loader: DataLoader | LoaderBatches,
        rates: Callable[[int], float],
        *,
        start: float,
    ) -> None:
        """Makes the steps that an epoch has left."""
        state = self.state
        state.model.train()
        place: Any = {"epoch": state.epoch, "done": len(state.steps)}
        for batch in read_batches(loader, self.settings, self.ranks, **place):
            # The scope releases the step's tensors before the next batch is read.
            with self.checkpoints.changing(state), scope():
                state.lr = rates(state.optimizer.step_count)
                step = self.steps.make(state, batch)
                state.steps.append(step)
                state.seconds = time.perf_counter() - start
            self.checkpoints.after_step(state)
            self.watchers.on_batch(step)
            self._agree_on_stop()
            if self.watchers.is_stopped:
                break
        with self.checkpoints.changing(state), scope():
            self.steps.finish_epoch(state)

    def _count_steps(self) -> int:
        """Counts the steps of an epoch; the last one may take fewer batches."""
        train, settings = self.parts.train, self.settings
        # The length of a loader without one is an error with advice.
        batches = len(train) if isinstance(train, LoaderBatches) else self._count_batches()
        return -(-batches // settings.accumulate)

    def _count_batches(self) -> int:
        """Counts the batches of an epoch; 0 where a loader does not know."""
        settings = self.settings
        return count_batches(
            self.parts.train, settings.batch_size, drop_last=settings.drop_last
        )

    def _agree_on_stop(self) -> None:
        """Stops all processes where a watcher or a signal stops one of them."""
        if not self.ranks.are_several:
            return
        signal = self.checkpoints.take_signal()
        ended, stopped = self.ranks.sum_numbers(
            self.watchers.is_stopped, signal is not None
        )
        if stopped:
            raise signal or KeyboardInterrupt("another process was stopped")
        self.watchers.is_stopped = ended > 0

    def _plan(self) -> Plan:
        """Describes the run to come, for the watchers."""
        settings, state, train = self.settings, self.state, self.parts.train
        return Plan(
            first_epoch=state.epoch + 1,
            first_batch=len(state.steps) + 1,
            epochs=ends_of_rounds(settings.epochs, state.history)[-1],
            batches=self._count_batches(),
            samples=count_samples(train),
            noun=noun_of(train),
            task=aim_of(self.trained),
            backend=state.model.backend.name,
            threads=settings.target.threads,
            parameters=state.model.number_of_parameters,
            folder=self.checkpoints.folder,
            is_compiled=self.steps.compiling.is_on,
            network=type(getattr(state.model, "module", state.model)).__name__,
            most_epochs=most_epochs(
                settings.epochs, has_valid=self.parts.valid is not None
            ),
            facts=self._facts(),
        )

    def _facts(self) -> dict[str, Fact]:
        """Names the settings and the machine, for the report."""
        further: dict[str, Any] = {}
        if self.settings.epochs is None:
            further["epochs"] = _spell_epochs(self.state)
        return facts_of(
            self.settings,
            self.parts.train,
            compiled=self.steps.compiling.describe(),
            **further,
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
    """Returns whether the newest epoch's validation loss is lower than all before."""
    *before, last = [row["valid_loss"] for row in history]
    return all(last < loss for loss in before)


def _spell_epochs(state: State) -> str:
    """Says how many epochs a run chose to make, and the weights of which one are kept."""
    if not state.epoch:
        return f"{FIRST} or more, in rounds while the validation loss falls"
    return f"{state.epoch}, in rounds; the weights of epoch {state.best_epoch} are kept"
