"""One worker process: its start, its pipe, its requests, and its end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
import weakref
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

from seqloom._system import CAN_POLL, after_fork, resident_memory
from seqloom.data.loader._wire import Inbox, Outbox
from seqloom.data.loader._worker_main import SealedJob, WorkerIdentity, work
from seqloom.errors import ArgumentError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from seqloom.data.loader._request import Request
    from seqloom.data.loader._worker_main import WorkerJob

# A process that ends like this ran the main script, which started workers once more.
_UNGUARDED = 77
_GRACE = 2.0

# Our ends of all pipes: a forked child closes them, or a worker's pipe would outlive us.
_ENDS: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_ends() -> None:
    """Closes the pipes that a forked child has inherited."""
    for end in list(_ENDS):
        end.close()


after_fork(_close_ends)


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """How a worker process starts."""

    job: WorkerJob
    method: Any = "spawn"  # "spawn", "forkserver", "fork", or a context
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])  # a user's, by name
    most_bytes: int = 0  # a worker with more memory is replaced; 0: no limit

    def launch(self, pipe: socket.socket, number: int, count: int) -> Any:
        """Starts one of several processes, with its end of a pipe."""
        _check_guard()
        context: Any = self.method
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        is_main = threading.current_thread() is threading.main_thread()
        identity = WorkerIdentity(number, count, os.getpid(), self.seed, is_main)
        process = context.Process(
            target=work,
            args=(SealedJob(self.job), pipe, identity),
            name=f"seqloom-worker-{number}",
            daemon=True,
        )
        with _environment(self.environment):
            self._begin(process)
        return process

    def _begin(self, process: Any) -> None:
        """Starts the process; an error names the argument that cannot be sent to it."""
        try:
            process.start()
        except (AttributeError, PicklingError, RecursionError, TypeError) as error:
            raise self._pickle_error(error) from error

    def _pickle_error(self, error: Exception) -> ArgumentError:
        """Says which argument cannot be sent, and what to do."""
        names = [name for name, part in self.parts.items() if not _is_sendable(part)]
        return ArgumentError(
            f"{' and '.join(names) or 'the loader'} cannot be sent to a worker process "
            f"({error}): define it with def or class at the top of a module, where a new "
            "process can import it, not as a lambda or inside a function; or pass "
            'num_workers=0, or multiprocessing_context="fork"'
        )


def _is_sendable(part: Any) -> bool:
    """Tries to pickle an argument; locks can be pickled only while a process starts."""
    try:
        ForkingPickler.dumps(part)
    except RuntimeError:
        return True
    except Exception:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return False
    return True


def _check_guard() -> None:
    """Ends a worker in which the main script starts workers once more."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(_UNGUARDED)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Generator[None]:
    """Sets environment variables for a process that is started in the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class WorkerProcess:
    """A worker process with its pipe and its requests."""

    def __init__(self, start: ProcessStart, number: int, count: int) -> None:
        self._start = start
        self.number = number
        self._count = count
        self.requests: deque[Request] = deque()
        # After a death these go one by one, to find the one that kills.
        self._suspects: set[int] = set()
        self._sent = 0
        self._launch()

    def _launch(self) -> None:
        """Starts the process at the other end of a new pipe."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket's own argument
        _ENDS.add(ours)
        self._pipe = ours
        self._inbox, self._outbox = Inbox(ours), Outbox(ours)
        self.ready: float | None = None
        self._answered = 0
        try:
            self._process = self._start.launch(theirs, self.number, self._count)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def files(self) -> Iterator[tuple[int, bool]]:
        """Yields the files to wait for, and whether they wait to be written."""
        yield self._pipe.fileno(), not self._outbox.is_empty
        if CAN_POLL:  # elsewhere only the pipe, a socket, shows the end of the process
            yield self._process.sentinel, False

    def can_take(self, most: int) -> bool:
        """Tells whether another request may be added."""
        return len(self.requests) < most and not self._suspects and not self._is_large()

    def add(self, request: Request) -> None:
        """Adds a request to those of the process."""
        self.requests.append(request)
        self._send_more()

    def _send_more(self) -> None:
        """Sends requests that wait: all, or only the first where one of them may kill."""
        most = 1 if self._suspects else len(self.requests)
        while self._sent < min(most, len(self.requests)):
            request = self.requests[self._sent]
            self._sent += 1
            self._outbox.put(request)

    def answers(self) -> Iterator[tuple[str, int, Any]]:
        """Yields the answers that have arrived: their kind, number and content."""
        self._outbox.flush()
        for kind, number, answer in self._inbox.messages():
            if kind == "ready":
                self.ready = time.monotonic()
                continue
            self._remove(number)
            yield kind, number, answer

    def _remove(self, number: int) -> None:
        """Removes a request that is answered."""
        if self.requests and self.requests[0].number == number:
            self.requests.popleft()
            self._sent -= 1
            self._answered += 1
            self._suspects.discard(number)
            self._send_more()

    def is_dead(self) -> bool:
        """Tells whether the process has ended; all its answers have been read."""
        if not self._inbox.is_ended and self._process.exitcode is None:
            return False
        self._process.join(_GRACE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return True

    def check_start(self) -> None:
        """Raises an error where a process ended before it was ready."""
        code = self._process.exitcode
        if self.ready is not None or code < 0:
            return
        if code == _UNGUARDED:
            raise WorkerError(
                "the main script starts worker processes while a worker imports it: move "
                'its code under if __name__ == "__main__":, or pass num_workers=0'
            )
        raise WorkerError(
            f"worker {self.number} (pid {self.pid}) could not start ({self.cause()}); "
            "the reason is in its standard error"
        )

    def cause(self) -> str:
        """Says how the process ended."""
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def is_idle_and_large(self) -> bool:
        """Tells whether the process uses too much memory and has no request."""
        return not self.requests and self._is_large()

    def _is_large(self) -> bool:
        """Tells whether the process uses more memory than it may."""
        most = self._start.most_bytes
        return bool(most and self._answered) and resident_memory(self.pid) > most

    def restart(self) -> None:
        """Starts the process again; it gets its requests one by one."""
        self.close_pipe()
        self.end()
        self._launch()
        self._suspects = {request.number for request in self.requests}
        self._sent = 0
        self._send_more()

    def kill(self) -> None:
        """Kills a process that does not answer."""
        self._process.kill()

    def close_pipe(self) -> None:
        """Closes the pipe, which ends a process that waits for a request."""
        self._pipe.close()

    def end(self) -> None:
        """Waits for the process to end; terminates it, then kills it, if it does not."""
        self._process.join(_GRACE)
        for stop in (self._process.terminate, self._process.kill):
            if self._process.exitcode is None:
                stop()
                self._process.join(_GRACE / 4)
        self._process.join()
        self._process.close()
