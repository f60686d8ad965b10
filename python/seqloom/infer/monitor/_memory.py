"""The memory of this process and of its workers, and whether it only grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._system import child_processes, resident_memory
from seqloom.infer.monitor._timeline import Timeline

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Memory grows steadily if each quarter of the time after the first fifth has more than the
# one before, and the last more than the first by both of these.
_LEAST_SHARE, _LEAST_BYTES = 0.10, 64 << 20
_LEAST_SAMPLES = 40
_QUARTERS = 4


def resident_bytes() -> int:
    """Reads the resident memory of this process and its children; 0 where nobody tells."""
    return sum(map(resident_memory, ("self", *child_processes())))


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
