"""Makes batches in the order of their requests: here, in threads or in processes."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from seqloom._rust import _native
from seqloom._system import count_cores
from seqloom.data._encoder import RING
from seqloom.data.loader._request import FailedBatch, Request
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._worker_pool import WorkerPool

    Answers = Generator[tuple[Request, Any]]
    Finish = Callable[[], Any]  # waits for a batch

_SHOWN = 8  # records of a batch that an error names


def attempt(make: Callable[..., Any], *content: Any) -> Any:
    """Calls a function, and returns its exception as a value."""
    try:
        return make(*content)
    except StopIteration as error:
        # Raised by the loader's own generator, it would silently end the epoch.
        stopped = WorkerError("an item, or its collate_fn, raised StopIteration")
        stopped.__cause__ = error
        return FailedBatch(stopped)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        return FailedBatch(error)


class NativeMaker(Protocol):
    """Makes batches; threads of Rust may do so without the interpreter."""

    @property
    def supports_native_batches(self) -> bool:
        """Whether threads of Rust can make its batches."""
        ...

    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], Finish]:
        """Returns a function that starts a batch in the threads of ``maker``."""
        ...


class Executor:
    """Makes the batches of requests, in their order: here, in threads or in processes."""

    def __init__(
        self,
        make: Callable[[Request], Any],
        settings: LoaderSettings,
        *,
        in_processes: bool | None = None,  # None: where a user's code makes batches
    ) -> None:
        self._make: Any = make
        self._settings = settings
        needs_processes = not settings.is_ours if in_processes is None else in_processes
        self._in_processes = bool(settings.workers.num_workers) and needs_processes
        self._pool: WorkerPool | None = None

    def run(self, requests: Iterable[Request]) -> Answers:
        """Yields each request with its batch; ``FailedBatch`` in place of an exception."""
        if self._in_processes:
            return self._run_in_processes(requests)
        if not self._settings.workers.num_workers:
            return self._run_here(requests)
        if getattr(self._make, "supports_native_batches", False):
            return self._run_in_native_threads(self._make, requests)
        return self._run_in_threads(requests)

    def _run_here(self, requests: Iterable[Request]) -> Answers:
        """Makes each batch in this thread, when it is asked for."""
        make = self._make
        for request in requests:
            yield request, attempt(make, request)

    def _run_in_threads(self, requests: Iterable[Request]) -> Answers:
        """Makes batches ahead in threads of Python, which end with this generator."""
        workers = self._settings.workers
        pool = ThreadPoolExecutor(workers.num_workers, "seqloom-loader")

        def start(request: Request) -> Finish:
            future = pool.submit(attempt, self._make, request)
            return partial(_result, future, workers.timeout)

        try:
            yield from _in_flight(start, requests, workers.ahead)
        finally:
            pool.shutdown(wait=not workers.timeout, cancel_futures=True)

    def _run_in_native_threads(
        self, make: NativeMaker, requests: Iterable[Request]
    ) -> Answers:
        """Makes batches ahead in threads that never wait for the interpreter."""
        workers = self._settings.workers
        # One core is left for this thread, which reads, and makes batches while it waits.
        threads = min(workers.num_workers, max(1, count_cores() - 1))
        start_batch = make.starter(_native.BatchMaker(RING, threads))

        def start(request: Request) -> Finish:
            finish = attempt(start_batch, request)
            if isinstance(finish, FailedBatch):
                return lambda: finish
            return partial(attempt, finish)

        return _in_flight(start, requests, workers.ahead)

    def _run_in_processes(self, requests: Iterable[Request]) -> Answers:
        """Makes batches in processes, which may outlive the epoch."""
        pool = self._find_pool()
        is_usable = False
        try:
            yield from pool.run(requests)
            is_usable = True
        except GeneratorExit:
            is_usable = True
            raise
        finally:
            if not (is_usable and self._settings.workers.persistent):
                self.close()

    def _find_pool(self) -> WorkerPool:
        """Returns the running processes, or starts them; a forked child has none."""
        from seqloom.data.loader._worker_pool import WorkerPool, start_of

        if self._pool is None or self._pool.pid != os.getpid():
            workers = self._settings.workers
            self._pool = WorkerPool(
                start_of(self._make, self._settings),
                count=workers.num_workers,
                ahead=workers.ahead,
                timeout=workers.timeout,
                describe=partial(describe, self._settings.dataset),
            )
        return self._pool

    def close(self) -> None:
        """Ends the processes."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.close()


def _in_flight(
    start: Callable[[Request], Finish], requests: Iterable[Request], ahead: int
) -> Answers:
    """Starts up to ``ahead`` batches before the one that is waited for is taken."""
    starting = _start_all(start, requests)
    started = deque(islice(starting, ahead))
    while started:
        request, finish = started.popleft()
        started.extend(islice(starting, 1))
        yield request, finish()


def _start_all(
    start: Callable[[Request], Finish], requests: Iterable[Request]
) -> Iterator[tuple[Request, Finish]]:
    """Starts each batch when it is taken; an error of the order waits for its turn."""
    try:
        for request in requests:
            yield request, start(request)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        yield Request(None), partial(_raise, error)


def _raise(error: Exception) -> Any:
    """Raises an error that has waited."""
    raise error


def _result(future: Future[Any], timeout: float) -> Any:
    """Waits for a batch, at most as long as the loader's timeout."""
    try:
        return future.result(timeout or None)
    except TimeoutError as error:
        if future.done():
            raise
        raise WorkerError(
            f"a worker thread did not make its batch within {timeout:g} seconds; pass a "
            "longer timeout"
        ) from error


def describe(dataset: Any, request: Request) -> str:
    """Names the records of a batch for an error."""
    about = getattr(request.content, "about", None)
    if about:
        return about
    if about is not None or request.worker is not None:
        return f"batch {request.content} of worker {request.worker}, epoch {request.epoch}"
    if request.stream_state is not None:
        return f"batch {request.position - 1} of epoch {request.epoch}"
    return _name_records(dataset, request.content)


def _name_records(dataset: Any, content: Any) -> str:
    """Names the first records of a batch, by position and, where there is one, by id."""
    rows: list[Any] = [*content] if hasattr(content, "__len__") else [content]
    shown = ", ".join(map(str, rows[:_SHOWN]))
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    find_ids = getattr(dataset, "ids_of", None)
    if find_ids is None:
        return f"records {shown}{more}"
    ids = ", ".join(find_ids([int(row) for row in rows[:_SHOWN]]))
    return f"records {shown}{more} ({ids})"
