"""Windows that slide along the last axes of an array."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seqloom.tensor._defaults._standard import Array, Functions

Tap = tuple[int, ...]


def pairs(size: int | Sequence[int], count: int) -> tuple[int, ...]:
    """One number for each axis."""
    return (size,) * count if isinstance(size, int) else tuple(size)


@dataclass(frozen=True, slots=True)
class Windows:
    """How windows lie: one number for each axis in every field."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil: bool = False  # whether a last window may reach beyond the padding

    @staticmethod
    def of(
        kernel: Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        *,
        ceil: bool = False,
    ) -> Windows:
        """From numbers, or one for each axis."""
        count = len(kernel)
        sizes = (pairs(size, count) for size in (stride, padding, dilation))
        return Windows(tuple(kernel), *sizes, ceil=ceil)

    def counts(self, lengths: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit along each axis."""
        return tuple(
            fitting(length, k, s, p, d, ceil=self.ceil)
            for length, k, s, p, d in self._axes(lengths)
        )

    def lengths(self, counts: Sequence[int], extra: Sequence[int]) -> tuple[int, ...]:
        """How long the axes are that have so many windows, and something more."""
        return tuple(
            (count - 1) * s - 2 * p + d * (k - 1) + more + 1
            for (count, k, s, p, d), more in zip(self._axes(counts), extra, strict=True)
        )

    def taps(
        self, b: Functions, x: Array, value: float, *, counts: Sequence[int] = ()
    ) -> Iterator[tuple[Tap, Array]]:
        """Each place of the kernel, and what it sees in all windows (or the first ones)."""
        lengths = x.shape[-len(self.kernel) :]
        counts = counts or self.counts(lengths)
        widths = ((0, 0),) * (len(x.shape) - len(self.kernel))
        beyond = self._beyond(lengths, counts)
        around = ((p, p + more) for p, more in zip(self.padding, beyond, strict=True))
        x = b.pad(x, (*widths, *around), value=value)
        for tap in product(*(range(k) for k in self.kernel)):
            spans = (
                slice(at * d, at * d + (count - 1) * s + 1, s)
                for at, count, s, d in zip(
                    tap, counts, self.stride, self.dilation, strict=True
                )
            )
            yield tap, b.index(x, (..., *spans))

    def gathered(
        self, b: Functions, share: Callable[[Tap], Array], shape: Sequence[int]
    ) -> Array:
        """The reverse of `taps`: the shares of all places, added where they looked."""
        total = None
        first = len(shape) - len(self.kernel)
        for tap in product(*(range(k) for k in self.kernel)):
            part = share(tap)
            for place, at in enumerate(tap):
                axis = first + place
                part = b.spaced(
                    part,
                    axis,
                    start=at * self.dilation[place] - self.padding[place],
                    step=self.stride[place],
                    length=shape[axis],
                )
            total = part if total is None else b.add(total, part)
        return total

    def _beyond(self, lengths: Sequence[int], counts: Sequence[int]) -> list[int]:
        """How far the last window reaches beyond the padding, along each axis."""
        return [
            max(0, (count - 1) * s + d * (k - 1) + 1 - length - 2 * p)
            for count, (length, k, s, p, d) in zip(counts, self._axes(lengths), strict=True)
        ]

    def shares(
        self, lengths: Sequence[int], *, count_padding: bool, divisor: int | None
    ) -> np.ndarray[Any, np.dtype[np.float64]] | float:
        """What the sum of each window is multiplied by to be its mean.

        Args:
            lengths: Those of the axes.
            count_padding: Whether places of the padding count.
            divisor: What to divide by in place of the number of places.

        Returns:
            A number where it is the same for all windows, else one for each.
        """
        if divisor is not None:
            return 1.0 / divisor
        if not self.ceil and (count_padding or not any(self.padding)):
            return 1.0 / math.prod(self.kernel)
        total = np.ones(())
        for axis, (length, k, s, p, _) in enumerate(self._axes(lengths)):
            starts = np.arange(self.counts(lengths)[axis]) * s - p
            ends = np.minimum(starts + k, length + p)
            if not count_padding:
                starts, ends = np.maximum(starts, 0), np.minimum(ends, length)
            total = total[..., None] * (ends - starts)
        return 1.0 / total

    def _axes(self, sizes: Sequence[int]) -> Iterator[tuple[int, int, int, int, int]]:
        """One row of numbers for each axis."""
        return zip(
            sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True
        )


def fitting(
    length: int, kernel: int, stride: int, padding: int, dilation: int, *, ceil: bool
) -> int:
    """How many windows fit along an axis, as torch counts them.

    Args:
        length: Of the axis.
        kernel: Places in a window.
        stride: Places from one window to the next.
        padding: Places before and after.
        dilation: Places from one place of a window to the next.
        ceil: Whether a last window may reach beyond the padding; it begins before the end
            of the row and the padding before it.

    Returns:
        A number.
    """
    room = length + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - ((count - 1) * stride >= length + padding)


def seen(
    x: Array,
    grad: Array,
    shape: Sequence[int],
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Array:
    """The part of a convolution's input that the places of `grad` reach."""
    del groups  # the input of a transposed one may be longer
    windows = Windows.of(shape[2:], stride, padding, dilation)
    places = tuple(grad.shape[2:])
    if windows.counts(x.shape[2:]) == places:
        return x
    lengths = windows.lengths(places, (0,) * len(places))
    return x[(slice(None), slice(None), *(slice(0, length) for length in lengths))]
