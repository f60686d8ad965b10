"""Pinned memory, from and to which a GPU copies while it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch

from seqloom._ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_ALIGNED = 256  # bytes; kernels load from such places


class PinnedRing:
    """Pinned buffers that are used again: to pin new memory stops the device.

    One thread takes, another may give.
    """

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []

    def take(self, size: int) -> torch.Tensor:
        """Finds a buffer of so many bytes, or makes one for one that is too small."""
        for position, buffer in enumerate(self._free):
            if buffer.numel() >= size:
                return self._free.pop(position)
        if self._free:
            self._free.pop(0)
        return pin(size + size // 4)

    def give(self, buffer: torch.Tensor) -> None:
        """Takes a buffer back whose copy has ended."""
        self._free.append(buffer)


def pin(size: int) -> torch.Tensor:
    """Makes a buffer of so many bytes."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


class Slab(NamedTuple):
    """Arrays side by side in one buffer, which one copy takes to the device."""

    arrays: Mapping[str, NDArray[Any]]
    starts: Any
    size: int

    @classmethod
    def of(cls, batch: Mapping[str, Any]) -> Slab:
        """Gives each array of numbers a place; anything else has none."""
        arrays = {name: it for name, it in batch.items() if _is_numeric(it)}
        sizes = [-(-array.nbytes // _ALIGNED) * _ALIGNED for array in arrays.values()]
        starts = offsets_of(np.array(sizes, np.int64)).tolist()
        return cls(arrays, starts[:-1], starts[-1])

    def write(self, buffer: torch.Tensor) -> torch.Tensor:
        """Copies the arrays into a buffer on the host; returns the part that they fill."""
        host = buffer.numpy()
        for array, start in zip(self.arrays.values(), self.starts, strict=True):
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            host[start : start + array.nbytes] = flat
        return buffer[: self.size]

    def read(self, buffer: torch.Tensor) -> dict[str, torch.Tensor]:
        """Views the arrays in a copy of the buffer."""
        places = zip(self.arrays.items(), self.starts, strict=True)
        return {
            name: buffer[start : start + array.nbytes]
            .view(torch.as_tensor(np.empty(0, array.dtype)).dtype)
            .reshape(array.shape)
            for (name, array), start in places
        }


def _is_numeric(value: Any) -> bool:
    """Says whether a value is an array that torch has."""
    is_array = isinstance(value, np.ndarray)
    return is_array and cast("NDArray[Any]", value).dtype.kind in "biufc"
