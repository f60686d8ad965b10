"""The PyTorch GPU of an embedding job, with concurrent copies to and from the GPU."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch

from seqloom._ragged import lengths_to_offsets
from seqloom.infer.embedding._model import CpuDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

_MAX_COPIES = 8  # maximum number of unfinished copies to the device
_ALIGNMENT = 256  # alignment of arrays in bytes, which kernels need


class TorchDevice(CpuDevice):
    """A CUDA device with streams for computing, and for copies to and from the device."""

    is_cold = True

    def __init__(self, device: str) -> None:
        self.name = device
        self._device = torch.device(device)
        self._there = torch.cuda.Stream(self._device)
        self._back = torch.cuda.Stream(self._device)
        self._ring, self._results = PinnedBuffers(), PinnedBuffers()
        self._waiting: deque[tuple[Any, torch.Tensor]] = deque()

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Copy numeric arrays to the GPU through pinned memory while the GPU computes."""
        slab = PackedArrays.of(batch)
        buffer = self._ring.take(slab.size)
        pinned = slab.write(buffer)
        computing = torch.cuda.current_stream(self._device)
        with torch.cuda.stream(self._there):
            there = pinned.to(self._device, non_blocking=True)
            copied = self._there.record_event(new_event())
        computing.wait_event(copied)
        # The copy stream allocated this memory, so PyTorch must not reuse it before the
        # compute stream has finished.
        there.record_stream(computing)
        self._waiting.append((copied, buffer))
        self._release_buffers()
        return {**batch, **slab.read(there)}

    def _release_buffers(self) -> None:
        """Release the buffers of finished copies; wait if too many are in progress."""
        while self._waiting:
            copied, buffer = self._waiting[0]
            if len(self._waiting) > _MAX_COPIES:
                copied.synchronize()
            elif not copied.query():
                return
            self._waiting.popleft()
            self._ring.give(buffer)

    def computing(self) -> AbstractContextManager[Any]:
        """Return a context in which no gradients are recorded."""
        return torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> torch.Tensor:
        """Select rows of a tensor."""
        return _unwrap_tensor(values).index_select(0, self._copy_indices(rows))

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> torch.Tensor:
        """Sum consecutive rows as float32; `counts` has the number of rows for each sum."""
        lengths = self._copy_indices(counts)
        return torch.segment_reduce(
            _unwrap_tensor(values).float(), "sum", lengths=lengths, unsafe=True
        )

    def _copy_indices(self, numbers: NDArray[np.int64]) -> torch.Tensor:
        """Copy row indices to the device, without waiting."""
        return self.place({"numbers": numbers})["numbers"]

    def fetch(self, values: Any) -> Callable[[], NDArray[Any]]:
        """Start the copy from the device; return a function that waits for the copy."""
        values = _unwrap_tensor(values)
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
        """Return whether an error means that memory is full; if so, free memory."""
        # cuBLAS reports a lack of workspace memory only as a general error.
        is_ours = isinstance(error, torch.OutOfMemoryError)
        if not is_ours and "CUBLAS_STATUS_ALLOC_FAILED" not in str(error):
            return isinstance(error, MemoryError)
        torch.cuda.empty_cache()
        return True


def new_event() -> Any:
    """Create a CUDA event; a thread that waits for the event sleeps instead of polling."""
    return torch.cuda.Event(blocking=True)


def _unwrap_tensor(values: Any) -> torch.Tensor:
    """Return the PyTorch tensor in a seqloom tensor."""
    return getattr(values, "raw", values)


class PinnedBuffers:
    """Buffers of pinned memory, reused because pinning new memory would stall the device.

    Several threads may borrow and return buffers at the same time.
    """

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []

    def take(self, size: int) -> torch.Tensor:
        """Borrow a buffer of at least `size` bytes; replace a buffer that is too small."""
        for position, buffer in enumerate(self._free):
            if buffer.numel() >= size:
                return self._free.pop(position)
        if self._free:
            self._free.pop(0)
        return pin_buffer(size + size // 4)

    def give(self, buffer: torch.Tensor) -> None:
        """Return a buffer after its copy has finished."""
        self._free.append(buffer)


def pin_buffer(size: int) -> torch.Tensor:
    """Return a new pinned buffer."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


class PackedArrays(NamedTuple):
    """Packs arrays into one buffer, so that a single copy transfers all arrays."""

    arrays: Mapping[str, NDArray[Any]]
    starts: Any
    size: int

    @classmethod
    def of(cls, batch: Mapping[str, Any]) -> PackedArrays:
        """Assign an offset to each numeric array."""
        arrays = {name: it for name, it in batch.items() if _is_numeric(it)}
        sizes = [-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays.values()]
        starts = lengths_to_offsets(np.array(sizes, np.int64)).tolist()
        return cls(arrays, starts[:-1], starts[-1])

    def write(self, buffer: torch.Tensor) -> torch.Tensor:
        """Copy the arrays into a buffer on the CPU; return the filled part."""
        host = buffer.numpy()
        for array, start in zip(self.arrays.values(), self.starts, strict=True):
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            host[start : start + array.nbytes] = flat
        return buffer[: self.size]

    def read(self, buffer: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the arrays as views of a copied buffer."""
        places = zip(self.arrays.items(), self.starts, strict=True)
        return {
            name: buffer[start : start + array.nbytes]
            .view(torch.as_tensor(np.empty(0, array.dtype)).dtype)
            .reshape(array.shape)
            for (name, array), start in places
        }


def _is_numeric(value: Any) -> bool:
    """Return whether a value is an array whose dtype PyTorch supports."""
    is_array = isinstance(value, np.ndarray)
    return is_array and cast("NDArray[Any]", value).dtype.kind in "biufc"
