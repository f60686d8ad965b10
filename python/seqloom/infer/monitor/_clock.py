"""Measure where a loop spends time (input, host, device, output), and its memory use."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from seqloom._system import list_child_processes, resident_memory

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike

ACTIVITIES = ("input", "host", "device", "output")
# The first fifth of the time is ignored, because memory grows at the start. Memory
# grows steadily if its mean increases from quarter to quarter of the remaining time,
# and the total increase exceeds both limits.
_MIN_GROWTH_SHARE, _MIN_GROWTH_BYTES = 0.10, 64 << 20
_MIN_SAMPLES = 40
_QUARTERS = 4
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class TimeMark:
    """A row of the timeline: cumulative counts of a job, and its current memory use."""

    seconds: float
    spent: tuple[float, ...]  # seconds of each activity
    batches: int
    tokens: int
    sequences: int
    memory: int


class Clock:
    """The seconds that a job spends in each activity.

    The activities are ``input`` (waiting for batches), ``host`` (preparing and pooling
    on the CPU), ``device`` (running the model), and ``output`` (waiting for the
    writer).
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(ACTIVITIES, 0.0)
        self.begun = time.perf_counter()
        self.device_wait = 0.0  # seconds in which the writer thread waited for the device
        self.timeline, self.memory = Timeline[TimeMark](), MemoryWatch()
        self.batches = self.tokens = self.sequences = 0

    @contextmanager
    def spending(self, kind: str) -> Generator[None]:
        """Add the duration of a ``with`` block to an activity."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - begun

    @contextmanager
    def waiting_for_writer(self) -> Generator[None]:
        """Record the time in which the loop waited for the writer.

        While the writer itself waits for the device, the time counts as device time.
        """
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
        """Record the seconds in which the writer waits for rows from the device."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.device_wait += time.perf_counter() - begun

    def count(self, tokens: int, sequences: int) -> None:
        """Add a batch to the counts."""
        self.batches += 1
        self.tokens += tokens
        self.sequences += sequences
        self.add_mark()

    def add_mark(self) -> None:
        """Add the counts so far to the timeline if the interval has passed."""
        now = self.wall_seconds
        if self.timeline.is_due(now):
            memory = self.memory.sample(now)
            spent = tuple(self.seconds[kind] for kind in ACTIVITIES)
            counts = (self.batches, self.tokens, self.sequences)
            self.timeline.add(now, TimeMark(now, spent, *counts, memory))

    @property
    def wall_seconds(self) -> float:
        """The seconds since the job began."""
        return time.perf_counter() - self.begun

    @property
    def shares(self) -> dict[str, float]:
        """The fraction of time of each activity; ``rest`` is all other time."""
        wall = max(self.wall_seconds, 1e-9)
        shares = {kind: seconds / wall for kind, seconds in self.seconds.items()}
        return {**shares, "rest": max(0.0, 1 - sum(shares.values()))}


def resident_bytes() -> int:
    """Return the resident memory of this process and its children; 0 if unknown."""
    return sum(map(resident_memory, ("self", *list_child_processes())))


class MemoryWatch:
    """The memory use of a loop as a time series."""

    def __init__(self) -> None:
        self._timeline: Timeline[tuple[float, int]] = Timeline()
        self.maximum = 0

    def sample(self, seconds: float) -> int:
        """Measure, record and return the current memory use."""
        memory = resident_bytes()
        self.maximum = max(self.maximum, memory)
        self._timeline.add(seconds, (seconds, memory))
        return memory

    @property
    def note(self) -> str:
        """A warning if memory grew steadily; otherwise an empty string."""
        rows = self._timeline.rows
        growth = steady_growth([memory for _, memory in rows])
        if not growth:
            return ""
        return (
            f"the memory of this process and its workers grew steadily, by "
            f"{growth / 2**20:,.0f} MiB in {rows[-1][0]:,.0f} s, "
            f"to {rows[-1][1] / 2**20:,.0f} MiB: this may be a memory leak"
        )


def steady_growth(memory: ArrayLike) -> int:
    """Return the growth of memory in bytes if memory grew steadily, else 0."""
    values = np.asarray(memory, np.float64)
    if len(values) < _MIN_SAMPLES:
        return 0
    settled = values[len(values) // 5 :]
    means = [float(part.mean()) for part in np.array_split(settled, _QUARTERS)]
    steps = np.diff(means)
    growth = means[-1] - means[0]
    # A memory pool that fills up once is not a leak; in this case the last increase is
    # small.
    is_steady = bool((steps > 0).all() and steps[-1] > steps.mean() / 2)
    is_much = growth > max(_MIN_GROWTH_BYTES, _MIN_GROWTH_SHARE * means[0])
    return int(growth) if is_steady and is_much else 0


class Timeline(Generic[Row]):
    """A timeline of limited length: when it is full, every second row is removed.

    Rows contain cumulative counts, so the differences of the remaining rows still add
    up to the totals.
    """

    def __init__(self, step: float = 0.05, *, most: int = 600) -> None:
        self.rows: list[Row] = []
        self._step, self._most = step, most
        self._first, self._last = 0.0, -step

    def is_due(self, seconds: float) -> bool:
        """Return whether the interval since the last row has passed."""
        return seconds - self._last >= self._step

    def add(self, seconds: float, row: Row) -> None:
        """Add a row to the timeline if the interval has passed."""
        if not self.is_due(seconds):
            return
        self._first = self._first if self.rows else seconds
        self._last = seconds
        self.rows.append(row)
        if len(self.rows) > self._most:
            self.rows = self.rows[::2]
            # If rows are further apart than the interval, the interval is set to their
            # distance.
            apart = (self._last - self._first) / (len(self.rows) - 1)
            self._step = max(2 * self._step, apart)
