"""What a worker process does: it answers the requests from its pipe in their order."""

from __future__ import annotations

import importlib.util
import os
import pickle
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from seqloom._system import follow_parent, is_running
from seqloom.data.loader._failure import Failure
from seqloom.data.loader._wire import pack, receive, send

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

    from seqloom.data.loader._request import Request

    Answer = Callable[[Request], Any]

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
    if identity.is_child_of_main_thread:
        follow_parent()
    threading.Thread(
        target=_watch, args=(os.getppid(), identity.parent), daemon=True
    ).start()


def _watch(starter: int, parent: int) -> None:
    """Ends this process when the one that started it, or that it serves, has gone."""
    while os.getppid() == starter and is_running(parent):
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def _prepare(job: WorkerJob, identity: WorkerIdentity) -> None:
    """Prepares the process for a user's code."""
    from threadpoolctl import threadpool_limits

    if job.check is not None:
        job.check()
    threadpool_limits(1)
    _set_worker_info(job, identity)
    if job.init is not None:
        job.init(identity.number)


# The module of PyTorch whose ``_worker_info`` is what ``get_worker_info()`` returns.
_TORCH_WORKER = "torch.utils.data._utils.worker"


def _set_worker_info(job: WorkerJob, identity: WorkerIdentity) -> None:
    """Makes torch's ``get_worker_info()`` right, also where torch is imported later."""

    def set_info(worker: Any) -> None:
        sys.modules["torch"].set_num_threads(1)
        with suppress(AttributeError, TypeError):  # another version of torch
            worker._worker_info = worker.WorkerInfo(  # noqa: SLF001 - it has no other way
                id=identity.number,
                num_workers=identity.count,
                seed=identity.seed + identity.number,
                dataset=job.dataset,
            )

    if _TORCH_WORKER in sys.modules:
        set_info(sys.modules[_TORCH_WORKER])
    elif "torch" in sys.modules:
        with suppress(ImportError):
            set_info(importlib.import_module(_TORCH_WORKER))
    else:
        sys.meta_path.insert(0, _AfterImport(_TORCH_WORKER, set_info))


class _AfterImport(MetaPathFinder):
    """Calls a function on a module as soon as that module has been imported."""

    def __init__(self, name: str, call: Callable[[Any], None]) -> None:
        self._name, self._call = name, call

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Finds the module as the import system would, and adds the call to its loader."""
        del path, target  # part of the protocol
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_call(module: Any) -> None:
                run(module)
                self._call(module)

            spec.loader.exec_module = run_and_call
        return spec


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
