"""Signals that a scheduler sends: they end a command as Ctrl-C does."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

# What a shell gives for Ctrl-C.
STOPPED = 130
# What batch systems send before they kill, and what a closed terminal sends.
_NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")


@contextmanager
def heeding() -> Generator[list[int]]:
    """Lets each of these signals stop what runs in the block, as Ctrl-C would."""
    # A signal that is ignored already (under nohup, SIGHUP) stays ignored.
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame  # part of the protocol
        came.append(number)
        raise KeyboardInterrupt(f"stopped by {signal.Signals(number).name}")

    before = {number: signal.signal(number, stop) for number in _list_fatal_signals()}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(number: int) -> int:
    """Gives what a shell gives for a program that a signal ended."""
    return 128 + number


def _list_fatal_signals() -> list[signal.Signals]:
    """Lists the signals that would end the process at once; only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        return []
    found = (getattr(signal, name, None) for name in _NAMES)
    return [n for n in found if n and signal.getsignal(n) == signal.SIG_DFL]
