"""The main function of worker processes, and the messages to and from them.

A message consists of a pickle and of the arrays that the pickle refers to, preceded by
their number and sizes. Messages are unpickled only from pipes, never from files.
"""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import queue
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._system import end_with_parent, is_running
from seqloom.data._encoder import allocate_batch
from seqloom.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

    from seqloom.data.loader._order import Request

_WATCH_INTERVAL = 0.3
_UINT64_FORMAT = struct.Struct("<Q")
# Minimum size of a buffer, in bytes, for which memory is reused.
_MIN_REUSED_BYTES = 1 << 16
Part = memoryview | bytes


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """The functions that a worker process calls."""

    make: Callable[[Request], Any]
    init: Callable[[int], Any] | None = None  # Called with the number of the worker.
    dataset: Any = None  # For `torch.utils.data.get_worker_info`.
    check: Callable[[], Any] | None = None  # Called before the first batch; may raise.


class SealedJob:
    """A pickled job; the worker unpickles it, so that errors are sent as answers."""

    def __init__(self, content: Any) -> None:
        # A `WorkerJob`, or its pickle in a worker that was not forked.
        self._content = content

    def __reduce__(self) -> tuple[Any, ...]:
        return SealedJob, (bytes(ForkingPickler.dumps(self._content)),)

    def open(self) -> WorkerJob:
        """Unpickle the job."""
        content = self._content
        return pickle.loads(content) if isinstance(content, bytes) else content  # noqa: S301 - from our own process


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Number, seed and parent process of a worker."""

    number: int  # worker number, from 0
    count: int
    parent: int  # Pid of the process that receives the batches.
    seed: int
    is_child_of_main_thread: bool  # If True, Linux can signal the parent's end.


def run_worker(sealed: SealedJob, pipe: socket.socket, identity: WorkerIdentity) -> None:
    """Send the batches of requests in order, until the pipe is closed."""
    _follow_parent(identity)
    try:
        job = sealed.open()
        _prepare_worker(job, identity)
    except BaseException as error:  # noqa: BLE001 - any exception of custom code
        send_message(pipe, pack_message(PickledError.of(error)))
        return
    requests = queue.SimpleQueue[Any]()
    threading.Thread(target=_receive_all, args=(pipe, requests), daemon=True).start()
    sender = ThreadPoolExecutor(1)  # A batch is sent while the next batch is made.
    with suppress(OSError):  # The parent may have ended.
        # This message distinguishes a failed start from a crash in the first request.
        send_message(pipe, pack_message(None))
    while (request := requests.get()) is not None:
        try:
            answer: Any = job.make(request)
        except BaseException as error:  # noqa: BLE001 - any exception of custom code
            answer = PickledError.of(error)
        sender.submit(_send_answer, pipe, answer)
        del answer


def _receive_all(pipe: socket.socket, requests: queue.SimpleQueue[Any]) -> None:
    """Receive requests in a thread, so that the sender never waits for a batch."""
    try:
        while True:
            requests.put(unpack_message(receive_message(pipe)))
    except (EOFError, OSError):
        requests.put(None)


def _send_answer(pipe: socket.socket, answer: Any) -> None:
    """Send a batch, or the error of pickling it."""
    try:
        parts = pack_message(answer)
    except BaseException as error:  # noqa: BLE001 - any exception of a custom __reduce__
        parts = pack_message(PickledError.of(error))
    send_message(pipe, parts)


def _follow_parent(identity: WorkerIdentity) -> None:
    """Ignore interrupts, and end with the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ["SEQLOOM_NUM_THREADS"] = "1"
    if identity.is_child_of_main_thread:
        end_with_parent()
    threading.Thread(
        target=_watch_parent, args=(os.getppid(), identity.parent), daemon=True
    ).start()


def _watch_parent(starter: int, parent: int) -> None:
    """End this process when the process that started it or reads its batches has ended."""
    while os.getppid() == starter and is_running(parent):
        time.sleep(_WATCH_INTERVAL)
    os._exit(1)


def _prepare_worker(job: WorkerJob, identity: WorkerIdentity) -> None:
    from threadpoolctl import threadpool_limits

    if job.check is not None:
        job.check()
    threadpool_limits(1)
    _set_worker_info(job, identity)
    if job.init is not None:
        job.init(identity.number)


# The PyTorch module whose ``_worker_info`` is returned by ``get_worker_info()``.
_TORCH_MODULE = "torch.utils.data._utils.worker"


def _set_worker_info(job: WorkerJob, identity: WorkerIdentity) -> None:
    """Set the result of PyTorch's ``get_worker_info()``; PyTorch may be imported later."""

    def set_info(worker: Any) -> None:
        sys.modules["torch"].set_num_threads(1)
        with suppress(AttributeError, TypeError):  # missing in some versions of PyTorch
            worker._worker_info = worker.WorkerInfo(  # noqa: SLF001 - there is no public API
                id=identity.number,
                num_workers=identity.count,
                seed=identity.seed + identity.number,
                dataset=job.dataset,
            )

    if _TORCH_MODULE in sys.modules:
        set_info(sys.modules[_TORCH_MODULE])
    elif "torch" in sys.modules:
        with suppress(ImportError):
            set_info(importlib.import_module(_TORCH_MODULE))
    else:
        sys.meta_path.insert(0, _ImportHook(_TORCH_MODULE, set_info))


