"""What GPUs do: samples of their utilisation and memory, and their sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqloom.infer.monitor._nvml import list_devices, open_library

if TYPE_CHECKING:
    from seqloom.infer.monitor._nvml import Device


@dataclass(frozen=True, slots=True)
class GPUSample:
    """What a GPU did at one moment.

    Attributes:
        gpu: Its number, as CUDA counts: 0 is ``cuda:0`` of this process.
        utilization: The share of the last moments in which it ran anything, from 0 to 1;
            NaN if the driver does not tell.
        memory: Bytes in use, of all processes; NaN if the driver does not tell.

    Examples:
        >>> import seqloom as sl
        >>> with sl.infer.GPUMonitor() as monitor:
        ...     busy = [gpu for gpu in monitor.sample() if gpu.utilization > 0.9]
    """

    gpu: int
    utilization: float
    memory: float


@dataclass(slots=True)
class Spread:
    """Counts values: their number, sum, least and largest."""

    count: int = 0
    total: float = 0.0
    minimum: float = math.nan
    maximum: float = math.nan

    def add(self, value: float) -> None:
        """Counts a value; NaN is none."""
        if math.isnan(value):
            return
        is_first = not self.count
        self.minimum = value if is_first else min(self.minimum, value)
        self.maximum = value if is_first else max(self.maximum, value)
        self.count += 1
        self.total += value

    def as_dict(self) -> dict[str, float]:
        """Gives average, maximum and minimum."""
        average = self.total / self.count if self.count else math.nan
        return {"average": average, "maximum": self.maximum, "minimum": self.minimum}


@dataclass(slots=True)
class GPUTally:
    """The samples of one GPU, counted."""

    name: str
    idle_below: float
    samples: int = 0
    idle: int = 0
    utilization: Spread = field(default_factory=Spread)
    memory: Spread = field(default_factory=Spread)

    def add(self, sample: GPUSample) -> None:
        """Counts a sample."""
        self.samples += 1
        self.idle += sample.utilization < self.idle_below
        self.utilization.add(sample.utilization)
        self.memory.add(sample.memory)

    def words(self, number: int) -> str:
        """Tells how busy the GPU was."""
        busy = self.utilization.total / self.utilization.count
        idle = self.idle / self.utilization.count
        return (
            f"GPU {number} was busy {busy:.0%} of the time, idle in {idle:.0%} of samples"
        )

    def as_dict(self) -> dict[str, Any]:
        """Sums the samples up."""
        seen = self.utilization.count
        return {
            "name": self.name,
            "samples": self.samples,
            "utilization": self.utilization.as_dict(),
            "memory": self.memory.as_dict(),
            "idle": self.idle / seen if seen else math.nan,
        }


class GPUs:
    """The GPUs that CUDA shows this process; none without NVML, and ``note`` says so."""

    def __init__(self) -> None:
        self._library: Any = open_library()
        self.note = ""
        self._devices: list[Device] = []
        try:
            self._devices = list_devices(self._library)
        except self._library.NVMLError as error:
            self.note = f"no GPU is watched: {error}"
        if not self._devices and not self.note:
            self.note = "no GPU is watched: NVML shows none here"
        self.names = {number: str(it.name()) for number, it in enumerate(self._devices)}

    def read(self) -> tuple[GPUSample, ...]:
        """Takes a sample of each; a GPU that stops answering is left out from then on."""
        try:
            return tuple(
                GPUSample(
                    number, _number(it.gpu_utilization()) / 100, _number(it.memory_used())
                )
                for number, it in enumerate(self._devices)
            )
        except self._library.NVMLError as error:
            self.note = f"GPUs were no longer watched after a while: {error}"
            self._devices = []
            return ()


def _number(value: Any) -> float:
    """Reads a number; what the driver does not tell is nvitop's NA, a kind of string."""
    return float(value) if isinstance(value, (int, float)) else math.nan
