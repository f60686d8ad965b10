"""Runs the training: steps, validation and checkpoints of each epoch, then the results."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from seqloom._signals import SignalDelayer
from seqloom.data import DataLoader
from seqloom.errors import ArgumentError
from seqloom.models import Custom
from seqloom.models._ensemble import describe_network, is_trainable, list_members
from seqloom.models._folder import WEIGHTS, make_checkpoint_folder, write_history
from seqloom.models._trained import save_config
from seqloom.optim import LossScale, WeightAverage
from seqloom.report._values import Fact
from seqloom.tensor import scope
from seqloom.train._card import write_card_of_unfinished
from seqloom.train._checkpoints import Checkpoints, RunState
from seqloom.train._evaluation import Validation, candidate_key
from seqloom.train._job import FitJob
from seqloom.train._loss import BatchLoss, check_finite_epoch
from seqloom.train._parts import (
    LoaderBatches,
    count_batches,
    count_samples,
    make_loader,
    read_batches,
)
from seqloom.train._progress import CallbackList, Plan, Step
from seqloom.train._run import Run, describe_task, finish_run
from seqloom.train._step import CompiledStep, StepMaker, should_compile
from seqloom.train._updates import (
    FIRST_ROUND,
    Accumulation,
    Round,
    count_max_epochs,
    ends_of_rounds,
    make_optimizer,
    make_rates,
)
from seqloom.train._values import Interval

# After 10, 20, 40 and 80 epochs, candidates whose lowest validation loss is higher than
# this, relative to the lowest loss of all, are not trained further.
_FIRST_CHECK = 10
_MAX_CANDIDATE_LOSS = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A training run, which trains, evaluates and saves a network."""

    job: FitJob
    state: RunState
    steps: StepMaker
    validation: Validation
    checkpoints: Checkpoints
    watchers: CallbackList

    def run(self) -> Run:
        """Train from the current state to the last epoch; evaluate and save the model."""
        self.watchers.on_start(self._plan())
        with self.checkpoints.stopping_between_steps():
            try:
                self._run_epochs()
            except KeyboardInterrupt:
                self.checkpoints.after_stop(self.state)
                raise
        facts = self._facts()
        with self.job.ranks.sharing():
            run = finish_run(
                self.job, self.state, validation=self.validation, settings=facts
            )
        self.watchers.on_end(run)
        return run

    def _run_epochs(self) -> None:
        """Train until the last round, a callback or early stopping ends the run."""
        job, state = self.job, self.state
        loader = make_loader(job.parts.train, job.settings, job.ranks)
        epochs = job.settings.epochs
        while not self.watchers.is_stopped:
            ends = ends_of_rounds(epochs, state.history)
            current = Round.of(state.epoch, ends)
            patience, waited = epochs.early_stop, state.epoch - state.best_epoch
            if current is None or (patience is not None and waited >= patience):
                break
            if state.epoch == current.start > 0:
                self.watchers.on_more(current.end)
            if job.selects:
                self._freeze_candidates()
            self._run_epoch(loader, current)

    def _freeze_candidates(self) -> None:
        """Exclude candidates from training whose lowest loss so far is much higher."""
        # Only losses up to a fixed epoch count, so that a resumed run freezes the same
        # candidates.
        count = _FIRST_CHECK
        while 2 * count <= self.state.epoch:
            count *= 2
        if self.state.epoch < count:
            return
        history = self.state.history[:count]
        candidates = list_members(self.state.model)
        names = [candidate_key(number) for number in range(1, len(candidates) + 1)]
        lowest = [
            min((row[name] for row in history if row.get(name) is not None), default=inf)
            for name in names
        ]
        for loss, candidate in zip(lowest, candidates, strict=True):
            if loss > _MAX_CANDIDATE_LOSS * min(lowest) and is_trainable(candidate):
                candidate.freeze()

    def _run_epoch(self, loader: DataLoader | LoaderBatches, current: Round) -> None:
        """Train to the end of the epoch, validate, and write a checkpoint."""
        job, state, valid = self.job, self.state, self.job.parts.valid
        # The duration of a resumed epoch includes the steps before the run was stopped.
        start = time.perf_counter() - state.seconds
        rates = make_rates(
            job.settings, current, count_steps=self._count_steps, history=state.history
        )
        self._make_steps(loader, rates, start=start)
        row = {"epoch": state.epoch + 1, "lr": state.lr, **_average_numbers(state.steps)}
        row |= self.validation.measure(state.averaged)
        row["seconds"] = round(time.perf_counter() - start, 3)
        check_finite_epoch(state.model, row, valid, folder=job.writable_folder)
        with self.checkpoints.changing(state):
            is_best = valid is None or _is_best([*state.history, row])
            count = len(list_members(state.model)) if job.selects else 1
            improved = _list_improved([*state.history, row], count)
            state.end_epoch(row, is_best=is_best, improved=improved)
        self.checkpoints.after_epoch(state)
        self.watchers.on_epoch(row)
        self._stop_all_processes()

    def _make_steps(
        self,
        loader: DataLoader | LoaderBatches,
        rates: Callable[[int], float],
        *,
        start: float,
    ) -> None:
        """Make the remaining training steps of an epoch."""
        job, state = self.job, self.state
        state.model.train()
        place = {"epoch": state.epoch, "done": len(state.steps)}
        for batch in read_batches(loader, job.settings, job.ranks, **place):
            # The scope frees the tensors of the step before the next batch.
            with self.checkpoints.changing(state), scope():
                state.lr = rates(state.optimizer.step_count)
                step = self.steps.make(state, batch)
                state.steps.append(step)
                state.seconds = time.perf_counter() - start
            self.checkpoints.after_step(state)
            self.watchers.on_batch(step)
            self._stop_all_processes()
            if self.watchers.is_stopped:
                break
        if not state.steps:
            raise ArgumentError(
                f"epoch {state.epoch + 1}: the training loader returned no batch; it must "
                "start again in each epoch, and drop_last must leave a batch"
            )
        with self.checkpoints.changing(state), scope():
            self.steps.finish_epoch(state)

    def _count_steps(self) -> int:
        """Count the steps of an epoch, including a last step with fewer batches."""
        train, batches = self.job.parts.train, self.job.settings.batches
        # A loader without a length raises an error with advice.
        is_loader = isinstance(train, LoaderBatches)
        count = len(train) if is_loader else count_batches(train, batches)
        return -(-count // batches.accumulate)

    def _stop_all_processes(self) -> None:
        """Stop all processes if a callback or a signal stops one process."""
        ranks = self.job.ranks
        if not ranks.are_several:
            return
        signal = self.checkpoints.take_signal()
        ended, stopped = ranks.sum_numbers(self.watchers.is_stopped, signal is not None)
        if stopped:
            raise signal or KeyboardInterrupt("another process was stopped")
        self.watchers.is_stopped = ended > 0

    def _plan(self) -> Plan:
        """Return the description of the run that callbacks receive before training."""
        job, state = self.job, self.state
        settings, parts, model = job.settings, job.parts, state.model
        epochs, has_valid = settings.epochs, parts.valid is not None
        network = describe_network(model)
        if job.selects and (count := len(list_members(model))) > 1:
            network = f"{count} candidate networks together"
        return Plan(
            first_epoch=state.epoch + 1,
            first_batch=len(state.steps) + 1,
            epochs=ends_of_rounds(epochs, state.history)[-1],
            batches=count_batches(parts.train, settings.batches),
            samples=count_samples(parts.train),
            noun=parts.noun,
            task=describe_task(job.trained),
            backend=model.backend.name,
            threads=settings.target.threads,
            parameters=model.number_of_parameters,
            folder=settings.folder.path,
            is_compiled=self.steps.compiling.is_on,
            network=network,
            most_epochs=count_max_epochs(epochs.epochs, has_valid=has_valid),
            budget=epochs.seconds,
            facts=self._facts(),
        )

    def _facts(self) -> dict[str, Fact]:
        """List the settings of the run, and the machine, for the report."""
        planned, state = self.job.settings.epochs, self.state
        epochs = "" if planned.epochs is None else f"{planned.epochs}"
        if planned.epochs is None and self.job.parts.valid is None:
            epochs = f"{FIRST_ROUND}"
        elif planned.epochs is None:
            epochs = f"{FIRST_ROUND} or more, in rounds, while the validation loss falls"
            if state.epoch:
                epochs = f"{state.epoch}, in rounds; the best was epoch {state.best_epoch}"
        if planned.seconds is not None:
            epochs = f"{epochs}; the budget is {planned.seconds:,g} s"
        elif planned.epochs is not None:
            epochs = ""  # the number itself
        if epochs and self.job.selects:
            epochs = f"{epochs} (of the candidate networks)"
        compiled = self.steps.compiling.describe()
        return self.job.list_settings(compiled=compiled, epochs=epochs)


def _average_numbers(steps: list[Step]) -> dict[str, float]:
    """Average each number over the records of the steps that returned this number."""
    means = dict[str, float]()
    rows = [
        (step.samples, {"loss": step.loss, "accuracy": step.accuracy, **step.numbers})
        for step in steps
    ]
    for name in dict.fromkeys(name for _, row in rows for name in row):
        values = ((samples, row.get(name)) for samples, row in rows)
        having = [(samples, value) for samples, value in values if value is not None]
        if having:
            total = sum(value * samples for samples, value in having)
            means[f"train_{name}"] = total / sum(samples for samples, _ in having)
    return means


def _is_best(history: list[dict[str, Any]]) -> bool:
    """Return whether the last epoch has the lowest validation loss so far."""
    *before, last = [row["valid_loss"] for row in history]
    return all(last < loss for loss in before)


def _list_improved(history: list[dict[str, Any]], count: int) -> tuple[str, ...]:
    """Return the path prefixes of candidates with their lowest validation loss so far."""
    if count == 1:
        return ()  # a single network has no prefix
    *before, last = history
    names = [candidate_key(number) for number in range(1, count + 1)]
    return tuple(
        f"members.{number}."
        for number, name in enumerate(names)
        # In the first epoch, the weights are stored even if the loss is NaN.
        if not before
        or (
            last[name] is not None
            and all(row[name] is None or last[name] < row[name] for row in before)
        )
    )


def make_training(job: FitJob, watchers: CallbackList) -> Training:
    """Create the training run; resume it if `resume` is set and a checkpoint exists."""
    settings, trained, ranks = job.settings, job.trained, job.ranks
    loss, precision = settings.objective.loss, settings.computation.precision
    state = _make_state(job)
    objective = BatchLoss(
        loss=loss or trained.task.loss,
        step=settings.objective.step,
        encoder=trained.encoder,
        task=trained.task if loss is None else None,
        is_custom=isinstance(trained.task, Custom),
        precision=precision,
    )
    is_compiled = should_compile(job)
    checkpoints = Checkpoints(
        job,
        job.identify(compiled=is_compiled),
        Interval.of(settings.folder.checkpoint_every),
        SignalDelayer(waits=ranks.are_several),
    )
    compiling = CompiledStep.of(job, objective, is_compiled=is_compiled)
    checkpoints.resume(state)
    ranks.on_first(lambda: _write_start(job, state))
    ranks.copy_first(state.model)
    return Training(
        job=job,
        state=state,
        steps=StepMaker(job=job, objective=objective, compiling=compiling),
        validation=Validation(job=job, objective=objective),
        checkpoints=checkpoints,
        watchers=watchers,
    )


def _make_state(job: FitJob) -> RunState:
    """Create the state of a run before its first step."""
    settings, model = job.settings, job.trained.model
    updates, size = settings.updates, settings.batches.accumulate
    optimizer = updates.optimizer or make_optimizer(model, settings.weight_decay)
    state = RunState(model, optimizer)
    if settings.computation.precision == "float16":
        state.loss_scale = LossScale()
    if updates.weight_average is not None:
        decay = updates.weight_average
        state.weight_average = WeightAverage(None if isinstance(decay, str) else decay)
    if size > 1:
        state.accumulation = Accumulation(size)
    return state


def _write_start(job: FitJob, state: RunState) -> None:
    """Write the settings and the history of finished epochs to the run folder."""
    folder = job.settings.folder.path
    if folder is not None:
        make_checkpoint_folder(folder)
        save_config(folder, replace(job.trained, is_finished=False))
        if job.selects and len(state.best):
            # The weights of a finished run are those of the selected model.
            state.best.save(folder / WEIGHTS)
        write_history(folder, state.history)
        write_card_of_unfinished(folder)
