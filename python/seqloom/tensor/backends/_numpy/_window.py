"""How windows lie, and arrays of one axis of places as arrays of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]

Size = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Strides, paddings and dilations, a number for each axis of places."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @staticmethod
    def of(
        axes: int, *, stride: Size = 1, padding: Size = 0, dilation: Size = 1
    ) -> Geometry:
        """From numbers, or one for each axis."""
        return Geometry(pair(stride, axes), pair(padding, axes), pair(dilation, axes))

    @property
    def steps(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """As pairs of (height, width)."""
        if len(self.stride) == 2:  # noqa: PLR2004 - a height and a width
            return self.stride, self.padding, self.dilation
        return (1, *self.stride), (0, *self.padding), (1, *self.dilation)

    def windows(self, lengths: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit along each axis."""
        axes = zip(lengths, kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)

    def lengths(
        self, windows: Sequence[int], kernel: Sequence[int], extra: Sequence[int]
    ) -> tuple[int, ...]:
        """How long the axes are that have so many windows, and something more."""
        axes = zip(
            windows, kernel, self.stride, self.padding, self.dilation, extra, strict=True
        )
        return tuple(
            (n - 1) * s - 2 * p + d * (k - 1) + more + 1 for n, k, s, p, d, more in axes
        )


def pair(size: Size, axes: int) -> tuple[int, ...]:
    """One number for each axis."""
    return (size,) * axes if isinstance(size, int) else tuple(size)


def flat(x: Floats) -> Floats:
    """The array in C order, a height of one before a single axis of places."""
    x = np.ascontiguousarray(x)
    return x if x.ndim > 3 else x[:, :, None, :]  # noqa: PLR2004 - (n, c, l)
