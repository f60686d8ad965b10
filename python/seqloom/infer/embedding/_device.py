"""Where a model computes, as the loop sees it: arrays in, rows out."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom._ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Rows(Protocol):
    """Rows on their way back from a device."""

    def wait(self) -> NDArray[Any]:
        """Waits until they are here."""
        ...


class Device(Protocol):
    """What the loop asks of the place where a model computes."""

    name: str
    is_cold: bool  # until the first batch, whose time tells nothing of the others'

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Puts the arrays of a batch there, without waiting for it."""
        ...

    def computing(self) -> AbstractContextManager[Any]:
        """Computes in this block, without recording gradients."""
        ...

    def take(self, values: Any, rows: NDArray[np.int64]) -> Any:
        """Picks rows."""
        ...

    def sum_rows(self, values: Any, counts: NDArray[np.int64]) -> Any:
        """Sums so many rows each."""
        ...

    def fetch(self, values: Any) -> Rows:
        """Begins to bring rows back, without waiting for them."""
        ...

    def is_full(self, error: BaseException) -> bool:
        """Says whether an error means that the memory is full; then frees what it can."""
        ...


class FetchedRows:
    """Rows that are here."""

    __slots__ = ("_values",)

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values

    def wait(self) -> NDArray[Any]:
        """Returns them."""
        return self._values


class HostDevice:
    """A processor: the arrays of torch and of ours are read where they are."""

    name = "cpu"
    is_cold = False

    def place(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Leaves the arrays where they are."""
        return dict(batch)

    def computing(self) -> AbstractContextManager[Any]:
        """Computes; torch, if it is loaded, records nothing."""
        torch: Any = sys.modules.get("torch")
        return nullcontext() if torch is None else torch.inference_mode()

    def take(self, values: Any, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Picks rows."""
        return to_numpy(values)[rows]

    def sum_rows(self, values: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[Any]:
        """Sums so many rows each."""
        firsts = offsets_of(counts)[:-1]
        return np.add.reduceat(values, firsts, axis=0, dtype=np.float64)

    def fetch(self, values: Any) -> FetchedRows:
        """Has them at once."""
        return FetchedRows(to_numpy(values))

    def is_full(self, error: BaseException) -> bool:
        """Says whether there was no memory."""
        return isinstance(error, MemoryError)


def to_numpy(values: Any) -> NDArray[Any]:
    """Reads an array of any library; NumPy has no bfloat16, so that becomes float32."""
    raw = getattr(values, "raw", values)
    if hasattr(raw, "detach"):
        raw = raw.detach()
        raw = raw.float() if "bfloat16" in str(raw.dtype) else raw
        return raw.cpu().numpy()
    array = np.asarray(raw)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
