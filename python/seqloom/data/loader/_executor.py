"""Make batches in this thread, in other threads, or in processes."""

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
from seqloom.data._encoder import REUSED_MEMORY
from seqloom.data.loader._order import FailedBatch, Request
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

    from seqloom.data.loader._processes import WorkerPool
    from seqloom.data.loader._settings import LoaderSettings

    MadeBatches = Generator[tuple[Request, Any]]
    FinishBatch = Callable[[], Any]  # waits for a batch and returns it

# Part of the random key for custom code. A new value changes the random numbers of that
# code.
_KEY_DOMAIN = "a user's code"
_END_OF_TASKS: Any = object()  # marks the end of an iterator


class BatchFunction(ABC):
    """Makes the batch of a request, if possible in Rust threads without the interpreter."""

    @property
    @abstractmethod
    def supports_native_batches(self) -> bool:
        """True if Rust threads can make the batches."""

    @abstractmethod
    def __call__(self, request: Request, /) -> Any:
        """Return the batch of a request."""

    @abstractmethod
    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], FinishBatch]:
        """Return a function that starts a batch in the threads of ``maker``."""


class Executor:
    """Makes the requested batches in order: in this thread, in threads or in processes.

    Batches are made in threads if all classes involved declare ``supports_threads``.
    """

    def __init__(
        self,
        make: Callable[[Request], Any],
        settings: LoaderSettings,
        *,
        is_stateful: bool = False,  # if True, workers are processes
    ) -> None:
        self._settings = settings
        self._native = make if isinstance(make, BatchFunction) else None
        is_shared = settings.supports_threads
        needs_process = is_stateful or not is_shared
        self.uses_processes = needs_process and settings.workers.num_workers > 0
        draws = not is_stateful and not is_shared
        self._make = partial(_make_seeded_batch, make, settings.seed) if draws else make
        self._pool: WorkerPool | None = None  # persistent worker processes

    def run(self, requests: Iterable[Request]) -> MadeBatches:
        """Yield each request with its batch, or with a ``FailedBatch`` for an exception."""
        if not self._settings.workers.num_workers:
            return ((request, call_or_catch(self._make, request)) for request in requests)
        if self.uses_processes:
            return self._run_in_processes(requests)
        if self._native is not None and self._native.supports_native_batches:
            return self._run_in_native_threads(self._native, requests)
        return self._run_in_threads(requests)

    def _run_in_threads(self, requests: Iterable[Request]) -> MadeBatches:
        """Make batches ahead in Python threads; the threads end with this generator."""
        workers = self._settings.workers
        pool = ThreadPoolExecutor(workers.num_workers, "seqloom-loader")

        def start(request: Request) -> FinishBatch:
            future = pool.submit(call_or_catch, self._make, request)
            return partial(_wait_for_result, future, workers.timeout)

        try:
            yield from _run_ahead(start, requests, workers.ahead)
        finally:
            pool.shutdown(wait=not workers.timeout, cancel_futures=True)

    def _run_in_native_threads(
        self, make: BatchFunction, requests: Iterable[Request]
    ) -> MadeBatches:
        """Make batches ahead in Rust threads, which never wait for the interpreter."""
        workers = self._settings.workers
        # Leave one core for this thread, which also makes batches while it waits.
        threads = min(workers.num_workers, max(1, count_cores() - 1))
        start_batch = make.starter(_native.BatchMaker(REUSED_MEMORY, threads))

        def start(request: Request) -> FinishBatch:
            finish = call_or_catch(start_batch, request)
            if isinstance(finish, FailedBatch):
                return lambda: finish
            return partial(call_or_catch, finish)

        return _run_ahead(start, requests, workers.ahead)

    def _run_in_processes(self, requests: Iterable[Request]) -> MadeBatches:
        """Make batches ahead in new or persistent processes."""
        from seqloom.data.loader._processes import WorkerPool

        workers, pool = self._settings.workers, self._pool
        if pool is None or not pool.is_open:
            pool = WorkerPool(self._make, self._settings)
        if workers.persistent:
            self._pool = pool
        is_usable = False
        try:
            yield from _run_ahead(pool.start, requests, workers.ahead)
            is_usable = True
        except GeneratorExit:
            is_usable = True
            raise
        finally:
            if not (is_usable and workers.persistent):
                pool.close()

    def close(self) -> None:
        """Stop persistent processes."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


def call_or_catch(make: Callable[..., Any], *content: Any) -> Any:
    """Call a function; return its exception as a `FailedBatch`."""
    try:
        return make(*content)
    except StopIteration as error:
        # Inside the generator of the loader, a StopIteration would silently end the
        # epoch.
        stopped = WorkerError("an item, or its collate_fn, raised StopIteration")
        stopped.__cause__ = error
        return FailedBatch(stopped)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        return FailedBatch(error)


def _run_ahead(
    start: Callable[[Request], FinishBatch], requests: Iterable[Request], ahead: int
) -> MadeBatches:
    """Yield batches in order, while up to ``ahead`` later batches are being made."""
    process = os.getpid()
    starting = _start_all(start, requests)
    started = deque(islice(starting, ahead))
    while started:
        if os.getpid() != process:
            raise WorkerError(
                "an epoch that began before a fork cannot continue after it: begin a new "
                "pass over the loader in the forked process"
            )
        request, finish = started.popleft()
        started.extend(islice(starting, 1))
        yield request, finish()


def _start_all(
    start: Callable[[Request], FinishBatch], requests: Iterable[Request]
) -> Iterator[tuple[Request, FinishBatch]]:
    """Start batches lazily, so that earlier batches precede a sampler's exception."""
    try:
        for request in requests:
            yield request, start(request)
    except Exception as error:  # noqa: BLE001 - raised again when its batch is due
        yield Request(None), partial(_raise, error)


def _raise(error: Exception) -> Any:
    raise error


def _wait_for_result(future: Future[Any], timeout: float) -> Any:
    try:
        future.exception(timeout or None)
    except TimeoutError as error:
        raise WorkerError(
            f"a worker thread did not make its batch within {timeout:g} seconds; pass a "
            "longer timeout"
        ) from error
    return future.result()


def _make_seeded_batch(make: Callable[[Request], Any], seed: int, request: Request) -> Any:
    """Return a batch whose random numbers are determined by its position in the epoch."""
    with _seed_generators(Key(seed, _KEY_DOMAIN, request.epoch, request.place)):
        return make(request)


def seed_each(batches: Iterator[Any], *words: int) -> Iterator[Any]:
    """Yield batches; seed the global generators before each batch is made."""
    seed, *rest = words
    key, number = Key(seed, _KEY_DOMAIN, *rest), 0
    while True:
        with _seed_generators(key.fold(number)):
            batch = next(batches, _END_OF_TASKS)
        if batch is _END_OF_TASKS:
            return
        yield batch
        number += 1


@contextmanager
def _seed_generators(key: Key) -> Generator[None]:
    """Seed the global generators from a key, and restore them afterwards."""
    bits = key.bits(10)
    torch_generator = getattr(sys.modules.get("torch"), "default_generator", None)
    python_state, numpy_state = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - of custom code
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
