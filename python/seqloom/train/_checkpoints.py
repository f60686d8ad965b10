"""When a run writes checkpoints, which of them stay, and how a run is resumed."""

import os
import re
import time
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from seqloom._arguments import as_flag, as_integer, as_path, quote
from seqloom._signals import HeldSignals
from seqloom._system import sync
from seqloom._text import count_of
from seqloom.errors import ArgumentError, FileError
from seqloom.models._folder import (
    checkpoint_path,
    list_steps,
    make_checkpoint_folder,
    opened_folder,
    step_path,
    write_history,
)
from seqloom.record import load
from seqloom.train._checkpoint import STEPS, State, load_checkpoint, save_checkpoint
from seqloom.train._ranks import Ranks

# By default a checkpoint is written a minute after the last one, or later where writing
# took more than this share of the time.
_MINUTE, _SHARE = 60.0, 0.02
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")


@dataclass(frozen=True, slots=True)
class Interval:
    """How many steps, or how much time, lie between two checkpoints of an epoch."""

    steps: int | None = None
    seconds: float | None = None
    share: float | None = None  # of the time that writing may take

    @classmethod
    def of(cls, every: object) -> Self:
        """Reads the argument ``checkpoint_every`` of `fit`."""
        if every is None:
            return cls(seconds=_MINUTE, share=_SHARE)
        if every == "epoch":
            return cls()
        if isinstance(every, str):
            return cls(seconds=_read_seconds(every))
        try:
            return cls(steps=as_integer("checkpoint_every", every, least=1))
        except ArgumentError:
            raise _refuse(every) from None

    def is_over(self, step: int, elapsed: float, cost: float) -> bool:
        """Says whether the next checkpoint is due; `cost` is what the last one took."""
        if self.steps is not None:
            return step % self.steps == 0
        if self.seconds is None:
            return False
        rest = cost / self.share if self.share else 0.0
        return elapsed >= max(self.seconds, rest)


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """Where a run goes, what it keeps there, and what may be there already."""

    path: Path | None
    interval: Interval
    keep: int
    resume: bool
    overwrite: bool
    draws: bool  # whether pictures and the report are written

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Makes the settings of the arguments of `fit` and the fields of its values."""
        out = given["out"]
        return cls(
            None if out is None else as_path("out", out, expected="a folder's path"),
            interval=Interval.of(given["checkpoint_every"]),
            keep=as_integer("keep (--keep)", given["keep"], least=1),
            resume=given["resume"],
            overwrite=as_flag("overwrite", given["overwrite"]),
            draws=as_flag("report", given["report"]),
        )

    @contextmanager
    def opened(self) -> Generator[None]:
        """Makes the folder ready, and locks it against other runs."""
        if self.path is None:
            yield
            return
        with opened_folder(self.path, resume=self.resume, overwrite=self.overwrite):
            make_checkpoint_folder(self.path)
            yield


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of one run, and the signals that wait for them.

    Without a folder there are none.
    """

    folder: Path | None
    identity: Mapping[str, Any]
    interval: Interval
    keep: int
    ranks: Ranks
    signals: HeldSignals
    _time: float = field(default_factory=time.monotonic)
    _cost: float = 0.0
    _written: tuple[int, int] | None = None
    _step: int = 0  # of the run, after the last batch

    @property
    def writable_folder(self) -> Path | None:
        """The run folder in the process that writes to it; None in the other ones."""
        return self.folder if self.ranks.is_first else None

    def resume(self, state: State) -> None:
        """Loads the last checkpoint of the folder, if there is one."""
        if self.folder is None:
            return
        checkpoint = checkpoint_path(self.folder)
        self.ranks.require_same(self.identity)
        # The first process decides for all, because a disk may show others another folder:
        # the sum is 1 if the first one sees a checkpoint.
        (is_there,) = self.ranks.sum_numbers(self.ranks.is_first and checkpoint.exists())
        if is_there:
            load_checkpoint(checkpoint, state, self.identity)

    def stopping_between_steps(self) -> AbstractContextManager[None]:
        """Lets a signal stop the block after a whole step; without a folder at once."""
        return nullcontext() if self.folder is None else self.signals.listening()

    @contextmanager
    def changing(self, state: State) -> Generator[None]:
        """Lets a signal wait while a block changes the parts of the state one by one."""
        with self.signals.hold():
            state.is_whole = False
            yield
            state.is_whole = True

    def take_signal(self) -> KeyboardInterrupt | None:
        """Returns the exception of a signal that has arrived meanwhile, if any."""
        try:
            self.signals.deliver()
        except KeyboardInterrupt as stop:
            return stop
        return None

    def after_step(self, state: State) -> None:
        """Writes a checkpoint in the middle of an epoch, if it is due."""
        elapsed = time.monotonic() - self._time
        step, before = state.optimizer.step_count, self._step
        self._step = step
        # Batches whose gradients are accumulated end no step.
        is_between = self.interval.steps is not None and step == before
        if not is_between and self.interval.is_over(step, elapsed, self._cost):
            self.write(state)

    def after_epoch(self, state: State) -> None:
        """Writes a checkpoint, the history, and the weights if they are the best."""
        folder = self.writable_folder
        if folder is None:
            return
        self.write(state)
        write_history(folder, state.history)
        if state.best_epoch == state.epoch:
            state.best.save(folder / "model.safetensors")

    def after_stop(self, state: State) -> None:
        """Writes what a stopped run has reached, unless it was stopped within a step."""
        if state.is_whole and (state.steps or state.history):
            self.write(state)

    def write(self, state: State) -> None:
        """Writes a checkpoint, then removes those that are not kept."""
        place, folder = (state.epoch, len(state.steps)), self.writable_folder
        if folder is None or place == self._written:
            return
        start = time.monotonic()
        self._save(folder, state)
        self._written, self._time = place, time.monotonic()
        self._cost = self._time - start

    def _save(self, folder: Path, state: State) -> None:
        """Writes the files; each is whole and on the disk before an older one goes."""
        last = checkpoint_path(folder)
        if self.keep == 1:
            save_checkpoint(last, state, self.identity)
            return
        newest = step_path(folder, state.optimizer.step_count)
        save_checkpoint(newest, state, self.identity)
        if not _link(newest, last):
            save_checkpoint(last, state, self.identity)
        self._remove_old(folder, state)

    def _remove_old(self, folder: Path, state: State) -> None:
        """Removes all but the newest checkpoints and that of the best epoch."""
        old = sorted(list_steps(folder).items())[: -self.keep]
        for step, path in old:
            if step != state.best_step:
                _remove(path)


