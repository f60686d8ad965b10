"""Where the time of a loop goes: input, host, device, output."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.infer.monitor._memory import MemoryWatch
from seqloom.infer.monitor._timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Generator

KINDS = ("input", "host", "device", "output")


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
        # Of the thread that reads, which has nothing left: for our writer, for others.
        self.nothing_left = {"output": 0.0, "rest": 0.0}
        self.timeline, self.memory = Timeline[Mark](), MemoryWatch()
        self.batches = self.tokens = self.sequences = 0

    @contextmanager
    def spending(self, kind: str) -> Generator[None]:
        """Counts the seconds of a block."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[kind] += time.perf_counter() - begun

    @contextmanager
    def waiting_for_input(self) -> Generator[None]:
        """Counts the seconds of waiting for a batch, while there is any left to read."""
        begun, before = time.perf_counter(), dict(self.nothing_left)
        try:
            yield
        finally:
            left = time.perf_counter() - begun
            for kind, waited in self.nothing_left.items():
                part = min(left, waited - before[kind])
                left -= part
                if kind in self.seconds:
                    self.seconds[kind] += part
            self.seconds["input"] += left

    @contextmanager
    def having_nothing_left(self, kind: str) -> Generator[None]:
        """Counts seconds in which all is read: ``output``, our writer; ``rest``, others."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.nothing_left[kind] += time.perf_counter() - begun

    @contextmanager
    def handing_over(self) -> Generator[None]:
        """Counts the seconds of handing rows over: the device's, while the writer waits."""
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
        """Counts the seconds in which the writer waits for rows."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.device_wait += time.perf_counter() - begun

    def count(self, tokens: int, sequences: int) -> None:
        """Counts a batch."""
        self.batches += 1
        self.tokens += tokens
        self.sequences += sequences
        self.mark()

    def mark(self) -> None:
        """Notes what was counted so far, if the last note is old enough."""
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
