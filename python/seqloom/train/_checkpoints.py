"""Save the state of a run in checkpoints, and resume a run from a checkpoint."""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom._signals import SignalDelayer
from seqloom._system import fsync
from seqloom._text import format_count
from seqloom.errors import FileError, RecordError
from seqloom.models._folder import checkpoint_path, list_steps, step_path, write_history
from seqloom.nn import Module
from seqloom.optim import LossScale, Optimizer, WeightAverage
from seqloom.record import Record, load
from seqloom.train._evaluation import candidate_key
from seqloom.train._job import FitJob, check_same
from seqloom.train._progress import Step
from seqloom.train._updates import Accumulation
from seqloom.train._values import Interval

# The version of the checkpoint format. Version 1, without checkpoints within an epoch,
# can also be read.
_WRITTEN_VERSION = 2
_READABLE_VERSIONS = (1, _WRITTEN_VERSION)
STEPS_KEY = "epoch.steps"
# The indices of the columns for samples, loss and accuracy in the table of steps.
_FIXED_COLUMN_COUNT = 3
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Metadata(msgspec.Struct):
    """The metadata of a checkpoint."""

    identity: dict[str, Any]
    history: list[dict[str, Any]]
    best_epoch: _Count
    best_step: _Count = 0
    lr: float = 0.0
    seconds: float = 0.0
    numbers: list[str] = []
    others: dict[str, dict[str, Any]] = {}
    # Name of a number that the user's step can return -> steps of the epoch without
    # this number.
    absent: dict[str, list[_Count]] = {}


@dataclass(slots=True)
class RunState:
    """The state of a run that changes during training."""

    model: Module
    optimizer: Optimizer
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    best_epoch: int = 0
    best_step: int = 0  # number of steps at the end of the best epoch
    best: Record = field(default_factory=lambda: Record({}))
    # Steps of the unfinished epoch, last learning rate, and duration of the run.
    steps: list[Step] = field(default_factory=list[Step])
    lr: float = 0.0
    seconds: float = 0.0
    # State of optional features, such as the loss scale.
    loss_scale: LossScale | None = None
    weight_average: WeightAverage | None = None
    accumulation: Accumulation | None = None
    # False while a step changes the state, because an inconsistent state must not be
    # saved.
    is_whole: bool = True

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    def end_epoch(
        self, row: dict[str, Any], *, is_best: bool, improved: tuple[str, ...] = ()
    ) -> None:
        """Add an epoch to the history, and store the weights of the best epoch so far."""
        # If members of an ensemble are candidates, `improved` has the path prefixes of
        # members that are better than in all earlier epochs.
        self.history.append(row)
        self.steps, self.lr, self.seconds = [], 0.0, 0.0
        if is_best:
            self.best_epoch, self.best_step = self.epoch, self.optimizer.step_count
        if improved:
            newest = self.averaged.to_record()
            kept = {it: newest[it] for it in newest if it.startswith(improved)}
            self.best = Record({**self.best, **kept})
        elif is_best:
            self.best = self.averaged.to_record()

    @property
    def averaged(self) -> Module:
        """The network to evaluate and save, with averaged weights if enabled."""
        own = self.weight_average
        if own is not None and own.update_count:
            return own.apply_average(self.model)
        # Some optimisers train different weights from those that are evaluated.
        average = getattr(self.optimizer, "apply_average", None)
        return self.model if average is None else average(self.model)

    @property
    def optional_states(self) -> dict[str, LossScale | WeightAverage | Accumulation]:
        """The state of optional features by name, such as the loss scale."""
        names = ("loss_scale", "weight_average", "accumulation")
        states = ((name, getattr(self, name)) for name in names)
        return {name: state for name, state in states if state is not None}


