"""Worker processes that answer requests in order; one that dies is started again."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqloom._system import ready_files
from seqloom.data.loader._request import FailedBatch
from seqloom.data.loader._worker_main import WorkerJob
from seqloom.data.loader._worker_process import ProcessStart, WorkerProcess
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._request import Request

_MOST_DEATHS = 3
_POLL_SECONDS = 1.0
_START_SECONDS = 60.0


def start_of(answer: Callable[[Request], Any], settings: LoaderSettings) -> ProcessStart:
    """Says how the processes of a loader start, and what they do."""
    workers = settings.workers
    job = WorkerJob(answer, workers.worker_init_fn, settings.dataset, settings.check_worker)
    return ProcessStart(
        job,
        method=workers.context or "spawn",
        seed=settings.seed,
        environment=settings.environment,
        parts={
            "dataset": settings.dataset,
            "collate_fn": settings.collate,
            "worker_init_fn": workers.worker_init_fn,
        },
        most_bytes=settings.most_bytes,
    )


@dataclass(slots=True)
class _Epoch:
    """The requests of an epoch: those that are being answered, and answers that wait."""

    requests: Iterator[Request]
    sent: deque[Request] = field(default_factory=deque["Request"])
    answers: dict[int, tuple[str, Any]] = field(default_factory=dict[int, tuple[str, Any]])
    next: Request | None = None

    def peek(self) -> Request | None:
        """Returns the next request that no worker has."""
        if self.next is None:
            self.next = next(self.requests, None)
        return self.next


class WorkerPool:
    """Several worker processes; answers of an epoch that was left early are dropped."""

    def __init__(
        self,
        start: ProcessStart,
        *,
        count: int,
        ahead: int,  # requests that may be sent before the first one is answered
        timeout: float = 0,  # seconds to wait for an answer; 0: no limit
        describe: Callable[[Request], str] = repr,
    ) -> None:
        self._ahead = ahead
        self._timeout = timeout
        self._describe = describe
        self._numbers = itertools.count()
        self.pid = os.getpid()
        self.processes: list[WorkerProcess] = []
        try:
            for number in range(count):
                self.processes.append(WorkerProcess(start, number, count))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends all processes."""
        for process in self.processes:
            process.close_pipe()
        for process in self.processes:
            process.end()

    def run(self, requests: Iterable[Request]) -> Generator[tuple[Request, Any]]:
        """Yields requests with their answers, ``FailedBatch`` for an exception."""
        epoch = _Epoch(iter(requests))
        self._send(epoch)
        while epoch.sent or epoch.peek() is not None:
            if not epoch.sent:
                self._poll(epoch, _POLL_SECONDS)
                self._send(epoch)
                continue
            request = epoch.sent[0]
            self._wait(epoch, request)
            epoch.sent.popleft()
            kind, answer = epoch.answers.pop(request.number)
            self._send(epoch)
            if kind == "failed":
                answer = FailedBatch(answer.rebuild(where=self._describe(request)))
            yield request, answer

    def _send(self, epoch: _Epoch) -> None:
        """Sends requests to the workers that have the fewest."""
        while len(epoch.sent) < self._ahead and (request := epoch.peek()) is not None:
            process = self._find_free(request)
            if process is None:
                return
            request.number = next(self._numbers)
            epoch.sent.append(request)
            epoch.next = None
            process.add(request)

    def _find_free(self, request: Request) -> WorkerProcess | None:
        """Finds a worker that can take a request now."""
        most = -(-self._ahead // len(self.processes))
        able = [
            process
            for process in self.processes
            if request.worker in {None, process.number} and process.can_take(most)
        ]
        return min(able, key=lambda process: len(process.requests), default=None)

    def _wait(self, epoch: _Epoch, request: Request) -> None:
        """Waits until a request is answered, and looks after all workers meanwhile."""
        begin = time.monotonic()
        seconds = min(_POLL_SECONDS, self._timeout or _POLL_SECONDS)
        while request.number not in epoch.answers:
            self._poll(epoch, seconds)
            self._send(epoch)
            if self._timeout:
                self._check_time(request, begin)

    def _check_time(self, request: Request, begin: float) -> None:
        """Raises an error for a worker that takes too long; its start has its own limit."""
        owners = (one for one in self.processes if request in one.requests)
        process = next(owners, None)
        if process is None:
            return
        ready = process.ready
        limit = self._timeout if ready is not None else self._timeout + _START_SECONDS
        if time.monotonic() - max(begin, ready or begin) > limit:
            process.kill()
            raise WorkerError(
                f"worker {process.number} (pid {process.pid}) has not answered for "
                f"{limit:g} seconds, at work on {self._describe(request)}; pass a longer "
                "timeout, or find out what takes so long there"
            )

    def _poll(self, epoch: _Epoch, seconds: float) -> None:
        """Waits until a worker answers or dies, and handles it."""
        by_file: dict[int, WorkerProcess] = {}
        files: dict[int, bool] = {}
        for process in self.processes:
            for file, is_written in process.files():
                by_file[file], files[file] = process, is_written
        ready = ready_files(files, seconds)
        changed = {by_file[file] for file in ready} if ready else set(self.processes)
        for process in sorted(changed, key=lambda one: one.number):
            self._attend(epoch, process)

    def _attend(self, epoch: _Epoch, process: WorkerProcess) -> None:
        """Takes the answers of a worker, and starts it again if it has died."""
        numbers = {request.number for request in epoch.sent}
        for kind, number, answer in process.answers():
            if kind == "broken":
                raise answer.rebuild(where=f"while worker {process.number} started")
            if number in numbers:
                epoch.answers[number] = (kind, answer)
        if process.is_dead():
            self._restart(process, numbers)
        elif process.is_idle_and_large():
            process.restart()

    def _restart(self, process: WorkerProcess, numbers: set[int]) -> None:
        """Starts a worker again with its requests, unless one kills it each time."""
        process.check_start()
        process.requests = deque(
            request for request in process.requests if request.number in numbers
        )
        for request in process.requests:
            request.deaths += 1
        if process.requests and process.requests[0].deaths >= _MOST_DEATHS:
            raise WorkerError(
                f"worker {process.number} (pid {process.pid}) died {_MOST_DEATHS} times "
                f"({process.cause()}), at work on "
                f"{self._describe(process.requests[0])}; pass num_workers=0 to do the same "
                "work in this process, for a debugger"
            )
        process.restart()
