"""Chooses what reports a run's progress: the caller's objects, a bar, or plain lines."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError
from seqloom.train._epoch_lines import open_lines
from seqloom.train._progress import Plan, Progress, Step

_METHODS = ("on_start", "on_batch", "on_epoch", "on_more", "on_end", "on_error")


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
