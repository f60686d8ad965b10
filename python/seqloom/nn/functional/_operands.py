"""Further arguments of a function: tensors, arrays or lists, on the first one's backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

REDUCTIONS = ("mean", "sum", "none")


def beside(x: Tensor, data: Any, dtype: Any = None) -> Tensor:
    """Data as a tensor that can meet `x`; a tensor as it is, in the type asked for."""
    if not isinstance(data, Tensor):
        return Tensor(x.backend.asarray(data, dtype=dtype), x.backend)
    return data if dtype is None or data.dtype == dtype else data.astype(dtype)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Losses as they are, summed, or their mean."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of {REDUCTIONS}, got {reduction!r}")
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """One number for both axes, or one for each."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])
