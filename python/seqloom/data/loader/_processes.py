"""Worker processes that make batches, and are restarted if they die."""

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
    PickledError,
    SealedJob,
    WorkerIdentity,
    WorkerJob,
    pack_message,
    receive_message,
    run_worker,
    send_message,
    unpack_message,
)
from seqloom.errors import ArgumentError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from seqloom.data.loader._order import Request
    from seqloom.data.loader._settings import LoaderSettings

# Exit code of a worker if the main script, which it imports, would start workers again.
_UNGUARDED_EXIT_CODE = 77
# A process that has not ended this number of seconds after its pipe was closed is
# terminated.
_EXIT_TIMEOUT = 2.0
_MAX_CRASHES = 3
# Seconds between checks whether a process has started; the timeout begins at its start.
_POLL_INTERVAL = 1.0
_START_TIMEOUT = 60.0

# Locked while a process starts, so that no other thread forks a process that inherits
# the pipe. A process that this thread forks while it holds the lock can release the
# lock too.
_START_LOCK = threading.RLock()
_OPEN_POOLS: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def _close_all_pools() -> None:
    """Stop all workers at exit, because workers that multiprocessing ends would restart."""
    for pool in list(_OPEN_POOLS):
        pool.close()


multiprocessing.util.Finalize(None, _close_all_pools, exitpriority=0)


@dataclass(slots=True, eq=False)
class WorkerTask:
    """A request to a worker process, and its answer."""

    request: Request
    worker: Worker
    answer: Future[list[memoryview]] = field(default_factory=Future["list[memoryview]"])


class WorkerPool:
    """Worker processes; the batches of an epoch that ended early are dropped."""

    def __init__(self, make: Callable[[Request], Any], settings: LoaderSettings) -> None:
        self._settings = settings
        self._pid: int | None = os.getpid()  # None after `close`
        self.workers: list[Worker] = []
        start = ProcessStart(make, settings)
        try:
            for number in range(settings.workers.num_workers):
                self.workers.append(Worker(start, number))
        except BaseException:
            self.close()
            raise
        _OPEN_POOLS.add(self)
        # Start threads last, because forking a process with threads is unsafe.
        for worker in self.workers:
            worker.thread.start()

    def __del__(self) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """True if the pool can be used; False for a copy in a forked process."""
        return self._pid == os.getpid()

    def close(self) -> None:
        """Stop all processes; pending batches become errors."""
        if not self.is_open:
            return
        self._pid = None
        for worker in self.workers:
            worker.close()
        for worker in self.workers:
            worker.end()

    def start(self, request: Request) -> Callable[[], Any]:
        """Send a request to a worker; return a function that waits for the batch."""
        number = request.worker
        candidates = self.workers if number is None else [self.workers[number]]
        worker = min(candidates, key=lambda one: len(one.tasks))
        task = WorkerTask(request, worker)
        worker.add(task)
        return lambda: self._wait_for_batch(task)

    def _wait_for_batch(self, task: WorkerTask) -> Any:
        timeout, worker = self._settings.workers.timeout, task.worker
        begin = time.monotonic()
        while True:
            with suppress(TimeoutError):  # `result` may raise a TimeoutError of custom code
                task.answer.exception(min(_POLL_INTERVAL, timeout or _POLL_INTERVAL))
                break
            ready = worker.ready  # a process that is still starting has no deadline
            limit = timeout if ready is not None else timeout + _START_TIMEOUT
            if timeout and time.monotonic() - max(begin, ready or begin) > limit:
                pid, about = worker.kill(), task.request.describe(self._settings.dataset)
                raise WorkerError(
                    f"worker {worker.number} (pid {pid}) has not answered for {limit:g} "
                    f"seconds, while working on {about}; pass a longer timeout, or find "
                    "the slow code"
                )
        answer = unpack_message(task.answer.result())
        if isinstance(answer, PickledError):
            about = task.request.describe(self._settings.dataset)
            return FailedBatch(answer.rebuild(where=about))
        return answer


