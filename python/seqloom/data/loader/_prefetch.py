"""Working ahead in threads, results in order."""

from __future__ import annotations

import itertools
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

Task = TypeVar("Task")
Result = TypeVar("Result")
Item = TypeVar("Item")

_AHEAD = 2
_PATIENCE = 1.0
_END = object()


def mapped(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    num_workers: int,
    *,
    ahead: int | None = None,
    timeout: float = 0,
) -> Iterator[Result]:
    """Calls a function on each task, some results ahead of the caller, in order."""
    if not num_workers:
        return map(function, tasks)
    most = _AHEAD * num_workers if ahead is None else ahead
    return _ahead(function, iter(tasks), num_workers, most=most, timeout=timeout)


def _ahead(
    function: Callable[[Task], Result],
    tasks: Iterator[Task],
    num_workers: int,
    *,
    most: int,
    timeout: float,
) -> Iterator[Result]:
    """Works ahead; the threads end when this does, also where the caller leaves early."""
    pool = ThreadPoolExecutor(num_workers, "seqloom-loader")
    try:
        yield from in_flight(
            lambda task: partial(_result, pool.submit(function, task), timeout),
            tasks,
            most,
        )
    finally:
        pool.shutdown(wait=not timeout, cancel_futures=True)


def in_flight(
    begin: Callable[[Task], Callable[[], Result]], tasks: Iterable[Task], most: int
) -> Iterator[Result]:
    """Begins tasks ahead of the one that is finished, in order.

    Args:
        begin: Begins a task, and gives what finishes it.
        tasks: The tasks.
        most: How many are begun at a time.

    Yields:
        What finishing each gave.

    Examples:
        >>> list(in_flight(lambda task: lambda: task + 1, [1, 2, 3], 2))
        [2, 3, 4]
    """
    begun = _begun(begin, tasks)
    waiting = deque(itertools.islice(begun, most))
    while waiting:
        finish = waiting.popleft()
        waiting.extend(itertools.islice(begun, 1))
        yield finish()


def _begun(
    begin: Callable[[Task], Callable[[], Result]], tasks: Iterable[Task]
) -> Iterator[Callable[[], Result]]:
    """Begins each task; an error waits for its turn, behind what is whole before it."""
    try:
        for task in tasks:
            yield begin(task)
    except Exception as error:  # noqa: BLE001 - raised again in its turn
        yield partial(_raise, error)


def _raise(error: Exception) -> Any:
    """Raises an error that has waited."""
    raise error


def _result(future: Future[Result], timeout: float) -> Result:
    """Waits for a result, not longer than it may take."""
    try:
        return future.result(timeout or None)
    except TimeoutError as error:
        if future.done():
            raise
        raise WorkerError(
            f"a thread has not made its batch within {timeout:g} seconds; "
            "pass a longer timeout"
        ) from error


def read_ahead(items: Iterable[Item], most: int) -> Generator[Item]:
    """Takes items in a thread of its own, which ends when this does."""
    done, waiting = threading.Event(), queue.Queue[tuple[Any, BaseException | None]](most)
    thread = threading.Thread(
        target=_pump, args=(items, waiting, done), name="seqloom-reader", daemon=True
    )
    thread.start()
    try:
        while (found := waiting.get())[0] is not _END:
            yield found[0]
        if found[1] is not None:
            raise found[1]
    finally:
        done.set()
        _drain(waiting)
        # One that waits for a pipe ends when the pipe does: nobody waits for that. The
        # garbage collector may close this in the thread itself.
        if thread is not threading.current_thread():
            thread.join(_PATIENCE)


def _pump(items: Iterable[Any], waiting: queue.Queue[Any], done: threading.Event) -> None:
    """Hands items over until there are no more, or nobody wants them."""
    error = None
    try:
        for item in items:
            waiting.put((item, None))
            if done.is_set():
                return
    except BaseException as raised:  # noqa: BLE001 - raised again where items are taken
        error = raised
    waiting.put((_END, error))


def _drain(waiting: queue.Queue[Any]) -> None:
    """Makes room for a thread that waits to hand something over."""
    while True:
        try:
            waiting.get_nowait()
        except queue.Empty:
            return
