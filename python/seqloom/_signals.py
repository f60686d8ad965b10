"""Signals that wait while something is made or tidied up, so that nothing is left half."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# What stops a program: Ctrl-C, and what batch systems and closed terminals send.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
STOPPING = [number for name in _NAMES if (number := getattr(signal, name, None))]


@contextmanager
def signals_waiting() -> Generator[None]:
    """Lets the handler of a signal run behind the block; a block in another waits too."""
    # Only the main thread gets signals. One without a handler of Python's ends the process
    # at once, or is ignored, as it was.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = _Waiting()
    waiting.begin()
    try:
        yield
    finally:
        waiting.end()


class _Waiting:
    """Stands before the handlers of a program."""

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._heard: list[int] = []
        self._is_over = False

    def begin(self) -> None:
        """Takes the place of each handler."""
        for number in STOPPING:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._hear)

    def end(self) -> None:
        """Gives each its place back, and runs those of the signals that came."""
        for number, handler in self._handlers.items():
            # Somebody may have set another one within the block.
            if signal.getsignal(number) == self._hear:
                signal.signal(number, handler)
        self._is_over = True
        for number in self._heard:
            self._handlers[number](number, None)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Stands in for a handler."""
        if self._is_over:
            self._handlers[number](number, frame)
        elif number not in self._heard:
            self._heard.append(number)
