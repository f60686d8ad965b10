"""The GPUs that NVML shows, through nvitop or, where that is not installed, pynvml."""

from __future__ import annotations

import contextlib
import io
import math
import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from seqloom.errors import MissingExtraError

# The first one that is installed is used.
_LIBRARIES = ("nvitop", "pynvml")


class Device(Protocol):
    """A GPU; each call reads a value now, and raises the library's error."""

    def name(self) -> Any:
        """Returns the name of the model."""
        ...

    def gpu_utilization(self) -> Any:
        """Returns the share of the last moments in which it was busy, in percent."""
        ...

    def memory_used(self) -> Any:
        """Returns the bytes in use."""
        ...


def is_installed() -> bool:
    """Says whether a library that reads GPUs is installed, without an import."""
    return any(find_spec(name) is not None for name in _LIBRARIES)


def open_library() -> Any:
    """Imports the library; its ``NVMLError`` is what a GPU raises."""
    for name in _LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise MissingExtraError(
        "sl.infer.GPUMonitor needs nvitop or pynvml: pip install nvitop"
    )


def list_devices(library: Any) -> list[Device]:
    """Lists the GPUs that CUDA shows this process, in CUDA's order."""
    if not hasattr(library, "Device"):
        return _list_by_pynvml(library)
    # Without NVML nvitop writes an essay to standard error.
    with contextlib.redirect_stderr(io.StringIO()):
        is_there = library.Device.is_available()
        return list(library.Device.cuda.all()) if is_there else []


@dataclass(frozen=True, slots=True)
class _Handle:
    """A GPU as pynvml reads it."""

    nvml: Any
    handle: Any

    def name(self) -> str:
        """Returns the name of the model."""
        return _as_text(self.nvml.nvmlDeviceGetName(self.handle))

    def gpu_utilization(self) -> float:
        """Returns the share of the last moments in which it was busy, in percent."""
        return self._read(lambda: self.nvml.nvmlDeviceGetUtilizationRates(self.handle).gpu)

    def memory_used(self) -> float:
        """Returns the bytes in use."""
        return self._read(lambda: self.nvml.nvmlDeviceGetMemoryInfo(self.handle).used)

    def _read(self, read: Any) -> float:
        """Reads a number; NaN if the driver does not offer it, as for a part of a GPU."""
        try:
            return read()
        except self.nvml.NVMLError as error:
            if getattr(error, "value", None) == self.nvml.NVML_ERROR_NOT_SUPPORTED:
                return math.nan
            raise


def _list_by_pynvml(nvml: Any) -> list[Device]:
    """Lists the GPUs that ``CUDA_VISIBLE_DEVICES`` allows; none without a driver."""
    nvml.nvmlInit()
    handles = [
        nvml.nvmlDeviceGetHandleByIndex(number)
        for number in range(nvml.nvmlDeviceGetCount())
    ]
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None:
        return [_Handle(nvml, handle) for handle in handles]
    found: list[Device] = []
    for word in allowed.split(","):
        handle = _find_handle(nvml, handles, word.strip())
        if handle is None:  # CUDA ignores what follows an invalid entry, too
            break
        found.append(_Handle(nvml, handle))
    return found


def _find_handle(nvml: Any, handles: list[Any], word: str) -> Any:
    """Finds a GPU by its number or the beginning of its UUID; None if it has neither."""
    if word.isdecimal():
        number = int(word)
        return handles[number] if number < len(handles) else None
    if word.startswith("MIG-"):
        return nvml.nvmlDeviceGetHandleByUUID(word)
    uuids = (_as_text(nvml.nvmlDeviceGetUUID(handle)) for handle in handles)
    pairs = zip(handles, uuids, strict=True)
    is_uuid = word.startswith("GPU-")
    return next((it for it, uuid in pairs if is_uuid and uuid.startswith(word)), None)


def _as_text(value: Any) -> str:
    """Returns a text; older versions of pynvml give bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)
