"""When a run writes checkpoints, which of them stay, and how a run is resumed."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from seqloom._arguments import as_integer, quote
from seqloom._system import sync
from seqloom._text import count_of
from seqloom.errors import ArgumentError, FileError
from seqloom.models._folder import checkpoint_path, list_steps, step_path
from seqloom.record import load
from seqloom.train._checkpoint import STEPS, State, save_checkpoint

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


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of one run; without a folder there are none."""

    folder: Path | None
    identity: Mapping[str, Any]
    interval: Interval
    keep: int
    _time: float = field(default_factory=time.monotonic)
    _cost: float = 0.0
    _written: tuple[int, int] | None = None
    _step: int = 0  # of the run, after the last batch

    def after_step(self, state: State) -> None:
        """Writes a checkpoint in the middle of an epoch, if it is due."""
        elapsed = time.monotonic() - self._time
        step, before = state.optimizer.step_count, self._step
        self._step = step
        # Batches whose gradients are accumulated end no step.
        is_between = self.interval.steps is not None and step == before
        if not is_between and self.interval.is_over(step, elapsed, self._cost):
            self.write(state)

    def after_stop(self, state: State) -> None:
        """Writes what a stopped run has reached, unless it was stopped within a step."""
        if state.is_whole and (state.steps or state.history):
            self.write(state)

    def write(self, state: State) -> None:
        """Writes a checkpoint, then removes those that are not kept."""
        place = state.epoch, len(state.steps)
        if self.folder is None or place == self._written:
            return
        start = time.monotonic()
        self._save(self.folder, state)
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
