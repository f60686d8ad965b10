"""Windows as columns, and columns back into windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom.tensor._defaults._window import Windows, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._convolution import Size
    from seqloom.tensor._defaults._standard import Array, Functions


def unfold(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
) -> Array:
    """Each window of ``(n, c, h, w)`` as a column: ``(n, c * kh * kw, windows)``."""
    windows = Windows.of(pairs(kernel, 2), stride, padding, dilation)
    taps = [seen for _, seen in windows.taps(b, x, 0)]
    columns = b.stack(taps, axis=2)
    places = math.prod(windows.counts(x.shape[2:]))
    return b.reshape(columns, (x.shape[0], x.shape[1] * len(taps), places))


def fold(
    b: Functions,
    x: Array,
    *,
    shape: Sequence[int],
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
) -> Array:
    """Adds columns up where their windows stood in an image of ``shape`` (h, w)."""
    windows = Windows.of(pairs(kernel, 2), stride, padding, dilation)
    counts = windows.counts(shape)
    high, wide = windows.kernel
    channels = x.shape[1] // (high * wide)
    columns = b.reshape(x, (x.shape[0], channels, high, wide, *counts))

    def share(tap: tuple[int, ...]) -> Array:
        return b.index(columns, (slice(None), slice(None), *tap, ...))

    return windows.gathered(b, share, (*columns.shape[:2], *shape))
