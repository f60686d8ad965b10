"""The memory of this process and of its workers, and whether it only grows."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from seqloom.infer.monitor._timeline import Timeline

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Memory grows steadily if each quarter of the time after the first fifth has more than the
# one before, and the last more than the first by both of these.
_LEAST_SHARE, _LEAST_BYTES = 0.10, 64 << 20
_LEAST_SAMPLES = 40
_QUARTERS = 4


def resident_bytes() -> int:
    """Reads the resident memory of this process and its children; 0 where nobody tells."""
    return sum(map(_resident_of, ("self", *_children())))


def _children() -> list[str]:
    """Lists the processes that this one's threads started."""
    found: list[str] = []
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError):
                found += (thread / "children").read_text().split()
    return found


def _resident_of(process: str) -> int:
    """Reads the resident memory of one process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


class MemoryWatch:
    """The memory of a loop by time."""

    def __init__(self) -> None:
        self._timeline: Timeline[tuple[float, int]] = Timeline()
        self.maximum = 0

    def sample(self, seconds: float) -> int:
        """Looks at the memory now."""
        memory = resident_bytes()
        self.maximum = max(self.maximum, memory)
        self._timeline.add(seconds, (seconds, memory))
        return memory

    @property
    def note(self) -> str:
        """Says that memory grew all the time; empty if it did not."""
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
    """Finds by how many bytes memory grew, if it did so from quarter to quarter."""
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
