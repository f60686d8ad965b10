"""Further arguments of a function: tensors, arrays or lists, on the first one's backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError, OutOfRangeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._backend import make_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

REDUCTIONS = ("mean", "sum", "none")


def beside(x: Tensor, data: Any, dtype: Any = None) -> Tensor:
    """Data as a tensor that can meet `x`; a tensor as it is, in the type asked for."""
    if not isinstance(data, Tensor):
        # Copied: a gradient may read it after its owner has written it.
        return Tensor(make_array(data, dtype, x.backend), x.backend)
    return data if dtype is None or data.dtype == dtype else data.astype(dtype)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Losses as they are, summed, or their mean."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of {REDUCTIONS}, got {reduction!r}")
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def on_host(data: Any) -> NDArray[Any] | None:
    """Data that can be read without waiting for a device; None for what cannot."""
    raw: Any = data.raw if isinstance(data, Tensor) else np.asarray(data)
    if isinstance(raw, np.ndarray):
        return cast("NDArray[Any]", raw)
    library = type(raw).__module__.partition(".")[0]
    if library not in {"torch", "jaxlib"} or data.backend.device != "cpu":
        return None
    return raw.numpy() if library == "torch" else np.asarray(raw)


def require_below(name: str, data: Any, count: int) -> None:
    """Refuses whole numbers outside of 0 to `count`, where they lie on the host."""
    values = on_host(data)
    if values is None or not values.size:
        return
    least, most = values.min(), values.max()
    if least < 0 or most >= count:
        found = least if least < 0 else most
        raise OutOfRangeError(
            f"{name}: expected numbers from 0 to {count} (excluded), got {found}"
        )


def refused_below_0(data: Tensor, count: int) -> Tensor:
    """Whole numbers for an operation that counts those below 0 from the end of an axis."""
    if on_host(data) is not None:
        return data
    # A place that is none, so that the operation refuses it, or gives NaN.
    return apply("where", data < 0, count, data)
