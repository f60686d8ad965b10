"""Objects in the cloud, for a process that was forked.

The library that fetches has threads, which a forked process does not inherit: it would wait
for them without end. Such a process lets a fresh one fetch.
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
from typing import TYPE_CHECKING, TypeAlias, cast

from seqloom.errors import RemoteError
from seqloom.io.plink._object import CloudObject, Fetched

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import ParseResult

    from seqloom.io.plink._object import Identity, Waiting

Answer: TypeAlias = "tuple[Identity, bytes] | BaseException"
Pending: TypeAlias = dict[int, Future[Fetched]]

_SERVE = "import sys; from seqloom.io.plink._apart import serve; serve(int(sys.argv[1]))"
_forked: list[int] = []


def must_be_apart() -> bool:
    """Says whether this process was forked from one that may have been fetching."""
    return bool(_forked)


class ApartObject:
    """An object that a fresh process fetches.

    Args:
        location: Its URL.
        options: How its store is reached.
    """

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        ours, theirs = cast("tuple[Connection, Connection]", Pipe())
        self._connection = ours
        process = _start(theirs)
        self._turn, self._numbers = threading.Lock(), count()
        self._pending: Pending = {}
        weakref.finalize(self, _end, process)
        receive = ours, self._pending
        threading.Thread(target=_receive, args=receive, daemon=True).start()
        ours.send((location, dict(options)))

    def begin(self, start: int, stop: int | None) -> Waiting:
        """Asks for bytes from one on to before another; with None, for all of them."""
        future: Future[Fetched] = Future()
        with self._turn:
            number = next(self._numbers)
            self._pending[number] = future
            try:
                self._connection.send((number, start, stop))
            except OSError as error:
                raise _gone() from error
        return future


def serve(handle: int) -> None:
    """Fetches what another process asks for, as long as it is there.

    Args:
        handle: The open end of the pipe to it.
    """
    connection, turn = Connection(handle), threading.Lock()

    def send(number: int, answer: Answer) -> None:
        with turn, suppress(OSError):
            connection.send((number, answer))

    location, options = connection.recv()
    source: CloudObject | None = None
    while (asked := _next(connection)) is not None:
        number, start, stop = asked
        try:
            source = source or CloudObject(location, options)
            request = source.begin(start, stop)
        except Exception as error:  # noqa: BLE001 - the other process raises it
            send(number, error)
        else:
            request.add_done_callback(lambda done, n=number: send(n, _answer_of(done)))


def _start(theirs: Connection) -> subprocess.Popen[bytes]:
    """Starts the process that fetches, and leaves it one end of the pipe."""
    with theirs:
        return subprocess.Popen(  # noqa: S603 - our own interpreter runs our own module
            [sys.executable, "-c", _SERVE, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is this process's matter
        )


def _next(connection: Connection) -> tuple[int, int, int | None] | None:
    """Waits for the next request; None: there will be no more."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _answer_of(done: Future[Fetched]) -> Answer:
    """Takes what a request gave, as a pipe can carry it."""
    error = done.exception()
    if error is not None:
        return error
    fetched = done.result()
    return fetched.identity, bytes(fetched.data)


def _receive(connection: Connection, pending: Pending) -> None:
    """Hands answers to those who wait for them."""
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
                future.set_exception(_gone())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Lets the process that fetches end."""
    process.kill()
    process.wait()


def _gone() -> RemoteError:
    """Says that nobody fetches any more."""
    return RemoteError(
        "the process that fetched for this forked one has ended; open the file again"
    )


def _note_fork() -> None:
    """Remembers that this process has none of the threads that fetch."""
    if "obstore" in sys.modules:
        _forked[:] = [os.getpid()]


os.register_at_fork(after_in_child=_note_fork)
