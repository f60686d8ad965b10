"""Samples of GPU utilization and memory, read with nvitop or pynvml."""

from __future__ import annotations

import contextlib
import io
import math
import os
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from seqloom.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

# Libraries that read GPUs, in order of preference.
_GPU_LIBRARIES = ("nvitop", "pynvml")


@dataclass(frozen=True, slots=True)
class GPUSample:
    """The utilization and memory of a GPU at one moment.

    Attributes:
        gpu: The index of the GPU in the order of CUDA; 0 is ``cuda:0`` of this process.
        utilization: The fraction of the driver's last sampling period in which the GPU was
            busy, from 0 to 1; NaN if the driver does not report utilization.
        memory: The memory in use by all processes, in bytes; NaN if the driver does not
            report memory.

    Examples:
        >>> import seqloom as sl
        >>> with sl.infer.GPUMonitor() as monitor:
        ...     busy = [gpu for gpu in monitor.sample() if gpu.utilization > 0.9]
    """

    gpu: int
    utilization: float
    memory: float


@dataclass(slots=True)
class RunningStatistics:
    """Running statistics of values: their number, sum, minimum and maximum."""

    count: int = 0
    total: float = 0.0
    minimum: float = math.nan
    maximum: float = math.nan

    def add(self, value: float) -> None:
        """Add a value; ignore NaN."""
        if math.isnan(value):
            return
        is_first = not self.count
        self.minimum = value if is_first else min(self.minimum, value)
        self.maximum = value if is_first else max(self.maximum, value)
        self.count += 1
        self.total += value

    def as_dict(self) -> dict[str, float]:
        """Return the average, maximum and minimum."""
        average = self.total / self.count if self.count else math.nan
        return {"average": average, "maximum": self.maximum, "minimum": self.minimum}


