"""Delay the signals that stop a program, and treat fatal signals like Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

_Handler: TypeAlias = Callable[[int, FrameType | None], Any]

# Exit code of a program that was stopped by Ctrl-C.
INTERRUPTED_EXIT_CODE = 130
# Batch systems send these signals before they kill a process; a closed terminal sends
# SIGHUP.
_FATAL_SIGNAL_NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
_FATAL_SIGNALS = [
    number for name in _FATAL_SIGNAL_NAMES if (number := getattr(signal, name, None))
]
_STOP_SIGNALS = [signal.SIGINT, *_FATAL_SIGNALS]


@contextmanager
def delay_signals() -> Generator[None]:
    """Delay signal handlers until the end of the block; blocks may be nested."""
    # Delay only signals with a Python handler; all others are ignored or end the
    # process immediately.
    handlers = {n: it for n, it in _read_handlers(_STOP_SIGNALS).items() if callable(it)}
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
            # Keep a handler that was set in the block.
            if signal.getsignal(number) == receive:
                signal.signal(number, handler)
        is_over = True
        for number in received:
            handlers[number](number, None)


@contextmanager
def interrupt_on_fatal_signals() -> Generator[list[int]]:
    """Raise KeyboardInterrupt in the block when a signal would end the process."""
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        _raise_keyboard_interrupt(number, frame)

    # Do not change a signal that is ignored, such as SIGHUP under nohup.
    numbers = [
        n for n, it in _read_handlers(_FATAL_SIGNALS).items() if it == signal.SIG_DFL
    ]
    with _set_handlers(dict.fromkeys(numbers, stop)):
        yield received


class SignalDelayer:
    """Runner of signal handlers that can delay a signal until the current step is complete.

    The delay allows a stopped run to save a checkpoint. If `waits` is True, a signal is
    delayed until `run_delayed_handler` is called. Runs with several processes set `waits`.
    """

    def __init__(self, *, waits: bool = False) -> None:
        self._waits = waits
        self._handlers: dict[int, _Handler] = {}
        self._is_held = False
        # The delayed signal. The stack frame of the signal is not stored, because it
        # would keep tensors alive.
        self._waiting: int | None = None

    @contextmanager
    def listen_for_signals(self) -> Generator[None]:
        """Receive signals before the program's handlers run; treat SIGTERM like Ctrl-C."""
        found = _read_handlers(_STOP_SIGNALS)
        if found.get(signal.SIGTERM) == signal.SIG_DFL:
            found[signal.SIGTERM] = _raise_keyboard_interrupt
        self._handlers = {n: it for n, it in found.items() if callable(it)}
        with _set_handlers(dict.fromkeys(self._handlers, self._receive_signal)):
            self._is_held = self._waits
            yield
            self.run_delayed_handler()

    @contextmanager
    def hold_signals(self) -> Generator[None]:
        """Delay a signal until the end of the block; a second signal is not delayed."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = self._waits
            if not self._waits:
                self.run_delayed_handler()

    def run_delayed_handler(self) -> None:
        """Run the handler of the delayed signal."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._handlers[waiting](waiting, None)

    def _receive_signal(self, number: int, frame: FrameType | None) -> None:
        """Delay the first signal in `hold_signals`; run the handler of any other signal."""
        if self._is_held and self._waiting is None:
            self._waiting = number
        else:
            self._handlers[number](number, frame)


@contextmanager
def _set_handlers(handlers: dict[int, _Handler]) -> Generator[None]:
    """Set signal handlers during the block, and restore the previous handlers."""
    previous = {number: signal.signal(number, it) for number, it in handlers.items()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _read_handlers(numbers: list[signal.Signals]) -> dict[int, Any]:
    """Return signal handlers, or an empty dict outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in numbers}


def _raise_keyboard_interrupt(number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, like Ctrl-C."""
    raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")
