"""A GPU under torch: copies in both directions run beside the computation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_RING = 4  # batches on their way to the device, and rows on their way back


class TorchRows:
    """Rows that a stream copies into pinned memory."""

    __slots__ = ("_buffer", "_done", "_ring", "_shape")

    def __init__(self, ring: PinnedRing, values: torch.Tensor, stream: Any) -> None:
        self._ring, self._shape = ring, values.shape
        self._buffer = ring.take(values.numel(), values.dtype)
        stream.wait_stream(torch.cuda.current_stream(values.device))
        with torch.cuda.stream(stream):
            self._buffer[: values.numel()].copy_(values.reshape(-1), non_blocking=True)
            self._done = stream.record_event()
        values.record_stream(stream)

    def wait(self) -> NDArray[Any]:
        """Waits for the copy, in the thread that writes, and gives the buffer back."""
        self._done.synchronize()
        rows = self._buffer[: self._shape.numel()].reshape(self._shape).float().numpy()
        found = np.array(rows)
        self._ring.give(self._buffer)
        return found


class PinnedRing:
    """Pinned buffers that are used again: to pin new memory stops the device."""

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []

    def take(self, size: int, dtype: torch.dtype) -> torch.Tensor:
        """Finds a buffer that is large enough, or makes one with room to spare."""
        for position, buffer in enumerate(self._free):
            if buffer.dtype is dtype and buffer.numel() >= size:
                return self._free.pop(position)
        if len(self._free) >= _RING:
            self._free.pop(0)
        return torch.empty(size + size // 4, dtype=dtype, pin_memory=True)

    def give(self, buffer: torch.Tensor) -> None:
        """Takes a buffer back whose copy has ended."""
        self._free.append(buffer)


class TorchDevice:
    """A CUDA device: one stream computes, one copies there, one copies back."""

    def __init__(self, device: str) -> None:
        self.name = device
        self._device = torch.device(device)
        self._there = torch.cuda.Stream(self._device)
        self._back = torch.cuda.Stream(self._device)
        self._ring, self._results = PinnedRing(), PinnedRing()
        self._waiting: list[tuple[Any, list[torch.Tensor]]] = []

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Copies arrays of numbers through pinned memory, beside the computation."""
        buffers: list[torch.Tensor] = []
        with torch.cuda.stream(self._there):
            placed = {name: self._copy(it, buffers) for name, it in batch.items()}
            copied = self._there.record_event()
        torch.cuda.current_stream(self._device).wait_event(copied)
        self._waiting.append((copied, buffers))
        self._reuse()
        return placed

    def _copy(self, value: Any, buffers: list[torch.Tensor]) -> Any:
        """Copies one array; what is no array stays."""
        if not isinstance(value, np.ndarray):
            return value
        source = torch.as_tensor(value)
        buffer = self._ring.take(source.numel(), source.dtype)
        pinned = buffer[: source.numel()].copy_(source.reshape(-1))
        buffers.append(buffer)
        there = pinned.to(self._device, non_blocking=True).reshape(source.shape)
        there.record_stream(torch.cuda.current_stream(self._device))
        return there

    def _reuse(self) -> None:
        """Takes back the buffers of copies that ended; the oldest may be waited for."""
        while self._waiting:
            copied, buffers = self._waiting[0]
            if len(self._waiting) > _RING:
                copied.synchronize()
            elif not copied.query():
                return
            self._waiting.pop(0)
            for buffer in buffers:
                self._ring.give(buffer)

    def computing(self) -> AbstractContextManager[Any]:
        """Computes without recording gradients."""
        return torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> torch.Tensor:
        """Picks rows."""
        return _raw(values).index_select(0, self._numbers(rows))

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> torch.Tensor:
        """Sums so many rows each, as float32."""
        lengths = self._numbers(counts)
        return torch.segment_reduce(
            _raw(values).float(), "sum", lengths=lengths, unsafe=True
        )

    def _numbers(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        """Copies row numbers there, without waiting."""
        return self.place({"numbers": numbers})["numbers"]

    def fetch(self, values: Any) -> TorchRows:
        """Begins the copy back."""
        return TorchRows(self._results, _raw(values), self._back)

    def is_full(self, error: BaseException) -> bool:
        """Says whether the memory is full, and gives unused memory back."""
        if not isinstance(error, torch.OutOfMemoryError):
            return isinstance(error, MemoryError)
        torch.cuda.empty_cache()
        return True


def _raw(values: Any) -> torch.Tensor:
    """Unwraps a tensor of ours."""
    return getattr(values, "raw", values)
