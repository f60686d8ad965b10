"""Who makes batches: this thread, several threads, or processes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from seqloom._rust import _native
from seqloom._threads import count_cores
from seqloom.data.loader._failure import Raised, attempt
from seqloom.data.loader._prefetch import in_flight, mapped
from seqloom.data.loader._ring import RING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom.data.loader._arguments import Service
    from seqloom.data.loader._process import Start
    from seqloom.data.loader._workers import Workers


@dataclass(slots=True)
class Work:
    """One batch to be made.

    Args:
        content: What it is made of; goes to a worker process where need be.
        tag: What the caller wants back with it.
        worker: The only process that can make it; None lets any.

    Examples:
        >>> Work([1, 2]).worker
    """

    content: Any
    tag: Any = None
    worker: int | None = None


@dataclass(slots=True)
class Crew:
    """Worker processes that may outlive an epoch.

    Args:
        service: How many, and how patient.
        start: How a process comes to be.
        describe: Names the records of what a batch is made of.

    Examples:
        >>> from seqloom.data.loader._arguments import Service
        >>> from seqloom.data.loader._process import Start
        >>> from seqloom.data.loader._worker_main import Job
        >>> crew = Crew(Service(num_workers=1), Start(Job(abs), method="fork"))
        >>> [answer for _, answer in crew.serve([Work(-2)])]
        [2]
    """

    service: Service
    start: Start
    describe: Callable[[Any], str] = repr
    _workers: Workers | None = field(init=False, default=None)

    def serve(self, works: Iterable[Work]) -> Iterator[tuple[Work, Any]]:
        """Yields batches, or what they raised, in order; keeps processes that persist."""
        from seqloom.data.loader._workers import Task

        workers = self._ready()
        is_whole = False
        try:
            tasks = (Task(work.content, work.worker, work) for work in works)
            for task, answer in workers.run(tasks):
                yield task.tag, answer
            is_whole = True
        except GeneratorExit:
            is_whole = True
            raise
        finally:
            if not (is_whole and self.service.persistent):
                self.close()

    def _ready(self) -> Workers:
        """Takes the processes that are there, or starts them; a forked child has none."""
        from seqloom.data.loader._workers import Workers

        if self._workers is not None and self._workers.pid == os.getpid():
            return self._workers
        self._workers = Workers(
            self.start,
            count=self.service.num_workers,
            ahead=self.service.ahead,
            timeout=self.service.timeout,
            describe=self.describe,
        )
        return self._workers

    def close(self) -> None:
        """Ends the processes."""
        workers, self._workers = self._workers, None
        if workers is not None and workers.pid == os.getpid():
            workers.close()


class Drafting(Protocol):
    """Makes batches, and may know how threads make them without the interpreter.

    Examples:
        >>> from seqloom.data.loader._fetch import Fetch
        >>> make: Drafting = Fetch([1, 2], None)
        >>> make.can_draft
        False
    """

    @property
    def can_draft(self) -> bool:
        """Whether it knows."""
        ...

    def beginner(self, maker: _native.BatchMaker) -> Callable[[Any], Callable[[], Any]]:
        """Gives what lets such threads begin with a batch, and then waits for it."""
        ...


def serve_here(
    make: Any, works: Iterable[Work], service: Service
) -> Iterator[tuple[Work, Any]]:
    """Makes batches, or finds what they raise, in threads or when they are asked for."""
    if service.num_workers and getattr(make, "can_draft", False):
        return _drafted(make, works, service)
    return mapped(
        lambda work: (work, attempt(make, work.content)),
        works,
        service.num_workers,
        ahead=service.ahead,
        timeout=service.timeout,
    )


def _drafted(
    make: Drafting, works: Iterable[Work], service: Service
) -> Iterator[tuple[Work, Any]]:
    """Has batches made by threads that never wait for the interpreter."""
    # One core is left for the thread that asks: it reads, and makes what none has begun.
    threads = min(service.num_workers, max(1, count_cores() - 1))
    begin = make.beginner(_native.BatchMaker(RING, threads))

    def started(work: Work) -> Callable[[], tuple[Work, Any]]:
        wait = attempt(begin, work.content)
        return lambda: (work, wait if isinstance(wait, Raised) else attempt(wait))

    return in_flight(started, works, service.ahead)
