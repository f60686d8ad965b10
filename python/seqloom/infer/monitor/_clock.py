"""Where the time of a loop goes: input, host, device, output."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

KINDS = ("input", "host", "device", "output")


class Clock:
    """Adds up seconds by what they were spent on.

    ``input`` is waiting for batches, ``host`` is placing and pooling, ``device`` is the
    model, and ``output`` is waiting for the writer, which has more than it can write.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(KINDS, 0.0)
        self.begun = time.perf_counter()
        self.device_wait = 0.0  # of the thread that writes, for rows of the device
        self.others_wait = 0.0  # of the thread that reads, for other processes
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
        """Counts the seconds of waiting for a batch: not those for other processes."""
        begun, waited = time.perf_counter(), self.others_wait
        try:
            yield
        finally:
            blocked = time.perf_counter() - begun
            self.seconds["input"] += max(0.0, blocked - (self.others_wait - waited))

    @contextmanager
    def waiting_for_others(self) -> Generator[None]:
        """Counts the seconds in which nothing is left to read, and others still work."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.others_wait += time.perf_counter() - begun

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
