"""Objects in the cloud for a process that was forked.

The library that fetches has threads, which a forked process does not inherit: it would wait
for them without end. So a forked process starts a new one, which fetches for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom._system import after_fork
from seqloom.errors import RemoteError
from seqloom.io.plink._cloud_object import CloudObject, Fetched

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import ParseResult

    from seqloom.io.plink._cloud_object import CloudRequest, Identity

Answer: TypeAlias = "tuple[Identity, bytes] | BaseException"
Pending: TypeAlias = dict[int, Future[Fetched]]

_SERVE = (
    "import sys; from seqloom.io.plink._cloud_process import serve; serve(int(sys.argv[1]))"
)
_forked: list[int] = []


def was_forked() -> bool:
    """Says whether this process was forked from one that may have been fetching."""
    return bool(_forked)


class ForkedObject:
    """An object that a new process fetches."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        pair: Any = Pipe()  # its type differs between systems
        ours, theirs = pair
        self._connection: Connection = ours
        process = _start(theirs)
        self._lock, self._numbers = threading.Lock(), count()
        self._pending: Pending = {}
        weakref.finalize(self, _stop, process)
        receive = ours, self._pending
        threading.Thread(target=_receive_answers, args=receive, daemon=True).start()
        ours.send((location, dict(options)))

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Requests the bytes from start to stop; with None, all bytes."""
        future: Future[Fetched] = Future()
        with self._lock:
            number = next(self._numbers)
            self._pending[number] = future
            try:
                self._connection.send((number, start, stop))
            except OSError as error:
                raise _make_error() from error
        return future


def serve(handle: int) -> None:
    """Serves the requests of another process, until that one ends."""
    connection, lock = Connection(handle), threading.Lock()

    def send(number: int, answer: Answer) -> None:
        with lock, suppress(OSError):
            connection.send((number, answer))

    location, options = connection.recv()
    source: CloudObject | None = None
    while (message := _receive_request(connection)) is not None:
        number, start, stop = message
        try:
            source = source or CloudObject(location, options)
            pending = source.request(start, stop)
        except Exception as error:  # noqa: BLE001 - the other process raises it
            send(number, error)
        else:
            pending.add_done_callback(lambda done, n=number: send(n, _read_answer(done)))


def _start(theirs: Connection) -> subprocess.Popen[bytes]:
    """Starts the process that fetches, with one end of the pipe."""
    with theirs:
        return subprocess.Popen(  # noqa: S603 - our own interpreter runs our own module
            [sys.executable, "-c", _SERVE, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )


def _receive_request(connection: Connection) -> tuple[int, int, int | None] | None:
    """Waits for the next request; None: the other process has closed the pipe."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _read_answer(done: Future[Fetched]) -> Answer:
    """Converts the result of a request to what a pipe can carry."""
    error = done.exception()
    if error is not None:
        return error
    fetched = done.result()
    return fetched.identity, bytes(fetched.data)


def _receive_answers(connection: Connection, pending: Pending) -> None:
    """Passes answers to the futures that wait for them."""
    try:
        while True:
            number, answer = connection.recv()
            future = pending.pop(number)
            if not future.set_running_or_notify_cancel():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                identity, data = answer
                future.set_result(Fetched(identity, memoryview(data)))
    except (EOFError, OSError):
        for future in list(pending.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(_make_error())


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stops the process that fetches."""
    process.kill()
    process.wait()


def _make_error() -> RemoteError:
    """Makes the error for a process that has ended."""
    return RemoteError(
        "the process that fetches for this forked process has ended; open the file again"
    )


def _note_fork() -> None:
    """Notes that this process does not have the threads that fetch."""
    if "obstore" in sys.modules:
        _forked[:] = [os.getpid()]


after_fork(_note_fork)
