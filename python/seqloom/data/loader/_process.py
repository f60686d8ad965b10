"""One worker process: its pipe, what it has to do, and its death."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import socket
import sys
import threading
import time
import weakref
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._wire import Inbox, Outbox
from seqloom.data.loader._worker_main import Place, Sealed, work
from seqloom.errors import ArgumentError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from seqloom.data.loader._worker_main import Job
    from seqloom.data.loader._workers import Task

# A process that ends like this ran the main script, which started workers once more.
_UNGUARDED = 77
_GRACE = 2.0

# Our ends of all pipes: a forked child closes them, or a worker's pipe would outlive us.
_ENDS: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _forget_ends() -> None:
    """Closes what a forked child has inherited."""
    for end in list(_ENDS):
        end.close()


os.register_at_fork(after_in_child=_forget_ends)


@dataclass(frozen=True, slots=True)
class Start:
    """How worker processes come to be.

    Args:
        job: What they do.
        method: ``"spawn"``, ``"forkserver"``, ``"fork"``, or a context.
        seed: Of the loader.
        environment: Variables that they find set.
        parts: What a user gave, by name, to say which of it cannot be sent.
        most_bytes: A worker whose memory grows beyond is replaced; 0 lets it grow.

    Examples:
        >>> from seqloom.data.loader._worker_main import Job
        >>> Start(Job(abs)).method
        'spawn'
    """

    job: Job
    method: Any = "spawn"
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    most_bytes: int = 0

    def process(self, number: int, count: int) -> Process:
        """Starts one of several."""
        return Process(self, number, count)

    def launch(self, pipe: socket.socket, number: int, count: int) -> Any:
        """Starts the system's process."""
        _check_guard()
        context: Any = self.method
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        is_main = threading.current_thread() is threading.main_thread()
        place = Place(number, count, os.getpid(), self.seed, is_main)
        process = context.Process(
            target=work,
            args=(Sealed(self.job), pipe, place),
            name=f"seqloom-worker-{number}",
            daemon=True,
        )
        with _environment(self.environment):
            self._begin(process)
        return process

    def _begin(self, process: Any) -> None:
        """Starts the process; what cannot be sent to it is named."""
        try:
            process.start()
        except (AttributeError, PicklingError, RecursionError, TypeError) as error:
            raise self._unsendable(error) from error

    def _unsendable(self, error: Exception) -> ArgumentError:
        """Says which part cannot be sent, and what to do."""
        names = [name for name, part in self.parts.items() if not _is_sendable(part)]
        return ArgumentError(
            f"{' and '.join(names) or 'the work'} cannot be sent to a worker process "
            f"({error}): define it with def or class at the top of a module, where a new "
            "process can import it, not as a lambda or inside a function; or pass "
            'num_workers=0, or multiprocessing_context="fork"'
        )


def _is_sendable(part: Any) -> bool:
    """Tries to pickle one part; locks and the like go only while a process is started."""
    try:
        ForkingPickler.dumps(part)
    except RuntimeError:
        return True
    except Exception:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return False
    return True


def _check_guard() -> None:
    """Ends a worker that runs the main script as if it were the main process."""
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


class Process:
    """A worker process with its pipe.

    Args:
        start: How it comes to be.
        number: Which one, from 0.
        count: How many there are.

    Examples:
        >>> from seqloom.data.loader._worker_main import Job
        >>> process = Start(Job(abs), method="fork").process(0, 1)
        >>> process.is_dead()
        False
        >>> process.part()
        >>> process.end()
    """

    def __init__(self, start: Start, number: int, count: int) -> None:
        self._start = start
        self.number = number
        self._count = count
        self.tasks: deque[Task] = deque()
        self._careful: set[int] = set()
        self._given = 0
        self._launch()

    def _launch(self) -> None:
        """Starts the process at the other end of a new pipe."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the socket's own word
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

    def files(self) -> Iterator[tuple[int, int]]:
        """Lists what to watch, and for what."""
        events = select.POLLIN if self._outbox.is_empty else select.POLLIN | select.POLLOUT
        yield self._pipe.fileno(), events
        yield self._process.sentinel, select.POLLIN

    def can_take(self, most: int) -> bool:
        """Tells whether a task may be given; after a death they go one by one."""
        return len(self.tasks) < most and not self._careful and not self._is_large()

    def give(self, task: Task) -> None:
        """Adds a task to what the process has to do."""
        self.tasks.append(task)
        self._send_more()

    def _send_more(self) -> None:
        """Sends tasks that wait: all, or the first alone where one of them may kill."""
        most = 1 if self._careful else len(self.tasks)
        while self._given < min(most, len(self.tasks)):
            task = self.tasks[self._given]
            self._given += 1
            self._outbox.put((task.number, task.content))

    def answers(self) -> Iterator[tuple[str, int, Any]]:
        """Yields what the process has answered since."""
        self._outbox.flush()
        for kind, number, answer in self._inbox.messages():
            if kind == "ready":
                self.ready = time.monotonic()
                continue
            self._settle(number)
            yield kind, number, answer

    def _settle(self, number: int) -> None:
        """Strikes a task off."""
        if self.tasks and self.tasks[0].number == number:
            self.tasks.popleft()
            self._given -= 1
            self._answered += 1
            self._careful.discard(number)
            self._send_more()

    def is_dead(self) -> bool:
        """Tells whether the process has ended and all that it said is known."""
        if not self._inbox.is_ended and self._process.exitcode is None:
            return False
        self._process.join(_GRACE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return True

    def check_start(self) -> None:
        """Refuses to start again what cannot start."""
        code = self._process.exitcode
        if self.ready is not None or code < 0:
            return
        if code == _UNGUARDED:
            raise WorkerError(
                "the main script starts worker processes while a worker imports it: put "
                'what it does under if __name__ == "__main__":, or pass num_workers=0'
            )
        raise WorkerError(
            f"worker {self.number} (pid {self.pid}) could not start ({self.cause()}); "
            "what it wrote to standard error says why"
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

    def is_done_for(self) -> bool:
        """Tells whether the process has grown too large and has nothing left to do."""
        return not self.tasks and self._is_large()

    def _is_large(self) -> bool:
        """Tells whether the process has grown beyond the memory it may have."""
        most = self._start.most_bytes
        return bool(most and self._answered) and _resident(self.pid) > most

    def restart(self) -> None:
        """Starts the process again; what it had to do goes to it one by one."""
        self.part()
        self.end()
        self._launch()
        self._careful = {task.number for task in self.tasks}
        self._given = 0
        self._send_more()

    def kill(self) -> None:
        """Ends a process that does not listen."""
        self._process.kill()

    def part(self) -> None:
        """Closes the pipe, which ends a process that waits for work."""
        self._pipe.close()

    def end(self) -> None:
        """Waits for the process to end, with growing emphasis."""
        self._process.join(_GRACE)
        for stop in (self._process.terminate, self._process.kill):
            if self._process.exitcode is None:
                stop()
                self._process.join(_GRACE / 4)
        self._process.join()
        self._process.close()


def _resident(pid: int) -> int:
    """Reads how much memory a process has, in bytes; 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