class Worker:
    """A worker process, its requests, and the thread that receives its batches."""

    def __init__(self, start: ProcessStart, number: int) -> None:
        self._start, self.number = start, number
        self.tasks: deque[WorkerTask] = deque()  # Requests without an answer, in order.
        self._sent_count = 0  # Number of requests sent to the process.
        # After a crash, this number of requests is sent one by one, to find the cause.
        self._suspect_count = 0
        self._deaths = 0  # number of crashes since the last batch
        self._is_too_large = False
        self._error: BaseException | None = None  # set when no more answers will come
        self._lock = threading.RLock()
        self._launch_process()
        self.thread = threading.Thread(
            target=self._receive_all, name=f"seqloom-worker-{number}", daemon=True
        )

    def _launch_process(self) -> None:
        """Start the process with one end of a new pipe."""
        self.ready: float | None = None
        with _START_LOCK:
            self._pipe, theirs = socket.socketpair()
            with theirs:
                try:
                    self._process: Any = self._start.launch(theirs, self.number)
                except BaseException:
                    self._pipe.close()
                    raise
        self.pid: int = self._process.pid

    def add(self, task: WorkerTask) -> None:
        """Add a request; send it unless an earlier request must be answered first."""
        with self._lock:
            self.tasks.append(task)
            if self._error is None:
                self._send_requests()
            else:
                self._fail_all(self._error)

    def _send_requests(self) -> None:
        """Send all requests; after a crash, send one at a time to find the cause."""
        limit = min(1, len(self.tasks)) if self._suspect_count else len(self.tasks)
        while self._sent_count < limit and not self._is_too_large:
            self._sent_count += 1
            with suppress(OSError):  # the receiving thread handles the crash
                send_message(
                    self._pipe, pack_message(self.tasks[self._sent_count - 1].request)
                )

    def _fail_all(self, error: BaseException) -> None:
        """Answer all pending and future requests with an error."""
        with self._lock:
            self._error, self._sent_count = error, 0
            while self.tasks:
                self.tasks.popleft().answer.set_exception(error)

    def _receive_all(self) -> None:
        """Receive answers, and restart the process after a crash."""
        try:
            while self._pipe.fileno() != -1:  # until the pipe is closed
                with suppress(EOFError, OSError):
                    self._receive_answers()
                with suppress(OSError):
                    self._pipe.shutdown(socket.SHUT_RDWR)
                code = self._join_process()
                with self._lock:
                    self._pipe.close()
                    self._restart(code)
        except BaseException as error:  # noqa: BLE001 - raised when a batch is due
            self._fail_all(error)

    def _receive_answers(self) -> None:
        """Receive answers until the process must be replaced."""
        failure = unpack_message(receive_message(self._pipe))
        if failure is not None:
            self._fail_all(failure.rebuild(where=f"while worker {self.number} started"))
            return
        self.ready = time.monotonic()
        while self._sent_count or not self._is_too_large:
            parts = receive_message(self._pipe)
            with self._lock:
                if self._error is not None:  # `close` was called
                    return
                task = self.tasks.popleft()
                self._sent_count -= 1
                self._suspect_count = max(0, self._suspect_count - 1)
                self._deaths = 0
                most = self._start.settings.max_bytes
                self._is_too_large = 0 < most < resident_memory(self.pid)
                self._send_requests()
            task.answer.set_result(parts)

    def _join_process(self) -> int:
        """Wait for the process to end; terminate or kill it if it does not."""
        self._process.join(_EXIT_TIMEOUT)
        for stop in (self._process.terminate, self._process.kill):
            if self._process.is_alive():
                stop()
                self._process.join(_EXIT_TIMEOUT / 4)
        self._process.join()
        with _START_LOCK:  # another thread may be waiting for this process
            code: int = self._process.exitcode
            self._process.close()
        return code

    def _restart(self, code: int) -> None:
        """Restart the process with its requests, unless it crashes repeatedly."""
        if self._error is not None:
            return
        if self.ready is None and code >= 0:
            self._fail_all(self._start_error(code))
            return
        if not self._is_too_large:
            self._deaths += 1
        begun = 0 if self.ready is None else self._sent_count
        if self._deaths == _MAX_CRASHES:
            where = "before it began a request"
            if begun:
                about = self.tasks[0].request.describe(self._start.settings.dataset)
                where = f"while working on {about}"
            error = WorkerError(
                f"worker {self.number} (pid {self.pid}) died {_MAX_CRASHES} times "
                f"({_describe_exit(code)}), {where}; pass num_workers=0 to run it "
                "in this process, with a debugger"
            )
            if not begun:
                self._fail_all(error)
                return
            self.tasks.popleft().answer.set_exception(error)
            self._deaths, begun = 0, begun - 1
        self._suspect_count = max(self._suspect_count, begun)
        self._sent_count, self._is_too_large = 0, False
        self._launch_process()
        self._send_requests()

    def _start_error(self, code: int) -> WorkerError:
        """Return the error of a process that ended before it was ready."""
        if code == _UNGUARDED_EXIT_CODE:
            return WorkerError(
                "the main script starts worker processes when a worker imports it: move "
                'its code under if __name__ == "__main__":, or pass num_workers=0'
            )
        return WorkerError(
            f"worker {self.number} (pid {self.pid}) could not start "
            f"({_describe_exit(code)}); the reason is in its standard error"
        )

    def kill(self) -> int:
        """Kill a process that does not answer; return its pid."""
        with self._lock:
            with suppress(ValueError):  # the process has already ended
                self._process.kill()
            return self.pid

    def close(self) -> None:
        """Close the pipe; a waiting process then ends."""
        with self._lock:
            error = WorkerError(
                "the worker processes were closed before this batch was made: by close(), "
                "or because another pass over the loader failed"
            )
            self._fail_all(error)
            # `close` is not enough, because a forked process may have the pipe open
            # too.
            with suppress(OSError):
                self._pipe.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Wait for the process and its thread to end."""
        if self.thread.ident is None:
            self._join_process()
            self._pipe.close()
        elif self.thread is not threading.current_thread():
            self.thread.join()


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class ProcessStart:
    """Starts worker processes."""

    def __init__(self, make: Callable[[Request], Any], settings: LoaderSettings) -> None:
        self.settings = settings
        self._job = WorkerJob(
            make, settings.workers.worker_init_fn, settings.dataset, settings.check_worker
        )

    def launch(self, pipe: socket.socket, number: int) -> Any:
        """Start a process with one end of a pipe."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(_UNGUARDED_EXIT_CODE)  # the main script would start workers again
        workers = self.settings.workers
        context: Any = workers.context or "spawn"
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        is_main = threading.current_thread() is threading.main_thread()
        identity = WorkerIdentity(
            number, workers.num_workers, os.getpid(), self.settings.seed, is_main
        )
        process = context.Process(
            target=run_worker,
            args=(SealedJob(self._job), pipe, identity),
            name=f"seqloom-worker-{number}",
            daemon=True,
        )
        with _child_environment(self.settings.environment):
            try:
                process.start()
            except (AttributeError, PicklingError, RecursionError, TypeError) as error:
                raise self._pickle_error(error) from error
        return process

    def _pickle_error(self, error: Exception) -> ArgumentError:
        """Return an error that lists the arguments that cannot be pickled."""
        parts = {
            "dataset": self.settings.dataset,
            "collate_fn": self.settings.collate,
            "worker_init_fn": self.settings.workers.worker_init_fn,
        }
        names = [name for name, part in parts.items() if not _is_sendable(part)]
        return ArgumentError(
            f"{' and '.join(names) or 'the loader'} cannot be sent to a worker process "
            f"({error}): define it with def or class at the top of a module that a new "
            "process can import (not with lambda, not in a function); or pass "
            'num_workers=0, or multiprocessing_context="fork"'
        )


def _is_sendable(part: Any) -> bool:
    """Return whether an argument can be pickled; True for locks of multiprocessing."""
    try:
        ForkingPickler.dumps(part)
    except RuntimeError:
        return True
    except Exception:  # noqa: BLE001 - any exception of a custom __reduce__
        return False
    return True


@contextmanager
def _child_environment(variables: Mapping[str, str]) -> Generator[None]:
    """Set environment variables for processes started in the block."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)
