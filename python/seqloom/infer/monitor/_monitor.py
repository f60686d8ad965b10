"""GPUMonitor: what a loop waits for, and what the GPUs do meanwhile."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from seqloom._arguments import as_choice, as_number
from seqloom.errors import ArgumentError
from seqloom.infer.monitor._clock import KINDS, Clock, MemoryWatch
from seqloom.infer.monitor._gpus import GPUs, GPUTally, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from seqloom.infer.monitor._gpus import GPUSample

Batch = TypeVar("Batch")
# Waiting for more than this share of the time is worth a person's attention.
WAITING = 0.10
_SOUND = {"device-bound", "idle"}
_WORDS = {
    "input": "the model waited for batches",
    "output": "the model waited for what writes its results",
    "host": "the processor prepared batches and joined results",
    "device": "the model computed",
}


class GPUMonitor:
    """Watches a loop of your own: what it waits for, and what the GPUs do meanwhile.

    Within ``with`` a thread looks at the GPUs and at the memory of this process and its
    workers. How busy a GPU is says little about why, so the verdict comes from the time
    that you record; what you do not record counts as the model's. Without NVML, the
    library of NVIDIA's driver, time is accounted for all the same, and a note of the
    summary says that no GPU was watched.

    Args:
        interval: Seconds between two looks.
        idle_below: A GPU whose utilization is below this share counts as idle.

    Raises:
        ArgumentError: An argument is no number above 0.
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
        self._interval = _above_zero("interval", interval)
        self._idle_below = _above_zero("idle_below", idle_below)
        self._gpus = GPUs()
        self._begin()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def _begin(self) -> None:
        """Forget a loop that was watched before."""
        self._clock, self._memory = Clock(), MemoryWatch()
        self._waits = Spread()  # in milliseconds
        self._tallies = {
            number: GPUTally(name, self._idle_below)
            for number, name in self._gpus.names.items()
        }
        self._seconds: float | None = None  # once the loop has ended

    def __enter__(self) -> Self:
        self._begin()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds = self._clock.wall
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        """Take samples until the loop ends."""
        while True:
            self.sample()
            if self._stop.wait(self._interval):
                return

    def sample(self) -> tuple[GPUSample, ...]:
        """Look at the GPUs and at the memory now; within ``with`` a thread does.

        Returns:
            A sample of each GPU that CUDA shows this process; none without NVML.

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
            self._memory.sample(self._clock.wall)
        return samples

    def record_dataloader_wait(
        self, wait_ms: float | None = None, *, seconds: float | None = None
    ) -> None:
        """Count time in which the loop waited for a batch.

        Args:
            wait_ms: The wait in milliseconds.
            seconds: The wait in seconds, instead of `wait_ms`.

        Raises:
            ArgumentError: Both or none are given, or it is not a number from 0 up.

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
        """Pass batches on and count the seconds in which the loop waits for them.

        Args:
            batches: What gives batches, such as a DataLoader.

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
        """Count the seconds of a block.

        Args:
            kind: ``"input"``, waiting for batches; ``"host"``, what the processor prepares
                and joins; ``"device"``, the model; ``"output"``, waiting for what writes.

        Returns:
            What ``with`` takes.

        Raises:
            ArgumentError: ``kind`` is another word.

        Examples:
            >>> import seqloom as sl
            >>> with sl.infer.GPUMonitor() as monitor:
            ...     with monitor.spending("output"):
            ...         text = "".join(map(str, range(1000)))
        """
        return self._clock.spending(as_choice("kind", kind, KINDS))

    def check_bottleneck(self) -> Bottleneck:
        """Find out by the recorded time what the loop waits for.

        Returns:
            The verdict. It is true in a condition if something other than the model takes
            the time: the loop waits for batches or for its output, or the processor
            prepares longer than the model computes. The sentence adds the utilization of
            the GPUs as evidence.

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
        return judge(self._shares(seconds), seconds, self._evidence())

    def get_summary(self) -> dict[str, Any]:
        """Sum up what was seen, as numbers and words that JSON holds.

        Returns:
            ``seconds``; ``shares`` of them by kind; ``wait_ms``, the average, maximum and
            minimum wait for a batch in milliseconds (NaN without one); ``bottleneck``, the
            verdict's sentence;
            ``evidence``, how busy the GPUs were, in words; ``gpus`` by number, each with
            ``name``, ``samples``, ``utilization`` and ``memory`` (bytes) as average,
            maximum and minimum, and the share of samples in which it was ``idle``;
            ``process_memory``, the most bytes of this process and its workers; ``notes``.

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
            "evidence": self._evidence(),
            "gpus": {number: it.as_dict() for number, it in self._tallies.items()},
            "process_memory": self._memory.maximum,
            "notes": [note for note in notes if note],
        }

    @property
    def _loop_seconds(self) -> float:
        """The seconds of the loop, so far or in all."""
        return self._clock.wall if self._seconds is None else self._seconds

    def _shares(self, seconds: float) -> dict[str, float]:
        """Divide the time; what nobody recorded is the model's."""
        spent = self._clock.seconds
        rest = max(0.0, seconds - sum(spent.values()))
        whole = max(seconds, sum(spent.values()), 1e-9)
        return {
            kind: (it + rest * (kind == "device")) / whole for kind, it in spent.items()
        }

    def _evidence(self) -> str:
        """Tell how busy the GPUs were."""
        return "; ".join(
            it.words(number) for number, it in self._tallies.items() if it.utilization.count
        )


def _above_zero(name: str, value: float) -> float:
    """Check a number that must be above 0."""
    number = as_number(name, value)
    if number <= 0:
        raise ArgumentError(f"{name} must be above 0, got {number}")
    return number


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What a loop spends its time on, and so what would make it quicker.

    In a condition it is true if something other than the model takes the time: its kind is
    neither ``"device-bound"`` nor ``"idle"``.

    Attributes:
        kind: ``"input-bound"`` or ``"output-bound"`` if waiting for that took over 10 %
            of the time (the larger of both); otherwise ``"host-bound"`` if preparing and
            joining took longer than the model, else ``"device-bound"``. ``"idle"`` if
            an embedding job had nothing left to compute.
        share: The share of the time that this took.
        sentence: The same for a person, with its number; also what ``str`` gives.

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
        return self.kind not in _SOUND

    def __str__(self) -> str:
        return self.sentence


IDLE = Bottleneck("idle", 0.0, "idle: nothing was computed")


def judge(shares: Mapping[str, float], seconds: float, evidence: str = "") -> Bottleneck:
    """Name what takes the time; evidence of other kinds stands beside it."""
    # A wait that is too long comes before what computes longer.
    kind = max(("input", "output"), key=shares.__getitem__)
    if shares[kind] <= WAITING:
        kind = max(("device", "host"), key=shares.__getitem__)
    share = shares[kind]
    sentence = f"{kind}-bound: {_WORDS[kind]} in {share:.1%} of {seconds:,.1f} s"
    if kind != "input":
        sentence += f"; it waited for batches in {shares['input']:.1%}"
    return Bottleneck(f"{kind}-bound", share, "; ".join(filter(None, (sentence, evidence))))
