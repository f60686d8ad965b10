"""Working ahead in threads, results in order."""

from __future__ import annotations

import itertools
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD = 2


def mapped(
    function: Callable[[Task], Result], tasks: Iterable[Task], num_workers: int
) -> Iterator[Result]:
    """Calls a function on each task, some results ahead of the caller, in order."""
    if not num_workers:
        return map(function, tasks)
    return _ahead(function, iter(tasks), num_workers)


def _ahead(
    function: Callable[[Task], Result], tasks: Iterator[Task], num_workers: int
) -> Iterator[Result]:
    """Works ahead; the threads end when this does, also where the caller leaves early."""
    pool = ThreadPoolExecutor(num_workers, "seqloom-loader")
    try:
        first = itertools.islice(tasks, _AHEAD * num_workers)
        waiting = deque(pool.submit(function, task) for task in first)
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(
                pool.submit(function, task) for task in itertools.islice(tasks, 1)
            )
            yield result
    finally:
        pool.shutdown(cancel_futures=True)
