"""Sliding windows along the last axes of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._rule import Parts, Rule, add_grad, add_shape_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Needs, OfShape
    from seqloom.tensor._families._rule import Call, Shape, ShapeRule, Spec


# Default implementations ---------------------------------------------------------------


Size = int | Sequence[int]
Tap = tuple[int, ...]  # The index of a kernel element along each axis.


def to_sizes(size: Size, axes: int) -> tuple[int, ...]:
    """Return one number per axis."""
    return (size,) * axes if isinstance(size, int) else tuple(size)


class Windows(NamedTuple):
    """The geometry of sliding windows; each field has one number per axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil: bool = False  # True if the last window may extend past the padding.

    @staticmethod
    def make(
        kernel: Sequence[int], *, stride: Size = 1, padding: Size = 0, dilation: Size = 1
    ) -> Windows:
        """Create windows; each size is one number, or one number per axis."""
        axes = len(kernel)
        return Windows(
            tuple(kernel),
            to_sizes(stride, axes),
            to_sizes(padding, axes),
            to_sizes(dilation, axes),
        )

    def counts(self, lengths: Sequence[int]) -> tuple[int, ...]:
        """Return the number of windows along each axis, as PyTorch defines it."""
        ends = self._find_ends(lengths)
        return tuple([-(-end // s) for end, s in zip(ends, self.stride, strict=True)])

    def _find_ends(self, lengths: Sequence[int]) -> list[int]:
        """Return, for each axis, an upper bound of the positions where windows start."""
        # The formulas are linear, so that they also work with the symbolic sizes of an
        # exported graph.
        ends: list[int] = []
        for length, k, s, p, d in self._per_axis(lengths):
            # Every window inside the padded input starts below position `room`.
            room = length + 2 * p - d * (k - 1)
            ends.append(min(room + s - 1, length + p) if self.ceil else room)
        return ends

    def lengths(self, counts: Sequence[int], extra: Sequence[int]) -> tuple[int, ...]:
        """Return the length of each axis with `counts` windows and `extra` positions."""
        return tuple(
            (count - 1) * s - 2 * p + d * (k - 1) + more + 1
            for (count, k, s, p, d), more in zip(self._per_axis(counts), extra, strict=True)
        )

    def taps(
        self, b: Functions, x: Array, value: float, *, counts: Sequence[int] = ()
    ) -> Iterator[tuple[Tap, Array]]:
        """Yield each kernel element, with its inputs in all (or `counts`) windows."""
        lengths = x.shape[-len(self.kernel) :]
        ends = self._find_ends(lengths)
        if counts:
            ends = [(n - 1) * s + 1 for n, s in zip(counts, self.stride, strict=True)]
        widths = ((0, 0),) * (len(x.shape) - len(self.kernel))
        beyond = self._count_overhang(lengths, ends)
        around = ((p, p + more) for p, more in zip(self.padding, beyond, strict=True))
        x = b.pad(x, (*widths, *around), value=value)
        yield from self._slice_taps(b, x, ends)

    def _slice_taps(
        self, b: Functions, x: Array, ends: Sequence[int]
    ) -> Iterator[tuple[Tap, Array]]:
        """Yield each kernel element, with its elements of a padded array."""
        for tap in self._kernel_positions():
            steps = zip(tap, ends, self.stride, self.dilation, strict=True)
            spans = (slice(at * d, at * d + end, s) for at, end, s, d in steps)
            yield tap, b.index(x, (..., *spans))

    def add_taps(
        self, b: Functions, tap_values: Callable[[Tap], Array], shape: Sequence[int]
    ) -> Array:
        """Reverse `taps`: add the array of each kernel element to its input positions."""
        total = None
        first = len(shape) - len(self.kernel)
        for tap in self._kernel_positions():
            part = tap_values(tap)
            for number, at in enumerate(tap):
                part = b.spaced(
                    part,
                    first + number,
                    start=at * self.dilation[number] - self.padding[number],
                    step=self.stride[number],
                    length=shape[first + number],
                )
            total = part if total is None else b.add(total, part)
        return total

    def mean_factors(
        self,
        b: Functions,
        lengths: Sequence[int],
        dtype: Any,
        *,
        count_padding: bool,
        divisor: int | None,
    ) -> Array | float:
        """Return the factor that converts sums to means: one number, or one per window."""
        if divisor is not None:
            return 1.0 / divisor
        if not self.ceil and (count_padding or not any(self.padding)):
            return 1.0 / math.prod(self.kernel)
        # Count the positions of each window by summing an array of ones. Half precision
        # cannot represent all counts exactly.
        wide = "float64" if str(dtype).endswith("float64") else "float32"
        ends = self._find_ends(lengths)
        ones = b.ones(tuple(lengths), dtype=wide)
        ones = b.pad(ones, tuple((p, p) for p in self.padding), value=int(count_padding))
        around = tuple((0, more) for more in self._count_overhang(lengths, ends))
        taps = self._slice_taps(b, b.pad(ones, around, value=0), ends)
        total = next(taps)[1]
        for _, covered in taps:
            total = b.add(total, covered)
        return b.astype(b.divide(1.0, total), dtype)

    def _kernel_positions(self) -> Iterator[Tap]:
        return product(*(range(k) for k in self.kernel))

    def _count_overhang(self, lengths: Sequence[int], ends: Sequence[int]) -> list[int]:
        """Return the number of positions by which windows extend past the padding."""
        return [
            max(0, end + d * (k - 1) - length - 2 * p)
            for end, (length, k, _, p, d) in zip(ends, self._per_axis(lengths), strict=True)
        ]

    def _per_axis(self, sizes: Sequence[int]) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield the length and the window geometry of each axis."""
        return zip(
            sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True
        )


def crop_input(
    x: Array, grad: Array, shape: Sequence[int], *, groups: int = 1, **geometry: Size
) -> Array:
    """Return the section of a convolution's input that its windows cover.

    Args:
        x: The input of the convolution, which may have uncovered positions at its end.
        grad: The gradient of the output.
        shape: The shape of the weight.
        groups: Number of groups; ignored, but accepted because convolutions have this
            option.
        **geometry: The options stride, padding and dilation of the convolution.

    Returns:
        A view of `x`, or `x` itself.
    """
    del groups
    windows = Windows.make(shape[2:], **geometry)
    counts = tuple(grad.shape[2:])
    if windows.counts(x.shape[2:]) == counts:
        return x
    lengths = windows.lengths(counts, (0,) * len(counts))
    return x[(slice(None), slice(None), *(slice(0, length) for length in lengths))]


def unfold(b: Functions, x: Array, *, kernel: Size, **geometry: Size) -> Array:
    """Return each window of ``(n, c, h, w)`` as a column: ``(n, c * kh * kw, windows)``."""
    windows = Windows.make(to_sizes(kernel, len(x.shape) - 2), **geometry)
    columns = b.stack([covered for _, covered in windows.taps(b, x, 0)], axis=2)
    channels = x.shape[1] * math.prod(windows.kernel)
    count = math.prod(windows.counts(x.shape[2:]))
    return b.reshape(columns, (x.shape[0], channels, count))


def fold(
    b: Functions, x: Array, *, shape: Sequence[int], kernel: Size, **geometry: Size
) -> Array:
    """Add columns to an image of ``shape`` (h, w), at the positions of their windows."""
    windows = Windows.make(to_sizes(kernel, len(shape)), **geometry)
    channels = x.shape[1] // math.prod(windows.kernel)
    counts = windows.counts(shape)
    columns = b.reshape(x, (x.shape[0], channels, *windows.kernel, *counts))

    def tap_values(tap: Tap) -> Array:
        return b.index(columns, (slice(None), slice(None), *tap, ...))

    return windows.add_taps(b, tap_values, (*columns.shape[:2], *shape))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


@add_grad(GRAD_RULES, "unfold", save=keep.save_shape_options)
def _grad_unfold(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, _, options = saved
    return (b.fold(grad, shape=shape[2:], **options),)


@add_grad(GRAD_RULES, "fold", save=keep.save_rest_and_options)
def _grad_fold(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    _, options = saved
    return (b.unfold(grad, **{key: options[key] for key in options if key != "shape"}),)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


def make_windows(kernel: Shape, options: dict[str, Any]) -> Windows:
    """Return the windows for the kernel and the options of a call."""
    geometry = {
        name: options[name] for name in ("stride", "padding", "dilation") if name in options
    }
    return Windows.make(kernel, **geometry)._replace(ceil=bool(options.get("ceil_mode")))


@add_shape_rule(SHAPE_RULES, "unfold")
def _shape_unfold(call: Call) -> Spec:
    """Return the shape of ``unfold``: one column of channels * kernel size per window."""
    x = call.args[0]
    kernel = to_sizes(call.options["kernel"], len(x.shape) - 2)
    counts = make_windows(kernel, call.options).counts(x.shape[2:])
    return (x.shape[0], x.shape[1] * math.prod(kernel), math.prod(counts)), x.dtype


@add_shape_rule(SHAPE_RULES, "fold")
def _shape_fold(call: Call) -> Spec:
    """Return the shape of the image that ``fold`` creates."""
    x, shape = call.args[0], tuple(call.options["shape"])
    kernel = to_sizes(call.options["kernel"], len(shape))
    return (x.shape[0], x.shape[1] // math.prod(kernel), *shape), x.dtype
