"""Run one job in several processes, on this machine or as tasks of a Ray cluster."""

from __future__ import annotations

import copy
import multiprocessing
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seqloom._arguments import quote
from seqloom._system import block_signals
from seqloom.errors import ArgumentError, MissingExtraError, RunFolderError, WorkerError
from seqloom.infer.embedding._folder import open_folder
from seqloom.infer.embedding._plan import PLAN_FILE, read_plan
from seqloom.infer.embedding._report import run_job
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.monitor._monitor import IDLE_LOOP, find_bottleneck
from seqloom.io import SequenceIndex
from seqloom.tensor import backend as find_backend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from types import FrameType

    from seqloom.infer.embedding._settings import EmbedSettings

    LoadModel = Callable[..., Any]
    OnProgress = Callable[[Progress], Any]

Message: TypeAlias = Progress | EmbedSummary | Exception
# Minimum seconds between two progress messages of a process.
_MESSAGE_INTERVAL = 0.1
# Seconds that a stopped process has to end before it is killed.
_STOP_TIMEOUT = 10.0
_RAY_POLL_SECONDS = 1.0
_RAY_RETRIES = 3


def run_processes(
    load: LoadModel,
    devices: Sequence[str],
    settings: EmbedSettings,
    *,
    progress: OnProgress | None,
) -> EmbedSummary:
    """Start a process for each device, and wait until all have ended."""
    begun = time.perf_counter()
    calls = _divide_work(load, devices, settings)
    workers: list[_Worker] = []
    try:
        for number, call in enumerate(calls):
            workers.append(_Worker.start(f"process {number} ({call.device})", call))
        _receive_messages(workers, progress, begun)
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
    endings = [it.ending for it in workers if it.summary is None]
    _raise_first_error([it.error for it in workers if it.error is not None], endings)
    parts = [it.summary for it in workers if it.summary is not None]
    return _join_summaries(parts, time.perf_counter() - begun)


def run_on_ray(
    load: LoadModel,
    devices: Sequence[str],
    settings: EmbedSettings,
    *,
    progress: OnProgress | None,
) -> EmbedSummary:
    """Start a Ray task for each device, which Ray repeats if the task dies."""
    begun, ray = time.perf_counter(), _import_ray()
    out = settings.out if "://" in settings.out else str(Path(settings.out).absolute())
    files = tuple(str(Path(path).absolute()) for path in settings.files)
    settings = replace(settings, files=files, out=out)
    calls = _divide_work(load, devices, settings)
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    tasks = [_start_ray_task(ray, call) for call in calls]
    try:
        left = tasks
        while left:
            _, left = ray.wait(left, timeout=_RAY_POLL_SECONDS)
            if progress is not None:
                _report_markers(settings, progress, begun)
        results = [_get_ray_result(ray, task) for task in tasks]
    finally:
        for task in tasks:
            ray.cancel(task, force=True)
    errors = [it for it in results if isinstance(it, Exception)]
    _raise_first_error(errors, [f"a Ray task ended: {error}" for error in errors])
    parts = [it for it in results if isinstance(it, EmbedSummary)]
    return _join_summaries(parts, time.perf_counter() - begun)


@dataclass(frozen=True, slots=True)
class _ProcessWork:
    """The work of one process: load the model on a device and compute some shards."""

    load: LoadModel
    device: str
    settings: EmbedSettings

    def run(self, progress: OnProgress | None = None) -> EmbedSummary:
        """Load the model and compute a part of the shards."""
        place = find_backend(self.device, num_threads=self.settings.threads)
        return run_job(self.load(backend=place), self.settings, progress)


