"""Where the time of a loop goes (input, host, device, output), and its memory by time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from seqloom._system import child_processes, resident_memory

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike

KINDS = ("input", "host", "device", "output")
# Memory grows steadily if each quarter of the time after the first fifth has more than the
# one before, and the last more than the first by both of these.
_LEAST_SHARE, _LEAST_BYTES = 0.10, 64 << 20
_LEAST_SAMPLES = 40
_QUARTERS = 4
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Mark:
    """What was counted until one moment; only memory is that of the moment."""

    seconds: float
    spent: tuple[float, ...]  # by kind
    batches: int
    tokens: int
    sequences: int
    memory: int


class Clock:
    """Adds up seconds by what they were spent on.

    ``input`` is waiting for batches, ``host`` is placing and pooling, ``device`` is the
    model, and ``output`` is waiting for the writer, which has more than it can write.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(KINDS, 0.0)
        self.begun = time.perf_counter()
        self.device_wait = 0.0  # of the thread that writes, for rows of the device
        self.timeline, self.memory = Timeline[Mark](), MemoryWatch()
        self.batches = self.tokens = self.sequences = 0

    @contextmanager
    def spending(self, kind: str) -> Generator[None]:
        """Count the seconds of a block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - begun

    @contextmanager
    def handing_over(self) -> Generator[None]:
        """Count seconds of waiting for the writer, or for the device that it waits for."""
        begun, waited = time.perf_counter(), self.device_wait
        try:
            yield
        finally:
            blocked = time.perf_counter() - begun
            on_device = min(blocked, self.device_wait - waited)
            self.seconds["device"] += on_device
            self.seconds["output"] += blocked - on_device

    @contextmanager
    def waiting_for_device(self) -> Generator[None]:
        """Count the seconds in which the writer waits for rows."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.device_wait += time.perf_counter() - begun

    def count(self, tokens: int, sequences: int) -> None:
        """Count a batch."""
        self.batches += 1
        self.tokens += tokens
        self.sequences += sequences
        self.mark()

    def mark(self) -> None:
        """Note what was counted so far, if the last note is old enough."""
        now = self.wall
        if self.timeline.is_due(now):
            memory = self.memory.sample(now)
            spent = tuple(self.seconds[kind] for kind in KINDS)
            counts = (self.batches, self.tokens, self.sequences)
            self.timeline.add(now, Mark(now, spent, *counts, memory))

    @property
    def wall(self) -> float:
        """The seconds since the job began."""
        return time.perf_counter() - self.begun

    @property
    def shares(self) -> dict[str, float]:
        """The time by what it was spent on, as fractions of all; ``rest`` is the rest."""
        wall = max(self.wall, 1e-9)
        shares = {kind: seconds / wall for kind, seconds in self.seconds.items()}
        return {**shares, "rest": max(0.0, 1 - sum(shares.values()))}


def resident_bytes() -> int:
    """Read the resident memory of this process and its children; 0 where nobody tells."""
    return sum(map(resident_memory, ("self", *child_processes())))


class MemoryWatch:
    """The memory of a loop by time."""

    def __init__(self) -> None:
        self._timeline: Timeline[tuple[float, int]] = Timeline()
        self.maximum = 0

    def sample(self, seconds: float) -> int:
        """Look at the memory now."""
        memory = resident_bytes()
        self.maximum = max(self.maximum, memory)
        self._timeline.add(seconds, (seconds, memory))
        return memory

    @property
    def note(self) -> str:
        """Say that memory grew all the time; empty if it did not."""
        rows = self._timeline.rows
        growth = steady_growth([memory for _, memory in rows])
        if not growth:
            return ""
        return (
            f"the memory of this process and its workers grew steadily, by "
            f"{growth / 2**20:,.0f} MiB in {rows[-1][0]:,.0f} s, "
            f"to {rows[-1][1] / 2**20:,.0f} MiB: unless that is meant, something leaks"
        )


def steady_growth(memory: ArrayLike) -> int:
    """Find by how many bytes memory grew, if it did so from quarter to quarter."""
    values = np.asarray(memory, np.float64)
    if len(values) < _LEAST_SAMPLES:
        return 0
    settled = values[len(values) // 5 :]
    means = [float(part.mean()) for part in np.array_split(settled, _QUARTERS)]
    steps = np.diff(means)
    growth = means[-1] - means[0]
    # A pool that fills up once is no leak: the last step is over half of the mean step.
    is_steady = bool((steps > 0).all() and steps[-1] > steps.mean() / 2)
    is_much = growth > max(_LEAST_BYTES, _LEAST_SHARE * means[0])
    return int(growth) if is_steady and is_much else 0


class Timeline(Generic[Row]):
    """Rows of a job of any length: once there are too many, every second one goes.

    Rows that count from the beginning lose nothing by that: their differences are the sums
    of the differences that were there.
    """

    def __init__(self, step: float = 0.05, *, most: int = 600) -> None:
        self.rows: list[Row] = []
        self._step, self._most = step, most
        self._first, self._last = 0.0, -step

    def is_due(self, seconds: float) -> bool:
        """Return whether the last row is old enough."""
        return seconds - self._last >= self._step

    def add(self, seconds: float, row: Row) -> None:
        """Add a row, if it is due."""
        if not self.is_due(seconds):
            return
        self._first = self._first if self.rows else seconds
        self._last = seconds
        self.rows.append(row)
        if len(self.rows) > self._most:
            self.rows = self.rows[::2]
            # Rows that come further apart than the step make it theirs.
            apart = (self._last - self._first) / (len(self.rows) - 1)
            self._step = max(2 * self._step, apart)
