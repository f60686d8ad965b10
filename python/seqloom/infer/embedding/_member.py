"""A process that computes shards of a job, and what it tells whoever started it."""

from __future__ import annotations

import copy
import multiprocessing
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom._system import without_signals
from seqloom.errors import WorkerError
from seqloom.infer.embedding._summary import EmbedSummary, Progress

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from seqloom.infer.embedding._call import Call

_PAUSE = 0.1  # seconds between news
_GRACE = 10.0  # seconds that a process has to give its claims back


@dataclass(slots=True)
class Member:
    """One process of several, from its start to its end."""

    number: int
    device: str
    process: Any
    news: Any  # a connection
    progress: Progress | None = None
    summary: EmbedSummary | None = None
    error: BaseException | None = None

    @classmethod
    def start(cls, number: int, device: str, call: Call) -> Member:
        """Starts a process of its own, which shares nothing with this one."""
        context = multiprocessing.get_context("spawn")
        news, told = context.Pipe(duplex=False)
        arguments = (call, device, told)
        process = context.Process(target=work, args=arguments, daemon=True)
        # Ctrl-C reaches all processes of a terminal: this one passes it on as SIGTERM.
        with without_signals(signal.SIGINT):
            process.start()
        told.close()
        return cls(number, device, process, news)

    def hear(self) -> bool:
        """Takes one piece of news; False when the process has ended."""
        try:
            told = self.news.recv()
        except (EOFError, OSError):
            self.process.join()
            return False
        if isinstance(told, Progress):
            self.progress = told
        elif isinstance(told, EmbedSummary):
            self.summary = told
        else:
            self.error = told
        return True

    def stop(self) -> None:
        """Ends the process: it gives its claims back, and what it has finished stays."""
        if self.process.is_alive():
            self.process.terminate()

    def join(self) -> None:
        """Waits for the end; who does not end is killed."""
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.news.close()

    @property
    def fate(self) -> str:
        """Says how the process ended without having finished."""
        where = f"process {self.number} ({self.device})"
        if self.error is not None:
            return f"{where} ended: {type(self.error).__name__}: {self.error}"
        code = self.process.exitcode or 0
        if code < 0:
            return f"{where} was killed by {signal.Signals(-code).name}"
        return f"{where} ended with exit code {code}"


def work(call: Call, device: str, news: Connection) -> None:
    """Computes what nobody else does, in a process of its own."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        news.send(call.on(device).run(_Teller(news)))
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGTERM) from None
    except Exception as error:  # noqa: BLE001 - raised by whoever started this process
        with suppress(OSError):
            _tell_error(news, error)
        raise SystemExit(1) from None


class _Teller:
    """Sends progress, now and then."""

    def __init__(self, news: Connection) -> None:
        self._news, self._next = news, 0.0

    def __call__(self, progress: Progress) -> None:
        if (now := time.monotonic()) >= self._next:
            # If nobody is there any more this is an error, and the process ends.
            self._news.send(progress)
            self._next = now + _PAUSE


def _interrupt(number: int, frame: Any) -> None:
    """Stops the work as Ctrl-C does, once."""
    del frame  # part of the protocol
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _tell_error(news: Connection, error: Exception) -> None:
    """Sends an error as it is, or its text where another process cannot make it again."""
    try:
        copy.copy(error)  # makes it from its arguments, as the other process does
        news.send(error)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - an error of anybody's, with anything in it
        news.send(WorkerError(f"{type(error).__name__}: {error}"))
