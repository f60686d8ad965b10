"""Worker processes that make the batches of requests; one that dies is started again."""

from __future__ import annotations

import multiprocessing.util
import os
import signal
import socket
import threading
import time
import weakref
from collections import deque
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

from seqloom._system import resident_memory
from seqloom.data.loader._order import FailedBatch
from seqloom.data.loader._worker import (
    Failure,
    SealedJob,
    WorkerIdentity,
    WorkerJob,
    pack,
    receive,
    send,
    unpack,
    work,
)
from seqloom.errors import ArgumentError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from seqloom.data.loader._order import Request
    from seqloom.data.loader._settings import LoaderSettings

# A process that ends like this ran the main script, which started workers once more.
_UNGUARDED = 77
# A process whose pipe is closed ends after its batch, unless a user's code never returns.
_GRACE = 2.0
_MAX_DEATHS = 3
# How often a wait checks whether its process has started: from then on the timeout counts.
_LOOK_SECONDS = 1.0
_START_SECONDS = 60.0

# While a process starts, no other thread forks one, which would inherit its pipe. A child
# that is forked meanwhile owns the lock, as its parent did.
_STARTING = threading.RLock()
_POOLS: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _close_all() -> None:
    """End all workers before multiprocessing does, so that none is started again."""
    for pool in list(_POOLS):
        pool.close()


multiprocessing.util.Finalize(None, _close_all, exitpriority=0)


@dataclass(slots=True, eq=False)
class Task:
    """A request that a worker process answers."""

    request: Request
    worker: Worker
    answer: Future[list[memoryview]] = field(default_factory=Future["list[memoryview]"])


