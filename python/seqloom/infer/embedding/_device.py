"""Where a model computes: a processor here, a GPU in `_torch_device`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class Device:
    """A processor; a device with memory of its own overrides all methods."""

    name = "cpu"
    is_cold = False  # True until the first batch, which would take longer than the others

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Copy the arrays of a batch to the device, without waiting for it."""
        return dict(batch)

    def computing(self) -> AbstractContextManager[Any]:
        """Return a block in which torch, if it is loaded, records no gradients."""
        torch: Any = sys.modules.get("torch")
        return nullcontext() if torch is None else torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> Any:
        """Select rows."""
        return to_numpy(values)[rows]

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> Any:
        """Sum consecutive rows, `counts` of them for each result."""
        firsts = offsets_of(counts)[:-1]
        return np.add.reduceat(values, firsts, axis=0, dtype=np.float64)

    def fetch(self, values: Any) -> Callable[[], NDArray[Any]]:
        """Begin to copy rows back; return a function that waits for them."""
        rows = to_numpy(values)
        return lambda: rows

    def is_full(self, error: BaseException) -> bool:
        """Return whether an error means that memory is full; free unused memory then."""
        return isinstance(error, MemoryError)


def to_numpy(values: Any) -> NDArray[Any]:
    """Read an array of any library; NumPy has no bfloat16, so that becomes float32."""
    raw = getattr(values, "raw", values)
    if hasattr(raw, "detach"):
        raw = raw.detach()
        raw = raw.float() if "bfloat16" in str(raw.dtype) else raw
        return raw.cpu().numpy()
    array = np.asarray(raw)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
