"""The class `GPUMonitor`, which measures where a loop spends its time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from seqloom._arguments import as_choice, as_number
from seqloom.errors import ArgumentError
from seqloom.infer.monitor._clock import ACTIVITIES, Clock, MemoryWatch
from seqloom.infer.monitor._gpus import GPUs, GPUStatistics, RunningStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from seqloom.infer.monitor._gpus import GPUSample

Batch = TypeVar("Batch")
# Waiting is reported as the bottleneck if it takes more than this fraction of time.
MAX_WAITING_SHARE = 0.10
_HARMLESS_KINDS = {"device-bound", "idle"}
_DESCRIPTIONS = {
    "input": "the model waited for batches",
    "output": "the model waited for the writer of its results",
    "host": "the CPU prepared batches and joined results",
    "device": "the model computed",
}


class GPUMonitor:
    """Measures where your loop spends its time, and the utilization of GPUs.

    Inside ``with``, a thread samples the GPUs and the memory of this process and its
    workers. Low utilization of a GPU does not show its cause, so the bottleneck is found
    from the times that you record. Time that you do not record is attributed to the model.
    Without NVML (the library of the NVIDIA driver), time is still measured, and a note in
    the summary reports that no GPU was sampled.

    Args:
        interval: The interval between two samples of the GPUs, in seconds.
        idle_below: The utilization, from 0 to 1, below which a GPU is reported as idle.

    Raises:
        ArgumentError: An argument is not a number above 0.
        MissingExtraError: Neither nvitop nor pynvml is installed.

    Examples:
        >>> import numpy as np
        >>> import seqloom as sl
        >>> batches = [np.ones((8, 8))] * 3
        >>> with sl.infer.GPUMonitor() as monitor:
        ...     for batch in monitor.wait_for(batches):
        ...         _ = batch @ batch
        >>> sorted(monitor.get_summary()["shares"])
        ['device', 'host', 'input', 'output']
    """

    def __init__(self, interval: float = 1.0, *, idle_below: float = 0.10) -> None:
        self._interval = _require_positive("interval", interval)
        self._idle_below = _require_positive("idle_below", idle_below)
        self._gpus = GPUs()
        self._reset()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def _reset(self) -> None:
        """Reset all measurements."""
        self._clock, self._memory = Clock(), MemoryWatch()
        self._waits = RunningStatistics()  # waiting times in milliseconds
        self._tallies = {
            number: GPUStatistics(name, self._idle_below)
            for number, name in self._gpus.names.items()
        }
        self._seconds: float | None = None  # duration of a loop that has ended

    def __enter__(self) -> Self:
        self._reset()
        self._stop.clear()
        self._thread = threading.Thread(target=self._sample_until_end, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds = self._clock.wall_seconds
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _sample_until_end(self) -> None:
        """Sample the GPUs and the memory until the loop ends."""
        while True:
            self.sample()
            if self._stop.wait(self._interval):
                return

    def sample(self) -> tuple[GPUSample, ...]:
        """Sample the GPUs and the memory once, in addition to the samples of the thread.

        Returns:
            A sample of each GPU that is visible to this process; empty without NVML.

        Examples:
            >>> import seqloom as sl
            >>> monitor = sl.infer.GPUMonitor()
            >>> for gpu in monitor.sample():
            ...     print(gpu.gpu, gpu.utilization, gpu.memory)
        """
        with self._lock:
            samples = self._gpus.read()
            for sample in samples:
                self._tallies[sample.gpu].add(sample)
            self._memory.sample(self._clock.wall_seconds)
        return samples

    def record_dataloader_wait(
        self, wait_ms: float | None = None, *, seconds: float | None = None
    ) -> None:
        """Record a time in which the loop waited for a batch.

        Args:
            wait_ms: The waiting time in milliseconds.
            seconds: The waiting time in seconds, as an alternative to `wait_ms`.

        Raises:
            ArgumentError: Both arguments or neither argument is given, or the value is
                negative or not a number.

        Examples:
            >>> import time
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     begun = time.perf_counter()
            ...     batch = [1, 2]  # next(batches)
            ...     monitor.record_dataloader_wait(seconds=time.perf_counter() - begun)
        """
        if (wait_ms is None) == (seconds is None):
            raise ArgumentError(
                "record_dataloader_wait needs one of wait_ms and seconds, such as "
                f"record_dataloader_wait(5.0), got wait_ms={wait_ms} and seconds={seconds}"
            )
        name, unit, factor = ("wait_ms", "milliseconds", 1e-3)
        if wait_ms is None:
            name, unit, factor = ("seconds", "seconds", 1.0)
        wait = seconds if wait_ms is None else wait_ms
        expected = f"a number of {unit}, 0 or more"
        wait = as_number(name, wait, expected=expected, least=0.0)
        self._clock.seconds["input"] += factor * wait
        self._waits.add(1000.0 * factor * wait)

    def wait_for(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches of an iterable, and record the waiting time for each batch.

        Args:
            batches: An iterable of batches, such as a DataLoader.

        Yields:
            Each batch.

        Examples:
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     print(sum(monitor.wait_for([1, 2, 3])))
            6
        """
        waiting = iter(batches)
        while True:
            before = self._clock.seconds["input"]
            with self.spending("input"):
                try:
                    batch = next(waiting)
                except StopIteration:
                    return
            self._waits.add(1000.0 * (self._clock.seconds["input"] - before))
            yield batch

    def spending(self, kind: str) -> AbstractContextManager[None]:
        """Record the time that a ``with`` block takes.

        Args:
            kind: The activity of the block. ``"input"`` is waiting for batches, and
                ``"output"`` is waiting for the writer. ``"host"`` is preparing and joining
                on the CPU. ``"device"`` is running the model.

        Returns:
            A context manager.

        Raises:
            ArgumentError: ``kind`` has another value.

        Examples:
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     with monitor.spending("output"):
            ...         text = "".join(map(str, range(1000)))
        """
        return self._clock.spending(as_choice("kind", kind, ACTIVITIES))

    def check_bottleneck(self) -> Bottleneck:
        """Return the activity that limits the speed, computed from the recorded times.

        Returns:
            The bottleneck. The object is true in an ``if`` statement if waiting or work
            on the CPU, rather than the model, limits the speed. The sentence of the
            bottleneck includes the utilization of the GPUs.

        Examples:
            >>> import time
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     with monitor.spending("input"):
            ...         time.sleep(0.05)
            >>> if bottleneck := monitor.check_bottleneck():
            ...     print(bottleneck.kind)
            input-bound
        """
        seconds = self._loop_seconds
        return find_bottleneck(self._shares(seconds), seconds, self._describe_gpus())

    def get_summary(self) -> dict[str, Any]:
        """Return the measurements as JSON values.

        Returns:
            A dict. ``seconds`` and ``shares`` contain the time of each activity, and
            its fraction of the total time. ``wait_ms`` contains the average, maximum
            and minimum waiting time for a batch in milliseconds (NaN if no time was
            recorded). ``bottleneck`` is the sentence of the bottleneck. ``evidence``
            describes the utilization of the GPUs. ``gpus`` contains a dict for each GPU
            number with ``name``, ``samples``, ``utilization``, ``memory`` and ``idle``.
            ``utilization`` and ``memory`` (bytes) are the average, maximum and minimum
            of all samples. ``idle`` is the fraction of samples in which the GPU was
            idle. ``process_memory`` is the peak memory of this process and its workers
            in bytes. ``notes`` is a list of messages, such as that no GPU was sampled.

        Examples:
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     monitor.record_dataloader_wait(0.0)  # milliseconds
            >>> summary = monitor.get_summary()
            >>> summary["shares"]["input"], summary["process_memory"] > 0
            (0.0, True)
        """
        seconds = self._loop_seconds
        notes = (self._gpus.note, self._memory.note)
        return {
            "seconds": seconds,
            "shares": self._shares(seconds),
            "wait_ms": self._waits.as_dict(),
            "bottleneck": self.check_bottleneck().sentence,
            "evidence": self._describe_gpus(),
            "gpus": {number: it.as_dict() for number, it in self._tallies.items()},
            "process_memory": self._memory.maximum,
            "notes": [note for note in notes if note],
        }

    @property
    def _loop_seconds(self) -> float:
        """The seconds from the start of the loop until now, or until its end."""
        return self._clock.wall_seconds if self._seconds is None else self._seconds

    def _shares(self, seconds: float) -> dict[str, float]:
        """Return the fraction of time of each activity; unrecorded time is ``device``."""
        spent = self._clock.seconds
        rest = max(0.0, seconds - sum(spent.values()))
        whole = max(seconds, sum(spent.values()), 1e-9)
        return {
            kind: (it + rest * (kind == "device")) / whole for kind, it in spent.items()
        }

    def _describe_gpus(self) -> str:
        """Describe the utilization of the GPUs."""
        return "; ".join(
            it.describe(number)
            for number, it in self._tallies.items()
            if it.utilization.count
        )