class WorkerPool:
    """Several worker processes; answers of an epoch that was left early are dropped."""

    def __init__(self, make: Callable[[Request], Any], settings: LoaderSettings) -> None:
        self._settings = settings
        self._pid: int | None = os.getpid()  # None when closed
        self.workers: list[Worker] = []
        start = ProcessStart(make, settings)
        try:
            for number in range(settings.workers.num_workers):
                self.workers.append(Worker(start, number))
        except BaseException:
            self.close()
            raise
        _POOLS.add(self)
        # Later, so that no process is forked from a process with more threads.
        for worker in self.workers:
            worker.thread.start()

    def __del__(self) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether it answers; that of a process that forked this one does not."""
        return self._pid == os.getpid()

    def close(self) -> None:
        """End all processes; batches that are not made yet are errors."""
        if not self.is_open:
            return
        self._pid = None
        for worker in self.workers:
            worker.close()
        for worker in self.workers:
            worker.end()

    def start(self, request: Request) -> Callable[[], Any]:
        """Send a request to a worker; the result waits for its batch."""
        number = request.worker
        candidates = self.workers if number is None else [self.workers[number]]
        worker = min(candidates, key=lambda one: len(one.tasks))
        task = Task(request, worker)
        worker.add(task)
        return lambda: self._finish(task)

    def _finish(self, task: Task) -> Any:
        """Wait for a batch, or the exception that its worker has raised."""
        timeout, worker = self._settings.workers.timeout, task.worker
        begin = time.monotonic()
        while True:
            with suppress(TimeoutError):  # `result` may raise that of a user's code
                task.answer.exception(min(_LOOK_SECONDS, timeout or _LOOK_SECONDS))
                break
            ready = worker.ready  # the start of a process has more time
            limit = timeout if ready is not None else timeout + _START_SECONDS
            if timeout and time.monotonic() - max(begin, ready or begin) > limit:
                pid, about = worker.kill(), task.request.describe(self._settings.dataset)
                raise WorkerError(
                    f"worker {worker.number} (pid {pid}) has not answered for {limit:g} "
                    f"seconds, at work on {about}; pass a longer timeout, or find out what "
                    "takes so long there"
                )
        answer = unpack(task.answer.result())
        if isinstance(answer, Failure):
            about = task.request.describe(self._settings.dataset)
            return FailedBatch(answer.rebuild(where=about))
        return answer


class Worker:
    """A worker process, its requests, and the thread that receives its answers."""

    def __init__(self, start: ProcessStart, number: int) -> None:
        self._start, self.number = start, number
        self.tasks: deque[Task] = deque()  # without an answer, in the order of requests
        self._sent_count = 0  # how many of them the process has
        # After a death these go one by one, to find the one that kills.
        self._suspect_count = 0
        self._deaths = 0  # since the last answer
        self._is_too_large = False
        self._error: BaseException | None = None  # why there are no more answers
        self._lock = threading.RLock()
        self._launch()
        self.thread = threading.Thread(
            target=self._receive_all, name=f"seqloom-worker-{number}", daemon=True
        )

    def _launch(self) -> None:
        """Start the process at the other end of a new pipe."""
        self.ready: float | None = None
        with _STARTING:
            self._pipe, theirs = socket.socketpair()
            with theirs:
                try:
                    self._process: Any = self._start.launch(theirs, self.number)
                except BaseException:
                    self._pipe.close()
                    raise
        self.pid: int = self._process.pid

    def add(self, task: Task) -> None:
        """Add a request, and send it unless another one must be answered first."""
        with self._lock:
            self.tasks.append(task)
            if self._error is None:
                self._send_more()
            else:
                self._fail(self._error)

    def _send_more(self) -> None:
        """Send requests: all, or only the first where one of them may kill."""
        limit = min(1, len(self.tasks)) if self._suspect_count else len(self.tasks)
        while self._sent_count < limit and not self._is_too_large:
            self._sent_count += 1
            with suppress(OSError):  # the thread that receives notices the death
                send(self._pipe, pack(self.tasks[self._sent_count - 1].request))

    def _fail(self, error: BaseException) -> None:
        """Answer all requests by an error, those that come later too."""
        with self._lock:
            self._error, self._sent_count = error, 0
            while self.tasks:
                self.tasks.popleft().answer.set_exception(error)

    def _receive_all(self) -> None:
        """Receive answers, and start the process again when it has died."""
        try:
            while self._pipe.fileno() != -1:  # not closed, or that of another process
                with suppress(EOFError, OSError):
                    self._receive_answers()
                with suppress(OSError):
                    self._pipe.shutdown(socket.SHUT_RDWR)
                code = self._join()
                with self._lock:
                    self._pipe.close()
                    self._restart(code)
        except BaseException as error:  # noqa: BLE001 - raised again where a batch is due
            self._fail(error)

    def _receive_answers(self) -> None:
        """Receive answers until the process must be replaced by another one."""
        failure = unpack(receive(self._pipe))
        if failure is not None:
            self._fail(failure.rebuild(where=f"while worker {self.number} started"))
            return
        self.ready = time.monotonic()
        while self._sent_count or not self._is_too_large:
            parts = receive(self._pipe)
            with self._lock:
                if self._error is not None:  # the pool was closed meanwhile
                    return
                task = self.tasks.popleft()
                self._sent_count -= 1
                self._suspect_count = max(0, self._suspect_count - 1)
                self._deaths = 0
                most = self._start.settings.most_bytes
                self._is_too_large = 0 < most < resident_memory(self.pid)
                self._send_more()
            task.answer.set_result(parts)

    def _join(self) -> int:
        """Wait for the process to end; terminates it, then kills it, if it does not."""
        self._process.join(_GRACE)
        for stop in (self._process.terminate, self._process.kill):
            if self._process.is_alive():
                stop()
                self._process.join(_GRACE / 4)
        self._process.join()
        with _STARTING:  # a process that starts may have asked how this one ended
            code: int = self._process.exitcode
            self._process.close()
        return code

    def _restart(self, code: int) -> None:
        """Start the process again with its requests, unless it dies each time."""
        if self._error is not None:
            return
        if self.ready is None and code >= 0:
            self._fail(self._start_error(code))
            return
        if not self._is_too_large:
            self._deaths += 1
        begun = 0 if self.ready is None else self._sent_count
        if self._deaths == _MAX_DEATHS:
            where = "before it began a request"
            if begun:
                about = self.tasks[0].request.describe(self._start.settings.dataset)
                where = f"at work on {about}"
            error = WorkerError(
                f"worker {self.number} (pid {self.pid}) died {_MAX_DEATHS} times "
                f"({_describe_end(code)}), {where}; pass num_workers=0 to do the same work "
                "in this process, for a debugger"
            )
            if not begun:
                self._fail(error)
                return
            self.tasks.popleft().answer.set_exception(error)
            self._deaths, begun = 0, begun - 1
        self._suspect_count = max(self._suspect_count, begun)
        self._sent_count, self._is_too_large = 0, False
        self._launch()
        self._send_more()

    def _start_error(self, code: int) -> WorkerError:
        """Make the error of a process that ended before it was ready."""
        if code == _UNGUARDED:
            return WorkerError(
                "the main script starts worker processes while a worker imports it: move "
                'its code under if __name__ == "__main__":, or pass num_workers=0'
            )
        return WorkerError(
            f"worker {self.number} (pid {self.pid}) could not start "
            f"({_describe_end(code)}); the reason is in its standard error"
        )

    def kill(self) -> int:
        """Kill a process that does not answer; returns its number."""
        with self._lock:
            with suppress(ValueError):  # it has ended
                self._process.kill()
            return self.pid

    def close(self) -> None:
        """Close the pipe, which ends a process that waits for a request."""
        with self._lock:
            error = WorkerError(
                "the worker processes were closed before this batch was made: by close(), "
                "or because another pass over the loader failed"
            )
            self._fail(error)
            # Not `close`: a process that was forked meanwhile may have the pipe too.
            with suppress(OSError):
                self._pipe.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Wait for the process and its thread to end."""
        if self.thread.ident is None:
            self._join()
            self._pipe.close()
        elif self.thread is not threading.current_thread():
            self.thread.join()


