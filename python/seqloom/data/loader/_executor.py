"""Makes batches in the order of their requests: here, in threads or in processes."""

from __future__ import annotations

import os
import random
import sys
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom._rust import _native
from seqloom._system import count_cores
from seqloom.data._encoder import RING
from seqloom.data.loader._order import FailedBatch, Request
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

    from seqloom.data.loader._processes import WorkerPool
    from seqloom.data.loader._settings import LoaderSettings

    Answers = Generator[tuple[Request, Any]]
    Finish = Callable[[], Any]  # waits for a batch

# The key domain of random numbers that a user's code draws; our own code has others.
_KEY_DOMAIN = "a user's code"
_END: Any = object()  # what follows the last batch


class BatchMaker(ABC):
    """Makes the batch of a request; threads of Rust may do so without the interpreter."""

    @property
    @abstractmethod
    def supports_native_batches(self) -> bool:
        """Whether threads of Rust can make its batches."""

    @abstractmethod
    def __call__(self, request: Request, /) -> Any:
        """Make a batch."""

    @abstractmethod
    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], Finish]:
        """Return a function that starts a batch in the threads of ``maker``."""


class Executor:
    """Makes the batches of requests, in their order: here, in threads or in processes.

    Threads make them if all code that takes part declares that threads may share it.
    """

    def __init__(
        self,
        make: Callable[[Request], Any],  # Rust may make the batches of a `BatchMaker`
        settings: LoaderSettings,
        *,
        is_stateful: bool = False,  # each worker needs a `make` and a process of its own
    ) -> None:
        self._settings = settings
        self._native = make if isinstance(make, BatchMaker) else None
        is_shared = settings.supports_threads
        needs_process = is_stateful or not is_shared
        self.uses_processes = needs_process and settings.workers.num_workers > 0
        draws = not is_stateful and not is_shared
        self._make = partial(_make_drawing, make, settings.seed) if draws else make
        self._pool: WorkerPool | None = None  # of processes that persist

    def run(self, requests: Iterable[Request]) -> Answers:
        """Yield each request with its batch; ``FailedBatch`` in place of an exception."""
        if not self._settings.workers.num_workers:
            return ((request, attempt(self._make, request)) for request in requests)
        if self.uses_processes:
            return self._run_in_processes(requests)
        if self._native is not None and self._native.supports_native_batches:
            return self._run_in_native_threads(self._native, requests)
        return self._run_in_threads(requests)

    def _run_in_threads(self, requests: Iterable[Request]) -> Answers:
        """Make batches ahead in threads of Python, which end with this generator."""
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
        self, make: BatchMaker, requests: Iterable[Request]
    ) -> Answers:
        """Make batches ahead in threads that never wait for the interpreter."""
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
        """Make batches ahead in processes: those of this pass, or those that persist."""
        from seqloom.data.loader._processes import WorkerPool

        workers, pool = self._settings.workers, self._pool
        if pool is None or not pool.is_open:
            pool = WorkerPool(self._make, self._settings)
        if workers.persistent:
            self._pool = pool
        is_usable = False
        try:
            yield from _in_flight(pool.start, requests, workers.ahead)
            is_usable = True
        except GeneratorExit:
            is_usable = True
            raise
        finally:
            if not (is_usable and workers.persistent):
                pool.close()

    def close(self) -> None:
        """End the processes that persist."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


def attempt(make: Callable[..., Any], *content: Any) -> Any:
    """Call a function, and return its exception as a value."""
    try:
        return make(*content)
    except StopIteration as error:
        # Raised by the loader's own generator, it would silently end the epoch.
        stopped = WorkerError("an item, or its collate_fn, raised StopIteration")
        stopped.__cause__ = error
        return FailedBatch(stopped)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        return FailedBatch(error)


def _in_flight(
    start: Callable[[Request], Finish], requests: Iterable[Request], ahead: int
) -> Answers:
    """Start up to ``ahead`` batches before the one that is waited for is taken."""
    process = os.getpid()
    starting = _start_all(start, requests)
    started = deque(islice(starting, ahead))
    while started:
        if os.getpid() != process:
            raise WorkerError(
                "an epoch that was begun before a fork cannot go on behind it: begin a new "
                "pass over the loader in the forked process"
            )
        request, finish = started.popleft()
        started.extend(islice(starting, 1))
        yield request, finish()


def _start_all(
    start: Callable[[Request], Finish], requests: Iterable[Request]
) -> Iterator[tuple[Request, Finish]]:
    """Start each batch when it is taken; an error of the order waits for its turn."""
    try:
        for request in requests:
            yield request, start(request)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        yield Request(None), partial(_raise, error)


def _raise(error: Exception) -> Any:
    """Raise an error that has waited."""
    raise error


def _result(future: Future[Any], timeout: float) -> Any:
    """Wait for a batch, at most as long as the loader's timeout."""
    try:
        future.exception(timeout or None)
    except TimeoutError as error:
        raise WorkerError(
            f"a worker thread did not make its batch within {timeout:g} seconds; pass a "
            "longer timeout"
        ) from error
    return future.result()


def _make_drawing(make: Callable[[Request], Any], seed: int, request: Request) -> Any:
    """Make a batch whose random numbers follow from its place in the epoch."""
    with _generators(Key(seed, _KEY_DOMAIN, request.epoch, request.place)):
        return make(request)


def draw_each(batches: Iterator[Any], *words: int) -> Iterator[Any]:
    """Yield batches that are made one after the other, each with its random numbers."""
    seed, *rest = words
    key, number = Key(seed, _KEY_DOMAIN, *rest), 0
    while True:
        with _generators(key.fold(number)):
            batch = next(batches, _END)
        if batch is _END:
            return
        yield batch
        number += 1


@contextmanager
def _generators(key: Key) -> Generator[None]:
    """Let a key decide what the global generators give; afterwards they are as before."""
    bits = key.bits(10)
    torch_generator = getattr(sys.modules.get("torch"), "default_generator", None)
    python_state, numpy_state = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - a user's, not ours
    torch_state = None if torch_generator is None else torch_generator.get_state()
    try:
        random.seed(bits[:4].tobytes())
        np.random.seed(bits[4:8])  # noqa: NPY002, TID251 - see above
        if torch_generator is not None:
            torch_generator.manual_seed(int(bits[8]) << 31 | int(bits[9]) >> 1)
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 - see above
        if torch_generator is not None:
            torch_generator.set_state(torch_state)
