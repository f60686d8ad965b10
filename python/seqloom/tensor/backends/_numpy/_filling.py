"""What the kernels' callers share: the backend allocates, the kernel fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


def fill(kernel: Any, x: Floats, *rest: Any, threads: int) -> Floats:
    """Runs an elementwise kernel: its output is shaped as its input."""
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    kernel(x.reshape(-1), *(_flat(value) for value in rest), out.reshape(-1), threads)
    return out


def _flat(value: Any) -> Any:
    """A further array as one row; a number as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return np.ascontiguousarray(cast("Floats", value)).reshape(-1)


def fill_rows(kernel: Any, x: Floats, threads: int) -> Floats:
    """Runs a kernel over the last axis."""
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    rows = (-1, x.shape[-1])
    kernel(x.reshape(rows), out.reshape(rows), threads)
    return out


def windows(length: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit into a padded row."""
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
