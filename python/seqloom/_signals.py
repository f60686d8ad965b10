"""Signals that stop a program: blocks in which they wait, and handlers for fatal ones."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]

# The exit code that a shell gives for Ctrl-C.
STOPPED = 130
# Batch systems send these before they kill a process, and a closed terminal sends SIGHUP.
_FATAL_NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
_FATAL = [number for name in _FATAL_NAMES if (number := getattr(signal, name, None))]
_STOPPING = [signal.SIGINT, *_FATAL]


@contextmanager
def signals_waiting() -> Generator[None]:
    """Delay the handlers of signals to the end of the block; blocks may be nested."""
    # A signal without a handler of Python's ends the process at once, or is ignored.
    handlers = {n: it for n, it in _read_handlers(_STOPPING).items() if callable(it)}
    received: list[int] = []
    is_over = False

    def receive(number: int, frame: FrameType | None) -> None:
        if is_over:
            handlers[number](number, frame)
        elif number not in received:
            received.append(number)

    for number in handlers:
        signal.signal(number, receive)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            # The block may have set another handler, which stays.
            if signal.getsignal(number) == receive:
                signal.signal(number, handler)
        is_over = True
        for number in received:
            handlers[number](number, None)


@contextmanager
def fatal_signals_interrupting() -> Generator[list[int]]:
    """Let signals that would end the process stop the block as Ctrl-C; lists them."""
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        _interrupt(number, frame)

    # A signal that is ignored already (under nohup, SIGHUP) stays ignored.
    numbers = [n for n, it in _read_handlers(_FATAL).items() if it == signal.SIG_DFL]
    with _handled(dict.fromkeys(numbers, stop)):
        yield received


class HeldSignals:
    """Runs the handlers of signals at once, or after the step in which they came.

    A stopped run thus leaves a checkpoint. With `waits`, as among several processes, a
    signal waits until `deliver` is called.
    """

    def __init__(self, *, waits: bool = False) -> None:
        self._waits = waits
        self._handlers: dict[int, _Handler] = {}
        self._is_held = False
        # The signal that waits, without its frame, which would keep the step's tensors.
        self._waiting: int | None = None

    @contextmanager
    def listening(self) -> Generator[None]:
        """Receive signals before the program's handlers; SIGTERM stops as Ctrl-C does."""
        found = _read_handlers(_STOPPING)
        if found.get(signal.SIGTERM) == signal.SIG_DFL:
            found[signal.SIGTERM] = _interrupt
        self._handlers = {n: it for n, it in found.items() if callable(it)}
        with _handled(dict.fromkeys(self._handlers, self._receive)):
            self._is_held = self._waits
            yield
            self.deliver()

    @contextmanager
    def hold(self) -> Generator[None]:
        """Let a signal wait until the block has ended; a second one does not."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = self._waits
            if not self._waits:
                self.deliver()

    def deliver(self) -> None:
        """Run the handler of the signal that waited."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._handlers[waiting](waiting, None)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        """Store the first signal of a held block; runs the handler of any other."""
        if self._is_held and self._waiting is None:
            self._waiting = number
        else:
            self._handlers[number](number, frame)


@contextmanager
def _handled(handlers: dict[int, _Handler]) -> Generator[None]:
    """Set handlers for the block."""
    before = {number: signal.signal(number, it) for number, it in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read_handlers(numbers: list[signal.Signals]) -> dict[int, Any]:
    """Return the handlers of signals; empty in other threads, which may not set any."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in numbers}


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Stop as Ctrl-C does."""
    raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")
