"""What a worker process does: it takes tasks from its pipe and answers in their order."""

from __future__ import annotations

import ctypes
import os
import pickle
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._failure import caught
from seqloom.data.loader._wire import pack, receive, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    Answer = Callable[[Any], Any]

_PARENT_DIED = 1  # prctl's PR_SET_PDEATHSIG
_LOOK = 0.3


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is for.

    Args:
        answer: Makes an answer of a task.
        init: Called with the worker's number before the first task.
        dataset: What ``torch.utils.data.get_worker_info`` shows.
        check: Called first of all; raises where the process is not as it should be.

    Examples:
        >>> Job(abs).answer(-1)
        1
    """

    answer: Answer
    init: Callable[[int], Any] | None = None
    dataset: Any = None
    check: Callable[[], Any] | None = None


class Sealed:
    """An object that is opened by the worker's own code, so that failing to is an answer.

    Args:
        content: The object; a forked worker gets it as it is.

    Examples:
        >>> Sealed([1]).open()
        [1]
    """

    def __init__(self, content: Any) -> None:
        self._content = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _Closed, (bytes(ForkingPickler.dumps(self._content)),)

    def open(self) -> Any:
        """Takes the object out."""
        return self._content


class _Closed(Sealed):
    """A sealed object in another process."""

    def open(self) -> Any:
        """Unpickles the object."""
        return pickle.loads(self._content)  # noqa: S301 - of our own process


@dataclass(frozen=True, slots=True)
class Place:
    """Which worker this is.

    Args:
        number: From 0.
        count: How many there are.
        parent: The process that must live on.
        seed: Of the loader.
        is_child_of_main_thread: Whether the system can watch the parent.

    Examples:
        >>> Place(0, 2, os.getpid(), 0, True).count
        2
    """

    number: int
    count: int
    parent: int
    seed: int
    is_child_of_main_thread: bool


def work(sealed: Sealed, pipe: socket.socket, place: Place) -> None:
    """Answers tasks until the other end of the pipe is closed."""
    _settle(place)
    answers = _Answers(pipe)
    try:
        job = sealed.open()
        _begin(job, place)
    except BaseException as error:  # noqa: BLE001 - whatever a user's code raises
        send(pipe, pack(("broken", None, caught(error))))
        return
    # At once: a process that ends in its first task must not look as if it never began.
    with suppress(OSError):  # the parent may want nothing any more
        send(pipe, pack(("ready", None, None)))
    _serve(job.answer, pipe, answers)


def _settle(place: Place) -> None:
    """Leaves interrupts to the parent, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["SEQLOOM_NUM_THREADS"] = "1"
    if sys.platform == "linux" and place.is_child_of_main_thread:
        ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)
    threading.Thread(target=_follow, args=(os.getppid(), place.parent), daemon=True).start()


def _follow(starter: int, parent: int) -> None:
    """Ends this process when the one that started it, or that it serves, has gone."""
    while os.getppid() == starter and _lives(parent):
        time.sleep(_LOOK)
    os._exit(1)


def _lives(pid: int) -> bool:
    """Tells whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _begin(job: Job, place: Place) -> None:
    """Makes the process ready for the user's code."""
    from threadpoolctl import threadpool_limits

    if job.check is not None:
        job.check()
    threadpool_limits(1)
    _tell_torch(job, place)
    if job.init is not None:
        job.init(place.number)


def _tell_torch(job: Job, place: Place) -> None:
    """Makes torch's ``get_worker_info()`` right, where the user's code loaded torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    torch.set_num_threads(1)
    try:
        from torch.utils.data._utils import worker

        info = worker.WorkerInfo(
            id=place.number,
            num_workers=place.count,
            seed=place.seed + place.number,
            dataset=job.dataset,
        )
        setattr(worker, "_worker_info", info)  # noqa: B010 - its name says that it is torch's
    except (ImportError, AttributeError, TypeError):
        return


@dataclass(slots=True)
class _Answers:
    """Sends answers while the next task is worked on."""

    pipe: socket.socket
    waiting: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._send, daemon=True).start()

    def put(self, answer: Any) -> None:
        """Hands an answer over."""
        self.waiting.put(answer)

    def _send(self) -> None:
        """Sends answers for ever; the parent may have gone in between."""
        try:
            while True:
                send(self.pipe, _packed(self.waiting.get()))
        except OSError:
            return


def _packed(answer: Any) -> Any:
    """Writes an answer, or why it cannot be written."""
    try:
        return pack(answer)
    except BaseException as error:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return pack(("failed", answer[1], caught(error)))


def _serve(answer: Answer, pipe: socket.socket, answers: _Answers) -> None:
    """Answers one task after the other."""
    while True:
        try:
            number, task = receive(pipe)
        except (EOFError, OSError):
            return
        try:
            answers.put(("done", number, answer(task)))
        except BaseException as error:  # noqa: BLE001 - whatever a user's code raises
            answers.put(("failed", number, caught(error)))