@dataclass(slots=True)
class Checkpoints:
    """Writes the checkpoints of a run, also when a signal such as SIGTERM stops the run.

    A run without a run folder writes no checkpoints.
    """

    job: FitJob
    identity: Mapping[str, Any]
    interval: Interval
    signals: SignalDelayer
    _time: float = field(default_factory=time.monotonic)
    _cost: float = 0.0
    _written: tuple[int, int] | None = None
    _step: int = 0  # number of steps at the end of the previous batch

    def resume(self, state: RunState) -> None:
        """Load the last checkpoint of the run folder, if one exists."""
        folder, ranks = self.job.settings.folder.path, self.job.ranks
        if folder is None:
            return
        checkpoint = checkpoint_path(folder)
        ranks.require_same(self.identity)
        # Only the first process checks, because other processes may have no access to
        # the folder. The flag is summed over all processes, so that all processes
        # receive the answer of the first process.
        (is_there,) = ranks.sum_numbers(ranks.is_first and checkpoint.exists())
        if is_there:
            load_checkpoint(checkpoint, state, self.identity)

    def stopping_between_steps(self) -> AbstractContextManager[None]:
        """On a signal, stop after the current step; without a run folder, stop at once."""
        has_folder = self.job.settings.folder.path is not None
        return self.signals.listen_for_signals() if has_folder else nullcontext()

    @contextmanager
    def changing(self, state: RunState) -> Generator[None]:
        """Delay signals while a ``with`` block changes the state to be saved."""
        with self.signals.hold_signals():
            state.is_whole = False
            yield
            state.is_whole = True

    def take_signal(self) -> KeyboardInterrupt | None:
        """Return the exception of a received signal; None without a signal."""
        try:
            self.signals.run_delayed_handler()
        except KeyboardInterrupt as stop:
            return stop
        return None

    def after_step(self, state: RunState) -> None:
        """Write a checkpoint in the middle of an epoch if the interval has passed."""
        elapsed = time.monotonic() - self._time
        step, before = state.optimizer.step_count, self._step
        self._step = step
        # No checkpoint is written while gradients are being accumulated, that is,
        # within a step.
        is_between = self.interval.steps is not None and step == before
        if not is_between and self.interval.is_over(step, elapsed, self._cost):
            self.write(state)

    def after_epoch(self, state: RunState) -> None:
        """Write a checkpoint, the history, and the model if the epoch is the best."""
        folder = self.job.writable_folder
        if folder is None:
            return
        self.write(state)
        write_history(folder, state.history)
        if state.best_epoch == state.epoch:
            state.best.save(folder / "model.safetensors")

    def after_stop(self, state: RunState) -> None:
        """Write a checkpoint of a stopped run, unless the run was stopped within a step."""
        if state.is_whole and (state.steps or state.history):
            self.write(state)

    def write(self, state: RunState) -> None:
        """Write a checkpoint, then remove old ones."""
        place, folder = (state.epoch, len(state.steps)), self.job.writable_folder
        if folder is None or place == self._written:
            return
        start = time.monotonic()
        self._save(folder, state)
        self._written, self._time = place, time.monotonic()
        self._cost = self._time - start

    def _save(self, folder: Path, state: RunState) -> None:
        """Write the checkpoint to the disk before any older checkpoint is removed."""
        last = checkpoint_path(folder)
        keep = self.job.settings.folder.keep
        if keep == 1:
            save_checkpoint(last, state, self.identity)
            return
        newest = step_path(folder, state.optimizer.step_count)
        save_checkpoint(newest, state, self.identity)
        if not _hard_link(newest, last):
            save_checkpoint(last, state, self.identity)
        for step, path in sorted(list_steps(folder).items())[:-keep]:
            if step == state.best_step:
                continue
            try:
                path.unlink(missing_ok=True)
            # Raise, because undeleted checkpoints would fill the disk.
            except OSError as error:
                raise FileError(f"{path}: cannot be removed: {error.strerror}") from error


def _hard_link(newest: Path, last: Path) -> bool:
    """Hard-link `last` to the newest checkpoint; return False if this is impossible."""
    part = last.with_name(f".{last.name}.hardlink.part")
    try:
        part.unlink(missing_ok=True)
        os.link(newest, part)
        part.replace(last)
        # `replace` does nothing if both names are links to the same file.
        part.unlink(missing_ok=True)
    except OSError:
        return False
    try:
        fsync(last.parent)
    except OSError as error:
        raise FileError(f"{last}: cannot be written: {error.strerror}") from error
    return True


def describe_resume(folder: Path | None) -> str:
    """Describe which state of a stopped run was saved, and how to resume the run."""
    if folder is None:
        return "stopped; nothing was saved, because there is no run folder"
    checkpoint = checkpoint_path(folder)
    if not checkpoint.exists():
        return f"stopped before the first step; nothing is saved in {folder} yet"
    record = load(checkpoint)
    epochs = len(record.metadata["history"])
    kept = [format_count(epochs, "epochs")] if epochs else []
    if STEPS_KEY in record:
        place = "the next" if epochs else "the first epoch"
        kept.append(f"{format_count(record[STEPS_KEY].shape[0], 'steps')} of {place}")
    kept = " and ".join(kept)
    return f"stopped; {folder} contains {kept}; continue with resume=True (--resume)"