class _ImportHook(MetaPathFinder):
    """Calls a function with a module after the module is imported."""

    def __init__(self, name: str, call: Callable[[Any], None]) -> None:
        self._name, self._call = name, call

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find the module, and make its loader call the function."""
        del path, target  # required by `MetaPathFinder`
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


@dataclass(frozen=True, slots=True)
class PickledError:
    """A pickled exception for another process."""

    kinds: tuple[bytes, ...]  # The exception class and its base classes, pickled.
    error: bytes | None  # The pickled exception, if possible.
    message: str
    trace: str
    pid: int

    @classmethod
    def of(cls, error: BaseException) -> PickledError:
        """Pickle an exception, with its traceback as text."""
        kinds = [kind for kind in type(error).__mro__ if issubclass(kind, BaseException)]
        pickled = (_pickle(kind) for kind in kinds if kind is not BaseException)
        is_known = _pickle(type(error)) is not None
        return cls(
            kinds=tuple(kind for kind in pickled if kind is not None),
            error=_pickle(error),
            message=str(error) if is_known else f"{type(error).__qualname__}: {error}",
            trace="".join(traceback.format_exception(error)),
            pid=os.getpid(),
        )

    def rebuild(self, *, where: str) -> BaseException:
        """Return the exception, with the worker's traceback as its cause."""
        error = self._make_error()
        error.__cause__ = WorkerError(f'\n"""\n{self.trace}"""')
        error.add_note(f"in worker process {self.pid}, {where}")
        return error

    def _make_error(self) -> BaseException:
        """Return the exception, or one of a base class if it cannot be created."""
        if self.error is not None:
            return pickle.loads(self.error)  # noqa: S301 - from our own process
        for pickled in self.kinds:
            kind = pickle.loads(pickled)  # noqa: S301 - see above
            # The `__init__` of the exception may need arguments that are unknown.
            with suppress(Exception):
                error = kind.__new__(kind, self.message)
                if str(error):
                    return error
        return WorkerError(self.message)


def _pickle(value: Any) -> bytes | None:
    """Return the pickled value; None if it cannot be pickled and unpickled."""
    try:
        raw = pickle.dumps(value)
        pickle.loads(raw)  # noqa: S301 - written in the line above
    except Exception:  # noqa: BLE001 - any exception of a custom __reduce__
        return None
    return raw


def pack_message(message: Any) -> list[Part]:
    """Return a message: the pickle of an object, and its arrays without a copy."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _Pickler(file, buffers.append).dump(message)
    parts: list[Part] = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
    sizes = b"".join(_UINT64_FORMAT.pack(len(part)) for part in parts)
    return [_UINT64_FORMAT.pack(len(parts)) + sizes, *parts]


class _Pickler(pickle.Pickler):
    """Pickles like multiprocessing, but pickles tensors as arrays."""

    def __init__(
        self, file: io.BytesIO, keep: Callable[[pickle.PickleBuffer], Any]
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)
        self.dispatch_table = ForkingPickler(io.BytesIO()).dispatch_table

    def reducer_override(self, obj: Any) -> Any:
        """Reduce tensors in memory to arrays; leave other objects to pickle."""
        torch: Any = sys.modules.get("torch")
        if torch is None or type(obj) is not torch.Tensor:
            return NotImplemented
        if obj.is_nested and obj.layout is torch.strided and obj.device.type == "cpu":
            return torch.nested.as_nested_tensor, (obj.unbind(),)
        is_in_memory = obj.device.type == "cpu" and str(obj.layout) == "torch.strided"
        is_special = obj.requires_grad or obj.is_quantized or obj.is_conj()
        if is_special or not is_in_memory:
            return NotImplemented
        flat = obj.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        return _to_tensor, (flat, str(obj.dtype).removeprefix("torch."), tuple(obj.shape))


def _to_tensor(flat: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> Any:
    import torch

    kind = getattr(torch, dtype)
    if not flat.size:
        return torch.empty(shape, dtype=kind)
    return torch.from_numpy(flat).view(kind).reshape(shape)  # pyright: ignore[reportUnknownMemberType]


def send_message(target: socket.socket, parts: list[Part]) -> None:
    """Send a message; return after the last byte is sent."""
    for part in parts:
        target.sendall(part)


def receive_message(source: socket.socket) -> list[memoryview]:
    """Receive a message; raise EOFError if the other process has closed the pipe."""
    count = _UINT64_FORMAT.unpack(_receive_part(source, _UINT64_FORMAT.size))[0]
    sizes = _UINT64_FORMAT.iter_unpack(_receive_part(source, count * _UINT64_FORMAT.size))
    return [_receive_part(source, size) for (size,) in sizes]


def _receive_part(source: socket.socket, size: int) -> memoryview:
    """Receive one buffer of a message."""
    # Large buffers reuse the memory of earlier batches.
    large = size >= _MIN_REUSED_BYTES
    part = allocate_batch((size,), np.uint8).data if large else memoryview(bytearray(size))
    filled = 0
    while filled < size:
        # Read all bytes in one call if possible, because each call waits for the GIL.
        count = source.recv_into(part[filled:], size - filled, socket.MSG_WAITALL)
        if not count:
            raise EOFError
        filled += count
    return part


def unpack_message(parts: list[memoryview]) -> Any:
    """Restore the object that a message contains."""
    head, *buffers = parts
    return pickle.loads(head, buffers=buffers)  # noqa: S301 - from our own process
