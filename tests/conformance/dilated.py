"""Pooling with torch's further options, by padding, indexing and our pooling."""

import math
from typing import Any

import numpy as np

from seqloom.tensor import Tensor, apply


def pooled(
    x: Tensor,
    *,
    axes: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
) -> Tensor:
    """Lays the windows side by side, so that each becomes one step of a plain pooling."""
    every = [(each,) * axes if isinstance(each, int) else each for each in (kernel, stride)]
    pads, steps = ((p,) * axes if isinstance(p, int) else p for p in (padding, dilation))
    key: list[Any] = []
    widths = [(0, 0), (0, 0)]
    for length, k, s, p, d in zip(x.shape[2:], *every, pads, steps, strict=True):
        places = _places(length, k, s, p, d, ceil=ceil)
        widths.append((p, max(0, places[-1] - length - p + 1)))
        key.append(places)
    x = apply("pad", x, tuple(widths), value=-math.inf)
    for axis, places in enumerate(key):
        x = apply("take", x, places, axis=2 + axis)
    size = every[0][0] if axes == 1 else tuple(every[0])
    return apply(f"max_pool{axes}d", x, kernel=size, stride=size)[0]


def _places(length: int, k: int, s: int, p: int, d: int, *, ceil: bool) -> Any:
    """Where each window looks, window after window."""
    span = length + 2 * p - d * (k - 1) - 1
    count = (math.ceil(span / s) if ceil else span // s) + 1
    if ceil and (count - 1) * s >= length + p:
        count -= 1  # a window that begins beyond the padded end sees nothing
    return (np.arange(count)[:, None] * s + np.arange(k) * d).reshape(-1)