def _remove(path: Path) -> None:
    """Removes a checkpoint; one that stays would fill the disk with the next ones."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be removed: {error.strerror}") from error


def _link(newest: Path, last: Path) -> bool:
    """Lets `last` name the newest checkpoint too; says whether the disk has hard links."""
    part = last.with_name(f".{last.name}.hardlink.part")
    try:
        part.unlink(missing_ok=True)
        os.link(newest, part)
        part.replace(last)
        part.unlink(missing_ok=True)  # where both were the same file already
    except OSError:
        return False
    try:
        sync(last.parent)
    except OSError as error:
        raise FileError(f"{last}: cannot be written: {error.strerror}") from error
    return True


def _read_seconds(text: str) -> float:
    """Reads a time with its unit."""
    match = _TIME.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise _refuse(text)
    return float(match[1]) * _UNITS[match[2]]


def _refuse(every: object) -> ArgumentError:
    """Says what ``checkpoint_every`` may be."""
    return ArgumentError(
        "checkpoint_every (--checkpoint-every) must be a number of steps (500), a time "
        f'("90s", "10min", "2h") or "epoch" (at the end of epochs only), got {quote(every)}'
    )


def how_to_resume(folder: Path | None) -> str:
    """Says what a stopped run has saved, and how to resume it."""
    if folder is None:
        return "stopped; nothing was kept, because no run folder was given"
    checkpoint = checkpoint_path(folder)
    if not checkpoint.exists():
        return f"stopped before the first step; nothing is saved in {folder} yet"
    record = load(checkpoint)
    epochs = len(record.metadata["history"])
    kept = [count_of(epochs, "epochs")] if epochs else []
    if STEPS in record:
        place = "the next" if epochs else "the first epoch"
        kept.append(f"{count_of(record[STEPS].shape[0], 'steps')} of {place}")
    kept = " and ".join(kept)
    return f"stopped; {folder} keeps {kept}: go on with resume=True (--resume)"