def _divide_work(
    load: LoadModel, devices: Sequence[str], settings: EmbedSettings
) -> list[_ProcessWork]:
    """Build missing file indexes, and return the work of each process."""
    is_list = not isinstance(devices, (str, bytes)) and hasattr(devices, "__iter__")
    names = [*devices] if is_list else []
    if not names or {*map(type, names)} != {str}:
        raise ArgumentError(
            'devices must be names of backends such as ["torch:cuda:0", "torch:cuda:1"], '
            f"got {quote(devices)}"
        )
    if hasattr(load, "eval") or hasattr(load, "embed") or not callable(load):
        raise ArgumentError(
            "with devices=, each process loads the model: model must be a function with "
            "backend=, such as functools.partial(sl.models.ESM2.load, folder), got "
            f"{type(load).__name__}"
        )
    folder = open_folder(settings.out, settings.cloud_options)
    if not settings.resume and PLAN_FILE in folder.names():
        raise RunFolderError(
            f"{settings.out}: contains embeddings; leave out resume=False (--no-resume) to "
            "continue with them, or use another folder"
        )
    for path in settings.files:
        SequenceIndex(path)
    count = len(names)
    common = replace(settings, resume=True, threads=max(1, settings.threads // count))
    return [
        _ProcessWork(load, name, replace(common, part=settings.part.split(number, count)))
        for number, name in enumerate(names)
    ]


@dataclass(slots=True)
class _Worker:
    """A process on this machine, and the last messages from it."""

    name: str
    process: Any
    messages: Any  # the receiving end of a pipe, whose type depends on the operating system
    progress: Progress | None = None
    summary: EmbedSummary | None = None
    error: Exception | None = None

    @classmethod
    def start(cls, name: str, call: _ProcessWork) -> _Worker:
        """Start a new Python process for the work."""
        context = multiprocessing.get_context("spawn")
        messages, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run_worker, args=(call, sender), daemon=True)
        # A terminal sends Ctrl-C to all processes; only the parent should handle it.
        with block_signals(signal.SIGINT):
            process.start()
        sender.close()
        return cls(name, process, messages)

    def receive(self) -> bool:
        """Receive one message from the process; return False if the process has ended."""
        try:
            message: Message = self.messages.recv()
        except (EOFError, OSError):
            self.process.join()
            return False
        if isinstance(message, Progress):
            self.progress = message
        elif isinstance(message, EmbedSummary):
            self.summary = message
        else:
            self.error = message
        return True

    def stop(self) -> None:
        """Stop the process, and keep the shards that it has published."""
        if self.process.is_alive():
            self.process.terminate()

    def join(self) -> None:
        """Wait for the end of the process, and kill it if that takes too long."""
        self.process.join(_STOP_TIMEOUT)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.messages.close()

    @property
    def ending(self) -> str:
        """A sentence that describes how an unfinished process ended."""
        if self.error is not None:
            return f"{self.name} ended: {type(self.error).__name__}: {self.error}"
        code = self.process.exitcode or 0
        if code < 0:
            return f"{self.name} was killed by {signal.Signals(-code).name}"
        return f"{self.name} ended with exit code {code}"


def _receive_messages(
    workers: Sequence[_Worker], report: OnProgress | None, begun: float
) -> None:
    """Receive messages from processes until all processes have ended."""
    left: dict[Any, _Worker] = {worker.messages: worker for worker in workers}
    while left:
        for messages in wait([*left]):
            if not left[messages].receive():
                del left[messages]
        parts = [it.progress for it in workers if it.progress is not None]
        if report is not None and parts:
            report(_sum_progress(parts, time.perf_counter() - begun))


def _run_worker(call: _ProcessWork, sender: Connection) -> None:
    """Compute a part of the shards in a separate process."""
    signal.signal(signal.SIGTERM, _interrupt_once)
    last = 0.0

    def report(progress: Progress) -> None:
        nonlocal last
        if (now := time.monotonic()) >= last + _MESSAGE_INTERVAL:
            # Raises an error if the parent process has ended, so this process ends too.
            sender.send(progress)
            last = now

    try:
        sender.send(call.run(report))
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGTERM) from None
    except Exception as error:  # noqa: BLE001 - raised by the parent process
        with suppress(OSError):
            _send_error(sender, error)
        raise SystemExit(1) from None


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt at the first signal, and ignore further signals."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _send_error(sender: Connection, error: Exception) -> None:
    """Send an error to the main process, as text if the error cannot be pickled."""
    try:
        copy.copy(error)  # raises if the exception cannot be pickled
        sender.send(error)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - an error of any library
        sender.send(WorkerError(f"{type(error).__name__}: {error}"))