def _describe_end(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class ProcessStart:
    """How a worker process starts."""

    def __init__(self, make: Callable[[Request], Any], settings: LoaderSettings) -> None:
        self.settings = settings
        self._job = WorkerJob(
            make, settings.workers.worker_init_fn, settings.dataset, settings.check_worker
        )

    def launch(self, pipe: socket.socket, number: int) -> Any:
        """Start one of the processes, with its end of a pipe."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(_UNGUARDED)  # the main script starts workers in a worker
        workers = self.settings.workers
        context: Any = workers.context or "spawn"
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        is_main = threading.current_thread() is threading.main_thread()
        identity = WorkerIdentity(
            number, workers.num_workers, os.getpid(), self.settings.seed, is_main
        )
        process = context.Process(
            target=work,
            args=(SealedJob(self._job), pipe, identity),
            name=f"seqloom-worker-{number}",
            daemon=True,
        )
        with _environment(self.settings.environment):
            try:
                process.start()
            except (AttributeError, PicklingError, RecursionError, TypeError) as error:
                raise self._pickle_error(error) from error
        return process

    def _pickle_error(self, error: Exception) -> ArgumentError:
        """Say which argument cannot be sent, and what to do."""
        parts = {
            "dataset": self.settings.dataset,
            "collate_fn": self.settings.collate,
            "worker_init_fn": self.settings.workers.worker_init_fn,
        }
        names = [name for name, part in parts.items() if not _is_sendable(part)]
        return ArgumentError(
            f"{' and '.join(names) or 'the loader'} cannot be sent to a worker process "
            f"({error}): define it with def or class at the top of a module, where a new "
            "process can import it, not as a lambda or inside a function; or pass "
            'num_workers=0, or multiprocessing_context="fork"'
        )


def _is_sendable(part: Any) -> bool:
    """Try to pickle an argument; locks can be pickled only while a process starts."""
    try:
        ForkingPickler.dumps(part)
    except RuntimeError:
        return True
    except Exception:  # noqa: BLE001 - any exception of a user's __reduce__
        return False
    return True


@contextmanager
def _environment(variables: Mapping[str, str]) -> Generator[None]:
    """Set environment variables for a process that is started in the block."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)
