"""Worker processes: batches in order, whatever becomes of the workers."""

from __future__ import annotations

import itertools
import os
import select
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from seqloom.data.loader._failure import Raised
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom.data.loader._process import Process, Start

_DEATHS = 3
_LOOK = 1.0
_START = 60.0


@dataclass(slots=True, eq=False)
class Task:
    """One batch to be made.

    Args:
        content: What the worker is sent.
        worker: The only worker that can do it; None lets any.
        tag: What the caller wants back with the answer; stays here.
        number: Its place among all tasks of these workers.
        deaths: How many workers died while they had it.

    Examples:
        >>> Task("rows").deaths
        0
    """

    content: Any
    worker: int | None = None
    tag: Any = None
    number: int = -1
    deaths: int = 0


@dataclass(slots=True)
class _Run:
    """One epoch's tasks: those that are out, and the answers that wait for their turn."""

    tasks: Iterator[Task]
    out: deque[Task] = field(default_factory=deque[Task])
    answers: dict[int, tuple[str, Any]] = field(default_factory=dict[int, tuple[str, Any]])
    next: Task | None = None

    def peek(self) -> Task | None:
        """Shows the next task that nobody has."""
        if self.next is None:
            self.next = next(self.tasks, None)
        return self.next


class Workers:
    """Processes that answer tasks in order; one that dies is started again.

    Args:
        start: How to start a process.
        count: How many.
        ahead: How many tasks may be out or waiting for their turn.
        timeout: Seconds to wait for an answer; 0 waits for ever.
        describe: Names the records of a task's content.

    Examples:
        >>> from seqloom.data.loader._process import Start
        >>> from seqloom.data.loader._worker_main import Job
        >>> with Workers(Start(Job(abs), method="fork"), count=2) as workers:
        ...     [answer for _, answer in workers.run(map(Task, [-1, -2, -3]))]
        [1, 2, 3]
    """

    def __init__(
        self,
        start: Start,
        *,
        count: int,
        ahead: int | None = None,
        timeout: float = 0,
        describe: Callable[[Any], str] = repr,
    ) -> None:
        self._ahead = 2 * count if ahead is None else ahead
        self._timeout = timeout
        self._describe = describe
        self._numbers = itertools.count()
        self.pid = os.getpid()
        self.processes: list[Process] = []
        try:
            for number in range(count):
                self.processes.append(start.process(number, count))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all processes."""
        for process in self.processes:
            process.part()
        for process in self.processes:
            process.end()

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yields tasks with their answers, in order.

        Answers to tasks of an earlier run that was left are thrown away.

        Args:
            tasks: The tasks; they are taken as far as workers can work ahead.

        Yields:
            Each task and its answer; ``Raised`` where the task raised an exception.

        Raises:
            WorkerError: A task killed its worker three times, or took too long.
        """
        run = _Run(iter(tasks))
        self._hand_out(run)
        while run.out or run.peek() is not None:
            if not run.out:
                self._look(run, _LOOK)
                self._hand_out(run)
                continue
            task = run.out[0]
            self._wait(run, task)
            run.out.popleft()
            kind, answer = run.answers.pop(task.number)
            self._hand_out(run)
            if kind == "failed":
                answer = Raised(answer.error_of(where=self._describe(task.content)))
            yield task, answer

    def _hand_out(self, run: _Run) -> None:
        """Gives tasks to the workers with the least to do."""
        while len(run.out) < self._ahead and (task := run.peek()) is not None:
            process = self._free(task)
            if process is None:
                return
            task.number = next(self._numbers)
            run.out.append(task)
            run.next = None
            process.give(task)

    def _free(self, task: Task) -> Process | None:
        """Finds who can take a task now."""
        most = -(-self._ahead // len(self.processes))
        able = [
            process
            for process in self.processes
            if task.worker in {None, process.number} and process.can_take(most)
        ]
        return min(able, key=lambda process: len(process.tasks), default=None)

    def _wait(self, run: _Run, task: Task) -> None:
        """Waits until a task has its answer, looking after all workers meanwhile."""
        begin = time.monotonic()
        while task.number not in run.answers:
            self._look(run, _LOOK if not self._timeout else min(_LOOK, self._timeout))
            self._hand_out(run)
            if self._timeout:
                self._check_time(task, begin)

    def _check_time(self, task: Task, begin: float) -> None:
        """Gives up on a worker that does not answer; its start has a time of its own."""
        process = next((one for one in self.processes if task in one.tasks), None)
        if process is None:
            return
        ready = process.ready
        limit = self._timeout if ready is not None else self._timeout + _START
        if time.monotonic() - max(begin, ready or begin) > limit:
            process.kill()
            raise WorkerError(
                f"worker {process.number} (pid {process.pid}) has not answered for "
                f"{limit:g} seconds, at work on {self._describe(task.content)}; "
                "pass a longer timeout, or look at what it does there"
            )

    def _look(self, run: _Run, seconds: float) -> None:
        """Waits for something to happen to a worker, and deals with it."""
        poll = select.poll()
        by_file: dict[int, Process] = {}
        for process in self.processes:
            for file, events in process.files():
                by_file[file] = process
                poll.register(file, events)
        events = poll.poll(seconds * 1000)
        touched = {by_file[file] for file, _ in events} if events else set(self.processes)
        for process in sorted(touched, key=lambda one: one.number):
            self._attend(run, process)

    def _attend(self, run: _Run, process: Process) -> None:
        """Takes a worker's answers, or starts it again where it has died."""
        mine = {task.number for task in run.out}
        for kind, number, answer in process.answers():
            if kind == "broken":
                raise answer.error_of(where=f"while worker {process.number} started")
            if number in mine:
                run.answers[number] = (kind, answer)
        if process.is_dead():
            self._restart(process, mine)
        elif process.is_done_for():
            process.restart()

    def _restart(self, process: Process, mine: set[int]) -> None:
        """Starts a worker again with what it had to do, unless that kills it each time."""
        process.check_start()
        process.tasks = deque(task for task in process.tasks if task.number in mine)
        for task in process.tasks:
            task.deaths += 1
        if process.tasks and process.tasks[0].deaths >= _DEATHS:
            raise WorkerError(
                f"worker {process.number} (pid {process.pid}) died {_DEATHS} times "
                f"({process.cause()}), at work on "
                f"{self._describe(process.tasks[0].content)}; "
                "num_workers=0 does the same work where a debugger sees it"
            )
        process.restart()
