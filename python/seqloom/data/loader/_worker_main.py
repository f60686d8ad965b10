"""What a worker process does: it answers the requests from its pipe in their order."""

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

from seqloom.data.loader._failure import Failure
from seqloom.data.loader._wire import pack, receive, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from seqloom.data.loader._request import Request

    Answer = Callable[[Request], Any]

_PARENT_DIED = 1  # prctl's PR_SET_PDEATHSIG
_LOOK_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """What a worker process does."""

    answer: Answer
    init: Callable[[int], Any] | None = None  # called with the worker's number
    dataset: Any = None  # for `torch.utils.data.get_worker_info`
    check: Callable[[], Any] | None = None  # called first; raises an error


class SealedJob:
    """A job that the worker itself unpickles, so that an error there is an answer."""

    def __init__(self, content: Any) -> None:
        self._content = content  # pickled, except in a forked worker

    def __reduce__(self) -> tuple[Any, ...]:
        return _PickledJob, (bytes(ForkingPickler.dumps(self._content)),)

    def open(self) -> Any:
        """Returns the job."""
        return self._content


class _PickledJob(SealedJob):
    """A job that was pickled for another process."""

    def open(self) -> Any:
        """Unpickles the job."""
        return pickle.loads(self._content)  # noqa: S301 - of our own process


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Which worker this is."""

    number: int  # from 0
    count: int
    parent: int  # the pid of the process that it serves
    seed: int  # of the loader
    is_child_of_main_thread: bool  # then Linux can watch the parent


def work(sealed: SealedJob, pipe: socket.socket, identity: WorkerIdentity) -> None:
    """Answers requests until the other end of the pipe is closed."""
    _follow_parent(identity)
    answers = _AnswerSender(pipe)
    try:
        job = sealed.open()
        _prepare(job, identity)
    except BaseException as error:  # noqa: BLE001 - whatever a user's code raises
        send(pipe, pack(("broken", None, Failure.of(error))))
        return
    # A process that dies in its first request must not look as if it could not start.
    with suppress(OSError):  # the parent may have ended
        send(pipe, pack(("ready", None, None)))
    _answer_all(job.answer, pipe, answers)


def _follow_parent(identity: WorkerIdentity) -> None:
    """Leaves interrupts to the parent process, and ends when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["SEQLOOM_NUM_THREADS"] = "1"
    if sys.platform == "linux" and identity.is_child_of_main_thread:
        ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)
    threading.Thread(
        target=_watch, args=(os.getppid(), identity.parent), daemon=True
    ).start()


def _watch(starter: int, parent: int) -> None:
    """Ends this process when the one that started it, or that it serves, has gone."""
    while os.getppid() == starter and _exists(parent):
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def _exists(pid: int) -> bool:
    """Tells whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _prepare(job: WorkerJob, identity: WorkerIdentity) -> None:
    """Prepares the process for a user's code."""
    from threadpoolctl import threadpool_limits

    if job.check is not None:
        job.check()
    threadpool_limits(1)
    _set_worker_info(job, identity)
    if job.init is not None:
        job.init(identity.number)


def _set_worker_info(job: WorkerJob, identity: WorkerIdentity) -> None:
    """Makes torch's ``get_worker_info()`` right, where the user's code loaded torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    torch.set_num_threads(1)
    try:
        from torch.utils.data._utils import worker

        info = worker.WorkerInfo(
            id=identity.number,
            num_workers=identity.count,
            seed=identity.seed + identity.number,
            dataset=job.dataset,
        )
        setattr(worker, "_worker_info", info)  # noqa: B010 - its name says that it is torch's
    except (ImportError, AttributeError, TypeError):
        return


@dataclass(slots=True)
class _AnswerSender:
    """Sends answers in a thread, while the next request is answered."""

    pipe: socket.socket
    waiting: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._send, daemon=True).start()

    def put(self, answer: Any) -> None:
        """Adds an answer."""
        self.waiting.put(answer)

    def _send(self) -> None:
        """Sends answers until the parent has ended."""
        try:
            while True:
                send(self.pipe, _pack_answer(self.waiting.get()))
        except OSError:
            return


def _pack_answer(answer: Any) -> Any:
    """Pickles an answer, or the error that this raised."""
    try:
        return pack(answer)
    except BaseException as error:  # noqa: BLE001 - whatever a user's __reduce__ may raise
        return pack(("failed", answer[1], Failure.of(error)))


def _answer_all(answer: Answer, pipe: socket.socket, answers: _AnswerSender) -> None:
    """Answers one request after the other."""
    while True:
        try:
            request = receive(pipe)
        except (EOFError, OSError):
            return
        try:
            answers.put(("done", request.number, answer(request)))
        except BaseException as error:  # noqa: BLE001 - whatever a user's code raises
            answers.put(("failed", request.number, Failure.of(error)))