def _require_positive(name: str, value: float) -> float:
    """Return a number; raise if it is not above 0."""
    number = as_number(name, value)
    if number <= 0:
        raise ArgumentError(f"{name} must be above 0, got {number}")
    return number


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The activity that limits the speed of a loop.

    A `Bottleneck` is true in an ``if`` statement if waiting or work on the CPU limits the
    loop. A `Bottleneck` of the kind ``"device-bound"`` or ``"idle"`` is false.

    Attributes:
        kind: ``"input-bound"`` or ``"output-bound"`` if the longer wait, for input or for
            output, took over 10 % of the time. If neither wait was that long, the kind is
            ``"host-bound"`` if preparing and joining took longer than the model, and
            ``"device-bound"`` if not. The kind is ``"idle"`` if all shards of an
            embedding job were already finished.
        share: The fraction of the total time that this activity took.
        sentence: A sentence that describes the bottleneck; ``str`` returns the same
            sentence.

    Examples:
        >>> import seqloom as sl
        >>> with sl.infer.GPUMonitor() as monitor:
        ...     monitor.record_dataloader_wait(0.0)
        >>> bottleneck = monitor.check_bottleneck()
        >>> bottleneck.kind, bool(bottleneck)
        ('device-bound', False)
    """

    kind: str
    share: float
    sentence: str

    def __bool__(self) -> bool:
        return self.kind not in _HARMLESS_KINDS

    def __str__(self) -> str:
        return self.sentence


IDLE_LOOP = Bottleneck("idle", 0.0, "idle: nothing was computed")


def find_bottleneck(
    shares: Mapping[str, float], seconds: float, evidence: str = ""
) -> Bottleneck:
    """Return the activity that limits the speed; append `evidence` to its sentence."""
    # Waiting is checked first, so that it is reported even if computing took longer.
    kind = max(("input", "output"), key=shares.__getitem__)
    if shares[kind] <= MAX_WAITING_SHARE:
        kind = max(("device", "host"), key=shares.__getitem__)
    share = shares[kind]
    sentence = f"{kind}-bound: {_DESCRIPTIONS[kind]} in {share:.1%} of {seconds:,.1f} s"
    if kind != "input":
        sentence += f"; the model waited for batches in {shares['input']:.1%}"
    return Bottleneck(f"{kind}-bound", share, "; ".join(filter(None, (sentence, evidence))))