def save_checkpoint(path: Path, state: RunState, identity: Mapping[str, Any]) -> None:
    """Atomically write the state of a run to a file."""
    optimizer = state.optimizer.to_record()
    parts = state.model.to_record().with_prefix("model.")
    parts |= optimizer.with_prefix("optimizer.")
    others = {name: other.to_record() for name, other in state.optional_states.items()}
    for name, record in others.items():
        parts |= record.with_prefix(f"{name}.")
    numbers = list(dict.fromkeys(it for step in state.steps for it in step.numbers))
    if state.steps:
        parts |= Record({STEPS_KEY: _to_table(state.steps, numbers)})
    # Right after the best epoch, the current weights are the best weights, so the
    # weights are saved only once. Candidate networks have different best epochs.
    if state.best_epoch and (
        state.steps
        or state.best_epoch != state.epoch
        or candidate_key(1) in state.history[-1]
        or hasattr(state.optimizer, "apply_average")
        or state.weight_average is not None
    ):
        parts |= state.best.with_prefix("best.")
    facts = {
        "version": _WRITTEN_VERSION,
        "identity": dict(identity),
        "history": state.history,
    }
    facts |= {"best_epoch": state.best_epoch, "best_step": state.best_step}
    facts |= {"lr": state.lr, "seconds": state.seconds}
    absent = {
        name: [row for row, step in enumerate(state.steps) if name not in step.numbers]
        for name in numbers
    }
    facts |= {"numbers": numbers}
    if any(absent.values()):
        facts |= {"absent": {name: rows for name, rows in absent.items() if rows}}
    facts |= {"others": {name: record.metadata for name, record in others.items()}}
    parts.metadata = {**optimizer.metadata, **facts}
    parts.save(path)


def load_checkpoint(path: Path, state: RunState, identity: Mapping[str, Any]) -> None:
    """Restore the state of a run from a file that `save_checkpoint` wrote."""
    record = load(path)
    facts = _read_facts(path, record.metadata)
    check_same(path, facts.identity, identity)
    state.model.load_record(record.under("model."))
    state.optimizer.load_record(record.under("optimizer."))
    for name, other in state.optional_states.items():
        if name not in facts.others:
            raise RecordError(f"{path}: this run was started without {name}")
        own = Record(dict(record.under(f"{name}.")), metadata=facts.others[name])
        other.load_record(own)
    state.history, state.best_epoch = facts.history, facts.best_epoch
    state.best_step = facts.best_step
    state.steps = _read_steps(path, record, facts)
    state.lr, state.seconds = facts.lr, facts.seconds
    best = (record.under("best.") or state.model.to_record()).copy()
    best.metadata.clear()
    state.best = best


def _to_table(steps: list[Step], names: list[str]) -> NDArray[np.float64]:
    """Return a table with a row for each training step; missing numbers are NaN."""
    rows = [
        (
            *(step.samples, step.loss, np.nan if step.accuracy is None else step.accuracy),
            *(step.numbers.get(name, np.nan) for name in names),
        )
        for step in steps
    ]
    return np.array(rows, np.float64)


def _read_facts(path: Path, metadata: dict[str, Any]) -> _Metadata:
    """Return the metadata of a checkpoint; raise if it is not from seqloom."""
    version = metadata.get("version")
    try:
        if type(version) is int and version in _READABLE_VERSIONS:
            return msgspec.convert(metadata, _Metadata)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RecordError(f"{path}: not a valid checkpoint ({error})") from None
    raise RecordError(f"{path}: not a checkpoint that this version of seqloom can read")


def _read_steps(path: Path, record: Record, facts: _Metadata) -> list[Step]:
    """Read the table of steps of an unfinished epoch; raise if the table is invalid."""
    if STEPS_KEY not in record:
        return []
    table, columns = np.asarray(record[STEPS_KEY]), _FIXED_COLUMN_COUNT + len(facts.numbers)
    is_table = table.dtype == np.float64 and table.shape[1:] == (columns,)
    if not is_table or not np.isfinite(table[:, 0]).all():
        raise RecordError(f"{path}: its table of steps is invalid")
    steps: list[Step] = []
    epoch = len(facts.history) + 1
    absent = {name: set(rows) for name, rows in facts.absent.items()}
    for row, (samples, loss, right, *values) in enumerate(table.tolist()):
        numbers = {
            name: value
            for name, value in zip(facts.numbers, values, strict=True)
            if row not in absent.get(name, ())
        }
        place, accuracy = (epoch, row + 1), None if np.isnan(right) else right
        steps.append(Step(*place, int(samples), loss, accuracy, numbers=numbers))
    return steps