@dataclass(slots=True)
class GPUStatistics:
    """Running statistics of all samples of one GPU."""

    name: str
    idle_below: float
    samples: int = 0
    idle: int = 0
    utilization: RunningStatistics = field(default_factory=RunningStatistics)
    memory: RunningStatistics = field(default_factory=RunningStatistics)

    def add(self, sample: GPUSample) -> None:
        """Add a sample."""
        self.samples += 1
        self.idle += sample.utilization < self.idle_below
        self.utilization.add(sample.utilization)
        self.memory.add(sample.memory)

    def describe(self, number: int) -> str:
        """Describe the utilization of the GPU in a sentence."""
        busy = self.utilization.total / self.utilization.count
        idle = self.idle / self.utilization.count
        return (
            f"GPU {number} was busy {busy:.0%} of the time, idle in {idle:.0%} of samples"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON values."""
        seen = self.utilization.count
        return {
            "name": self.name,
            "samples": self.samples,
            "utilization": self.utilization.as_dict(),
            "memory": self.memory.as_dict(),
            "idle": self.idle / seen if seen else math.nan,
        }


class GPUs:
    """The GPUs that are visible to this process; without NVML, an empty list and a note."""

    def __init__(self) -> None:
        self._library: Any = open_library()
        self.note = ""
        self._devices: list[MonitoredDevice] = []
        try:
            self._devices = list_devices(self._library)
        except self._library.NVMLError as error:
            self.note = f"no GPU is sampled: {error}"
        if not self._devices and not self.note:
            self.note = "no GPU is sampled: NVML found none"
        self.names = {number: str(it.name()) for number, it in enumerate(self._devices)}

    def read(self) -> tuple[GPUSample, ...]:
        """Sample all GPUs; after an error of one GPU, no GPU is sampled again."""
        try:
            return tuple(
                GPUSample(
                    number, _number(it.gpu_utilization()) / 100, _number(it.memory_used())
                )
                for number, it in enumerate(self._devices)
            )
        except self._library.NVMLError as error:
            self.note = f"sampling of GPUs stopped: {error}"
            self._devices = []
            return ()


def _number(value: float | str) -> float:
    """Return a number, or NaN for the string NA of nvitop."""
    return float(value) if isinstance(value, (int, float)) else math.nan


class MonitoredDevice(Protocol):
    """Interface of a GPU, whose methods raise errors of nvitop or pynvml."""

    def name(self) -> str:
        """Return the model name of the GPU."""
        ...

    def gpu_utilization(self) -> float | str:
        """Return the utilization in percent."""
        ...

    def memory_used(self) -> float | str:
        """Return the GPU memory in use, in bytes."""
        ...


def is_installed() -> bool:
    """Return whether a library that reads GPUs is installed, without importing it."""
    return any(find_spec(name) is not None for name in _GPU_LIBRARIES)


def open_library() -> Any:
    """Import nvitop or pynvml, whose ``NVMLError`` is the base class of all GPU errors."""
    for name in _GPU_LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise MissingExtraError(
        "sl.infer.GPUMonitor needs nvitop or pynvml: pip install nvitop"
    )


def list_devices(library: Any) -> list[MonitoredDevice]:
    """Return the GPUs that are visible to this process, in CUDA's order."""
    if not hasattr(library, "Device"):
        return _list_by_pynvml(library)
    # Without NVML, nvitop writes a long message to standard error.
    with contextlib.redirect_stderr(io.StringIO()):
        is_there = library.Device.is_available()
        return list(library.Device.cuda.all()) if is_there else []


@dataclass(frozen=True, slots=True)
class _PynvmlDevice:
    """A GPU that is read with pynvml."""

    nvml: Any
    handle: Any

    def name(self) -> str:
        """Return the model name of the GPU."""
        return _decode_text(self.nvml.nvmlDeviceGetName(self.handle))

    def gpu_utilization(self) -> float:
        """Return the utilization in percent."""
        return self._read(lambda: self.nvml.nvmlDeviceGetUtilizationRates(self.handle).gpu)

    def memory_used(self) -> float:
        """Return the GPU memory in use, in bytes."""
        return self._read(lambda: self.nvml.nvmlDeviceGetMemoryInfo(self.handle).used)

    def _read(self, read: Callable[[], float]) -> float:
        """Read a number; return NaN if it is not available, as for a MIG device."""
        try:
            return read()
        except self.nvml.NVMLError as error:
            if getattr(error, "value", None) == self.nvml.NVML_ERROR_NOT_SUPPORTED:
                return math.nan
            raise


def _list_by_pynvml(nvml: Any) -> list[MonitoredDevice]:
    """Return the GPUs that ``CUDA_VISIBLE_DEVICES`` allows, with pynvml."""
    nvml.nvmlInit()
    handles = [
        nvml.nvmlDeviceGetHandleByIndex(number)
        for number in range(nvml.nvmlDeviceGetCount())
    ]
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return [_PynvmlDevice(nvml, handle) for handle in handles]
    found: list[MonitoredDevice] = []
    for word in allowed.split(","):
        handle = _find_handle(nvml, handles, word.strip())
        if handle is None:  # as in CUDA, all entries after an invalid entry are ignored
            break
        found.append(_PynvmlDevice(nvml, handle))
    return found


def _find_handle(nvml: Any, handles: list[Any], word: str) -> Any:
    """Find a GPU by its number or the start of its UUID; None if no GPU matches."""
    if word.isdecimal():
        number = int(word)
        return handles[number] if number < len(handles) else None
    if word.startswith("MIG-"):
        return nvml.nvmlDeviceGetHandleByUUID(word)
    uuids = (_decode_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles)
    pairs = zip(handles, uuids, strict=True)
    is_uuid = word.startswith("GPU-")
    return next((it for it, uuid in pairs if is_uuid and uuid.startswith(word)), None)


def _decode_text(value: str | bytes) -> str:
    """Convert bytes, which older versions of pynvml return, to a string."""
    return value.decode() if isinstance(value, bytes) else value