def _raise_first_error(errors: Sequence[Exception], endings: Sequence[str]) -> None:
    """Raise the first error if shards are unfinished, with notes about all processes."""
    if not endings:
        return
    error = WorkerError(
        f"{endings[0]} before its part was finished; finished shards are kept, and the "
        "same command computes the missing shards"
    )
    first = errors[0] if errors else error
    for ending in endings:
        first.add_note(ending)
    raise first


def _start_ray_task(ray: Any, call: _ProcessWork) -> Any:
    """Start a Ray task with one GPU, or with an equal number of CPU cores."""
    has_gpu = call.device.startswith("torch:cuda")
    needs = {"num_gpus": 1} if has_gpu else {"num_cpus": call.settings.threads}
    # A Ray task only has access to the GPU assigned to it, which has the index 0.
    call = replace(call, device="torch:cuda") if has_gpu else call
    return ray.remote(**needs, max_retries=_RAY_RETRIES)(_ProcessWork.run).remote(call)


def _get_ray_result(ray: Any, task: Any) -> EmbedSummary | Exception:
    """Return the result of a Ray task, or its error."""
    try:
        return ray.get(task)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        return cause if isinstance(cause, Exception) else WorkerError(f"Ray: {error}")


def _import_ray() -> Any:
    """Import Ray."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError(
            'engine="ray" needs Ray: pip install ray; or leave engine out, because '
            "processes that share a folder need no scheduler"
        ) from error
    return ray


def _report_markers(settings: EmbedSettings, report: OnProgress, begun: float) -> None:
    """Report the progress of a job, from the .done files in its folder."""
    folder = open_folder(settings.out, settings.cloud_options)
    if PLAN_FILE in (names := folder.names()):
        shards = settings.part.of(read_plan(folder).shards)
        done = sum(len(it) for it in shards if f"{it.name}.done" in names)
        seconds = time.perf_counter() - begun
        report(Progress(sum(map(len, shards)), done, done, 0, seconds, 0.0, 0.0))


def _sum_progress(parts: Sequence[Progress], seconds: float) -> Progress:
    """Return the total progress of several processes."""
    tokens = [part.tokens for part in parts]
    return Progress(
        records=sum(part.records for part in parts),
        done=sum(part.done for part in parts),
        sequences=sum(part.sequences for part in parts),
        tokens=sum(tokens),
        seconds=seconds,
        fill=_weighted_mean([part.fill for part in parts], tokens),
        waiting=sum(part.waiting for part in parts) / len(parts),
    )


def _join_summaries(parts: Sequence[EmbedSummary], seconds: float) -> EmbedSummary:
    """Return the combined results of several processes."""
    tokens = [part.tokens for part in parts]
    shares = {
        kind: sum(part.shares[kind] for part in parts) / len(parts)
        for kind in parts[0].shares
    }
    verdict = find_bottleneck(shares, seconds) if any(tokens) else IDLE_LOOP
    return EmbedSummary(
        records=parts[0].records,
        shards=parts[0].shards,
        computed=sum(part.computed for part in parts),
        sequences=sum(part.sequences for part in parts),
        tokens=sum(tokens),
        seconds=seconds,
        shares=shares,
        fill=_weighted_mean([part.fill for part in parts], tokens),
        verdict=verdict.sentence,
        notes=(*dict.fromkeys(note for part in parts for note in part.notes),),
        # The process that ended last counted the fewest missing shards.
        missing=min(part.missing for part in parts),
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    """Return the weighted mean; 0 if all weights are 0."""
    return float(np.average(values, weights=weights)) if any(weights) else 0.0
