"""Signals that wait until a step is whole, so that a stopped run leaves a checkpoint."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from seqloom._signals import STOPPING


class HeldSignals:
    """Runs the handler of a signal at once, or after a block in which signals are held."""

    def __init__(self, *, waits: bool = False) -> None:
        # Among several processes a signal waits until all have made the same step.
        self._waits = waits
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._is_held = False
        # The signal that waits, without its frame, which would keep the step's tensors.
        self._waiting: int | None = None

    @contextmanager
    def listening(self) -> Generator[None]:
        """Receives signals before the program's handlers; SIGTERM stops as Ctrl-C does."""
        # Only the main thread may set handlers, and only it gets signals.
        found = _list_handlers() if _is_main() else {}
        self._handlers = {number: _action_of(handler) for number, handler in found.items()}
        for number in found:
            signal.signal(number, self._receive)
        self._is_held = self._waits
        try:
            yield
            self.deliver()
        finally:
            for number, handler in found.items():
                signal.signal(number, handler)

    @contextmanager
    def hold(self) -> Generator[None]:
        """Lets a signal wait until the block has ended; a second one does not."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = self._waits
            if not self._waits:
                self.deliver()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        """Keeps the first signal of a held block; runs the handler of any other at once."""
        if self._is_held and self._waiting is None:
            self._waiting = number
        else:
            self._handlers[number](number, frame)

    def deliver(self) -> None:
        """Runs the handler of the signal that waited."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._handlers[waiting](waiting, None)


def _is_main() -> bool:
    """Says whether this thread may set handlers."""
    return threading.current_thread() is threading.main_thread()


def _list_handlers() -> dict[int, Any]:
    """Lists the handlers of the program, and that of SIGTERM where there is none."""
    found = {number: signal.getsignal(number) for number in STOPPING}
    return {
        number: handler
        for number, handler in found.items()
        if callable(handler) or (number == signal.SIGTERM and handler == signal.SIG_DFL)
    }


def _action_of(handler: Any) -> Callable[[int, FrameType | None], Any]:
    """Returns the program's handler, or what stops the run."""
    return handler if callable(handler) else _stop


def _stop(number: int, _frame: FrameType | None) -> None:
    """Stops as Ctrl-C does."""
    raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")
