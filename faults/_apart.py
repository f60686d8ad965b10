"""Run a function in a forked process, and report its value, error or crash."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from seqloom.errors import SeqloomError

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds after which a process is killed as hanging.
KILL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value, error or signal with which a process ended."""

    value: Any = None
    error: str = ""  # Type and message of the exception.
    is_ours: bool = False  # True if the exception is a SeqloomError.
    signal: int = 0

    @property
    def is_killed(self) -> bool:
        """True if the fault killed the process."""
        return self.signal == signal.SIGKILL

    def __str__(self) -> str:
        """Return the outcome as one line of text."""
        if self.signal:
            return f"died of {signal.Signals(self.signal).name}"
        return self.error or f"gave {self.value!r}"


@dataclass(frozen=True, slots=True)
class Running:
    """A forked process, and the pipe to which it writes its outcome."""

    child: int
    pipe: BinaryIO

    def fileno(self) -> int:
        """Return the file descriptor of the pipe, for `select`."""
        return self.pipe.fileno()

    def finish(self) -> Outcome:
        """Wait until the process ends, and return its outcome."""
        with self.pipe:
            said = self.pipe.read()
        status = os.waitpid(self.child, 0)[1]
        if os.WIFSIGNALED(status):
            return Outcome(signal=os.WTERMSIG(status))
        return Outcome(**json.loads(said))


def start_apart(function: Callable[[], Any], *, seconds: int = KILL_SECONDS) -> Running:
    """Call a function in another process; its value must be JSON-serialisable."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run_child(writer, function, seconds)
    os.close(writer)
    return Running(child, os.fdopen(reader, "rb"))


def run_apart(function: Callable[[], Any]) -> Outcome:
    """Call a function in another process, and wait until it ends."""
    return start_apart(function).finish()


def _run_child(writer: int, function: Callable[[], Any], seconds: int) -> None:
    """Write the value or error of a function to the pipe, and end this process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    try:
        said = {"value": function()}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is reported
        is_ours = isinstance(error, SeqloomError)
        said = {"error": f"{type(error).__name__}: {error}", "is_ours": is_ours}
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(json.dumps(said).encode())
    os._exit(0)
