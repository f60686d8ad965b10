"""Chooses what reports a run's progress: the caller's objects, a bar, or plain lines."""

import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.train._progress import (
    Plan,
    Progress,
    Step,
    describe_plan,
    spell_columns,
    spell_row,
)

_METHODS = ("on_start", "on_batch", "on_epoch", "on_more", "on_end", "on_error")
# Seconds between two lines about epochs, and before a line about a batch of a long epoch.
_APART, _LONG = 10.0, 60.0


@contextmanager
def watching(
    progress: Progress | bool | None,  # noqa: FBT001 - as `fit` takes it
    callbacks: Sequence[Any] = (),
) -> "Generator[Watchers]":
    """Makes the watchers that ``progress`` and ``callbacks`` of `fit` ask for."""
    if progress is True or (progress is None and is_watched()):
        # Imported here, because rich takes time to load and most runs print nothing.
        from seqloom.train._watch import Watch, open_console

        with Watch(open_console()) as watch:
            yield Watchers(watch, *callbacks)
    elif progress is None:
        yield Watchers(open_lines(), *callbacks)
    elif progress is False:
        yield Watchers(*callbacks)
    else:
        _require_methods("progress must be True, False or", progress)
        yield Watchers(progress, *callbacks)


def is_watched() -> bool:
    """Says whether a person sees what is printed: at a terminal, or in a notebook."""
    return is_notebook() or (sys.stdout is not None and sys.stdout.isatty())


def is_notebook() -> bool:
    """Says whether this process is a notebook's."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Watchers:
    """Calls the methods of several watchers, in order; each has some of the methods."""

    def __init__(self, *watchers: Any) -> None:
        self._watchers = [watcher for watcher in watchers if watcher is not None]
        self.is_stopped = False

    def on_start(self, plan: Plan) -> None:
        """Tells what the run is about to do."""
        self._tell("on_start", plan)

    def on_batch(self, step: Step) -> None:
        """Tells of a step; remembers whether one asked to end the run."""
        self._tell("on_batch", step)

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Tells of an epoch; remembers whether one asked to end the run."""
        self._tell("on_epoch", row)

    def on_more(self, epochs: int) -> None:
        """Tells that the run goes on to a later last epoch."""
        self._tell("on_more", epochs)

    def on_end(self, run: Any) -> None:
        """Tells of the end."""
        self._tell("on_end", run)

    def on_error(self, error: BaseException) -> None:
        """Tells of an exception; an exception of a watcher does not replace it."""
        for watcher in self._watchers:
            with suppress(Exception):
                getattr(watcher, "on_error", _ignore)(error)

    def _tell(self, name: str, value: object) -> None:
        """Calls one method of all watchers."""
        for watcher in self._watchers:
            answer = getattr(watcher, name, _ignore)(value)
            # Only True: a method may return something else for its own purposes.
            if isinstance(answer, (bool, np.bool_)) and answer:
                self.is_stopped = True


def _ignore(_: object) -> None:
    """Does nothing."""


def check_callbacks(callbacks: object) -> list[Any]:
    """Gives the callbacks as a list; refuses what hears nothing."""
    if not isinstance(callbacks, (list, tuple)):
        raise ArgumentError(
            f"callbacks must be a list of objects, got {quote(callbacks)}; write "
            "callbacks=[...]"
        )
    for callback in (found := [*cast("list[Any]", callbacks)]):
        _require_methods("each of callbacks must be", callback)
    return found


def _require_methods(expected: str, watcher: object) -> None:
    """Refuses an object that has none of the methods, and a class instead of an object."""
    if isinstance(watcher, type) or not any(hasattr(watcher, name) for name in _METHODS):
        raise ArgumentError(
            f"{expected} an object with some of the methods {', '.join(_METHODS)}, got "
            f"{quote(watcher)}"
        )


class EpochLines:
    """Prints at most one line every ten seconds to standard error; none for a short run."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last = clock()
        self._begin = ""  # the line about the whole run, until it is printed
        self._samples = 0
        self._is_headed = False

    def on_start(self, plan: Plan) -> None:
        """Stores the description of the run."""
        self._begin, self._samples = describe_plan(plan), plan.samples
        self._last = self._clock()

    def on_batch(self, step: Step) -> None:
        """Prints a line about a batch if no epoch has ended for a minute."""
        if self._clock() - self._last >= _LONG:
            place = f"epoch {step.epoch}, batch {step.batch:,}"
            self._print(f"{place}: loss {step.loss:.4f}")

    def on_epoch(self, row: dict[str, Any]) -> None:
        """Prints a line about an epoch if the last line is old enough."""
        if self._clock() - self._last >= _APART:
            head = () if self._is_headed else (spell_columns(row),)
            self._print(*head, spell_row(row, self._samples))
            self._is_headed = True

    def on_more(self, epochs: int) -> None:
        """Prints the new last epoch, if a line was printed earlier."""
        if not self._begin:
            self._print(f"another round follows, to epoch {epochs:,}")

    def _print(self, *lines: str) -> None:
        """Prints lines; the description of the run precedes the first one."""
        found = [*([self._begin] if self._begin else []), *lines]
        print(*found, sep="\n", file=self._stream, flush=True)
        self._begin, self._last = "", self._clock()


def open_lines() -> EpochLines | None:
    """Makes lines on standard error; None where there is none."""
    stderr: TextIO | None = sys.stderr
    return None if stderr is None else EpochLines(stderr)
