"""Converts further arguments (tensors, arrays, lists) to the backend of the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError
from seqloom.tensor import Tensor, apply
from seqloom.tensor._backend import make_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

REDUCTIONS = ("mean", "sum", "none")


def as_operand(x: Tensor, data: object, dtype: Any = None) -> Tensor:
    """Returns data as a tensor on the backend of `x`, cast to `dtype` if that is given."""
    if not isinstance(data, Tensor):
        # Copied: a gradient may read the array after the caller has changed it.
        return Tensor(make_array(data, dtype, x.backend), x.backend)
    return data if dtype is None or data.dtype == dtype else data.astype(dtype)


def to_target(x: Tensor, target: object) -> Tensor:
    """Returns the target of a loss as a tensor, which must have the shape of `x`."""
    found = as_operand(x, target, x.dtype)
    if found.shape != x.shape:
        # Shapes such as (n, 1) and (n,) would broadcast to (n, n).
        same = found.size == x.size
        hint = f"; give target.reshape({x.shape})" if same else ""
        raise ShapeError(
            f"target must have the shape of x, {x.shape}, got {found.shape}{hint}"
        )
    return found


def make_range(x: Tensor, length: int) -> Tensor:
    """Returns whole numbers from 0, made on the device of `x`: nothing is copied there."""
    return Tensor(x.backend.arange(length, dtype="int32"), x.backend)


def reduce_losses(losses: Tensor, reduction: str) -> Tensor:
    """Returns the mean or the sum of losses, or the losses themselves."""
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"reduction must be one of {REDUCTIONS}, got {reduction!r}")
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def read_host_array(data: Any) -> NDArray[Any] | None:
    """Returns data as a NumPy array; None if that would wait for a device."""
    raw: Any = data.raw if isinstance(data, Tensor) else data
    if isinstance(raw, np.ndarray):
        return cast("NDArray[Any]", raw)
    library = type(raw).__module__.partition(".")[0]
    if library not in {"torch", "jaxlib"}:
        return None if isinstance(data, Tensor) else np.asarray(raw)
    is_here = "cpu" in str(raw.device).lower()  # jax says CPU
    return np.asarray(raw) if is_here else None


def require_below(name: str, data: object, count: int) -> None:
    """Refuses integers outside of 0 to `count`, if they are on the host."""
    values = read_host_array(data)
    if values is None or not values.size:
        return
    least, most = values.min(), values.max()
    if least < 0 or most >= count:
        wrong = least if least < 0 else most
        raise OutOfRangeError(
            f"{name}: expected integers from 0 to {count - 1}, got {wrong}"
        )


def replace_negative(data: Tensor, count: int) -> Tensor:
    """Replaces negative integers, which an operation would count from the end."""
    if read_host_array(data) is not None:
        return data
    # An index out of range, which the operation refuses, or for which it gives NaN.
    return apply("where", data < 0, count, data)
