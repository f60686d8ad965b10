"""A GPU under torch: copies in both directions run beside the computation."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch

from seqloom._ragged import offsets_of
from seqloom.infer.embedding._model import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_RING = 8  # buffers on their way to the device
_ALIGNED = 256  # bytes; kernels load from such places


class TorchDevice(Device):
    """A CUDA device: one stream computes, one copies there, one copies back."""

    is_cold = True

    def __init__(self, device: str) -> None:
        self.name = device
        self._device = torch.device(device)
        self._there = torch.cuda.Stream(self._device)
        self._back = torch.cuda.Stream(self._device)
        self._ring, self._results = PinnedRing(), PinnedRing()
        self._waiting: deque[tuple[Any, torch.Tensor]] = deque()

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Copy arrays of numbers through pinned memory, during the computation."""
        slab = Slab.of(batch)
        buffer = self._ring.take(slab.size)
        pinned = slab.write(buffer)
        computing = torch.cuda.current_stream(self._device)
        with torch.cuda.stream(self._there):
            there = pinned.to(self._device, non_blocking=True)
            copied = self._there.record_event(new_event())
        computing.wait_event(copied)
        # The memory belongs to the stream that copies; keep it until it was computed on.
        there.record_stream(computing)
        self._waiting.append((copied, buffer))
        self._reuse()
        return {**batch, **slab.read(there)}

    def _reuse(self) -> None:
        """Reuse the buffers of copies that ended; waits for the oldest of too many."""
        while self._waiting:
            copied, buffer = self._waiting[0]
            if len(self._waiting) > _RING:
                copied.synchronize()
            elif not copied.query():
                return
            self._waiting.popleft()
            self._ring.give(buffer)

    def computing(self) -> AbstractContextManager[Any]:
        """Return a block in which no gradients are recorded."""
        return torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> torch.Tensor:
        """Select rows."""
        return _raw(values).index_select(0, self._numbers(rows))

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> torch.Tensor:
        """Sum consecutive rows as float32, `counts` of them for each result."""
        lengths = self._numbers(counts)
        return torch.segment_reduce(
            _raw(values).float(), "sum", lengths=lengths, unsafe=True
        )

    def _numbers(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        """Copy row numbers to the device, without waiting."""
        return self.place({"numbers": numbers})["numbers"]

    def fetch(self, values: Any) -> Callable[[], NDArray[Any]]:
        """Begin the copy back; returns a function that waits for it."""
        values = _raw(values)
        buffer = self._results.take(values.nbytes)
        rows = buffer[: values.nbytes].view(values.dtype).reshape(values.shape)
        self._back.wait_stream(torch.cuda.current_stream(values.device))
        with torch.cuda.stream(self._back):
            rows.copy_(values, non_blocking=True)
            copied = self._back.record_event(new_event())
        values.record_stream(self._back)

        def wait() -> NDArray[Any]:
            copied.synchronize()
            result = np.array(rows.float().numpy())
            self._results.give(buffer)
            return result

        return wait

    def is_full(self, error: BaseException) -> bool:
        """Return whether memory is full, and frees unused memory."""
        # cuBLAS has no error of its own for the memory that it works in.
        is_ours = isinstance(error, torch.OutOfMemoryError)
        if not is_ours and "CUBLAS_STATUS_ALLOC_FAILED" not in str(error):
            return isinstance(error, MemoryError)
        torch.cuda.empty_cache()
        return True


def new_event() -> Any:
    """Make an event for which a thread sleeps instead of keeping a core busy."""
    return torch.cuda.Event(blocking=True)


def _raw(values: Any) -> torch.Tensor:
    """Return the tensor of torch in a tensor of seqloom."""
    return getattr(values, "raw", values)


class PinnedRing:
    """Pinned buffers that are used again, because pinning new memory stops the device.

    One thread takes, another may give.
    """

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []

    def take(self, size: int) -> torch.Tensor:
        """Return a buffer of at least `size` bytes; replaces one that is too small."""
        for position, buffer in enumerate(self._free):
            if buffer.numel() >= size:
                return self._free.pop(position)
        if self._free:
            self._free.pop(0)
        return pin(size + size // 4)

    def give(self, buffer: torch.Tensor) -> None:
        """Take a buffer back whose copy has ended."""
        self._free.append(buffer)


def pin(size: int) -> torch.Tensor:
    """Make a pinned buffer."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


class Slab(NamedTuple):
    """Arrays side by side in one buffer, which one copy takes to the device."""

    arrays: Mapping[str, NDArray[Any]]
    starts: Any
    size: int

    @classmethod
    def of(cls, batch: Mapping[str, Any]) -> Slab:
        """Return each array of numbers a place."""
        arrays = {name: it for name, it in batch.items() if _is_numeric(it)}
        sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays.values()]
        starts = offsets_of(np.array(sizes, np.int64)).tolist()
        return cls(arrays, starts[:-1], starts[-1])

    def write(self, buffer: torch.Tensor) -> torch.Tensor:
        """Copy the arrays into a buffer on the host; returns the part that they fill."""
        host = buffer.numpy()
        for array, start in zip(self.arrays.values(), self.starts, strict=True):
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            host[start : start + array.nbytes] = flat
        return buffer[: self.size]

    def read(self, buffer: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the arrays as views of a copy of the buffer."""
        places = zip(self.arrays.items(), self.starts, strict=True)
        return {
            name: buffer[start : start + array.nbytes]
            .view(torch.as_tensor(np.empty(0, array.dtype)).dtype)
            .reshape(array.shape)
            for (name, array), start in places
        }


def _is_numeric(value: Any) -> bool:
    """Return whether a value is an array of a type that torch has."""
    is_array = isinstance(value, np.ndarray)
    return is_array and cast("NDArray[Any]", value).dtype.kind in "biufc"
