"""A GPU under torch: copies in both directions run beside the computation."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from seqloom.infer.embedding._pinned import PinnedRing, Slab

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_RING = 8  # buffers on their way to the device


class TorchRows:
    """Rows that a stream copies into pinned memory."""

    __slots__ = ("_buffer", "_done", "_ring", "_rows")

    def __init__(self, ring: PinnedRing, values: torch.Tensor, stream: Any) -> None:
        self._ring = ring
        self._buffer = ring.take(values.nbytes)
        rows = self._buffer[: values.nbytes].view(values.dtype).reshape(values.shape)
        stream.wait_stream(torch.cuda.current_stream(values.device))
        with torch.cuda.stream(stream):
            self._rows = rows.copy_(values, non_blocking=True)
            self._done = stream.record_event(new_event())
        values.record_stream(stream)

    def wait(self) -> NDArray[Any]:
        """Waits for the copy, in the thread that writes, and gives the buffer back."""
        self._done.synchronize()
        found = np.array(self._rows.float().numpy())
        self._ring.give(self._buffer)
        return found


class TorchDevice:
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
        """Copies arrays of numbers through pinned memory, beside the computation."""
        slab = Slab.of(batch)
        buffer = self._ring.take(slab.size)
        pinned = slab.write(buffer)
        computing = torch.cuda.current_stream(self._device)
        with torch.cuda.stream(self._there):
            there = pinned.to(self._device, non_blocking=True)
            copied = self._there.record_event(new_event())
        computing.wait_event(copied)
        # Its memory is of the stream that copies: it is not free before it was computed on.
        there.record_stream(computing)
        self._waiting.append((copied, buffer))
        self._reuse()
        return {**batch, **slab.read(there)}

    def _reuse(self) -> None:
        """Takes back the buffers of copies that ended; the oldest may be waited for."""
        while self._waiting:
            copied, buffer = self._waiting[0]
            if len(self._waiting) > _RING:
                copied.synchronize()
            elif not copied.query():
                return
            self._waiting.popleft()
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
        # cuBLAS has no error of its own for the memory that it works in.
        is_ours = isinstance(error, torch.OutOfMemoryError)
        if not is_ours and "CUBLAS_STATUS_ALLOC_FAILED" not in str(error):
            return isinstance(error, MemoryError)
        torch.cuda.empty_cache()
        return True


def new_event() -> Any:
    """Makes an event for which a thread sleeps, where it would keep a core busy."""
    return torch.cuda.Event(blocking=True)


def _raw(values: Any) -> torch.Tensor:
    """Unwraps a tensor of ours."""
    return getattr(values, "raw", values)
