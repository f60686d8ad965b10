"""What the kernels' callers share: the backend allocates, the kernel fills."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._blocks import fresh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


def fill(
    kernel: Any, x: Floats, *rest: Any, threads: int, out: Floats | None = None
) -> Floats:
    """Runs an elementwise kernel: its output is shaped as its input."""
    x = to_contiguous(x)
    made = make_out(out, x.shape, x.dtype)
    kernel(x, *rest, made, threads)
    return write_to(made, out)


def to_contiguous(x: Any) -> Floats:
    """The array without gaps, in C order; with all its axes, which may be none."""
    x = np.asarray(x)
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


def to_rows(x: Floats) -> Floats:
    """The array without gaps, all but its last axis as one."""
    return to_contiguous(x).reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def make_out(out: Floats | None, shape: Any, dtype: Any) -> Floats:
    """Where a kernel writes: in the given array, unless that has gaps."""
    if out is not None and out.flags.c_contiguous:
        return out
    return fresh(shape, dtype)


def write_to(made: Floats, out: Floats | None) -> Floats:
    """What a kernel made, in the given array where there is one."""
    if out is None or made is out:
        return made
    out[...] = made
    return out


def split_heads(made: Floats, heads: int) -> tuple[Floats, Floats, Floats]:
    """Queries, keys and values ``(..., heads, d)`` as parts of one array of their rows."""
    width = made.shape[-1] // (3 * heads)
    parts = made.reshape((*made.shape[:-1], 3, heads, width))
    return parts[..., 0, :, :], parts[..., 1, :, :], parts[..., 2, :, :]
