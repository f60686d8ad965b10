"""Padding, one-hot encoding, resizing, and modules that only change shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, CaptureError, ShapeError
from seqloom.nn._module import Module
from seqloom.nn._operands import as_operand, as_size, require_floats, require_index
from seqloom.tensor import Tensor, apply, backend

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_hot(x: Tensor, num_classes: int | None = None) -> Tensor:
    """One-hot encode integers: add a last axis, 1 at the integer's index and 0 elsewhere.

    Args:
        x: Integers from 0 to ``num_classes - 1``, of any shape ``(...)``. In a compiled
            step or on a GPU, integers out of this range are encoded as zeros.
        num_classes: Length of the new axis; default: the largest integer plus one, which
            is unknown in a compiled step.

    Returns:
        Output ``(..., num_classes)``, int64.

    Raises:
        ArgumentError: `num_classes` is below 1, or missing for an empty `x`.
        CaptureError: `num_classes` is missing in a compiled step.
        OutOfRangeError: An integer in `x` is not from 0 to ``num_classes - 1``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1, 0])
        >>> one_hot(x, 3).numpy().tolist()
        [[0, 1, 0], [1, 0, 0]]
    """
    if num_classes in {None, -1}:
        if not x.size:
            raise ArgumentError("one_hot needs num_classes, because x is empty")
        try:
            num_classes = int(x.max()) + 1
        except CaptureError:
            raise CaptureError(
                "one_hot in a compiled step needs num_classes: the default depends on "
                "the values of x, which are not known yet"
            ) from None
    count = as_size("num_classes", num_classes, 1)
    require_index("one_hot", x, count)
    return apply("one_hot", x, count, dtype="int64")


def pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad the last axes.

    Args:
        x: A tensor.
        pad: Number of elements to add before and after the last axis, then the axis
            before it, and so on. Negative padding removes elements. Mode ``"circular"``
            removes elements first, then repeats the remaining elements.
        mode: Kind of padding: ``"constant"``, ``"reflect"``, ``"replicate"`` or
            ``"circular"``.
        value: Value of the padding in mode ``"constant"``; default 0.

    Returns:
        A tensor with padded axes.

    Raises:
        ArgumentError: `mode` is unknown, or `pad` has an odd length.
        ShapeError: `pad` has more pairs than `x` has axes, or an axis is too short for
            `mode`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> pad(x, (1, 2)).numpy().tolist()
        [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]
        >>> pad(x, (1, 2), mode="reflect").numpy().tolist()
        [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    if mode not in {"constant", *_PAD_FUNCTIONS} or len(pad) % 2:
        raise ArgumentError(
            f"pad must have two numbers for each axis, and mode must be constant, reflect, "
            f"replicate or circular, got pad={list(pad)} and mode={mode!r}"
        )
    pairs = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)][::-1]
    if len(pairs) > len(x.shape):
        raise ShapeError(
            f"pad has {len(pairs)} pairs, but x of shape {x.shape} has {len(x.shape)} axes"
        )
    for size, widths in zip(reversed(x.shape), reversed(pairs), strict=False):
        grows = max(widths) > 0
        rest = int(grows) - min(*widths, 0)  # an empty axis has nothing to repeat
        min_size = {"constant": 0, "reflect": max(widths) + 1, "circular": rest}.get(
            mode, grows
        )
        if size < min_size or size + min(widths) < 0 or size + sum(widths) < 0:
            raise ShapeError(
                f"pad: an axis of length {size} is too short for the widths {widths} with "
                f"mode={mode!r}"
            )
    if mode == "constant":
        widths = (*((0, 0),) * (x.ndim - len(pairs)), *pairs)
        return apply("pad", x, widths, value=value or 0)
    for axis, widths in enumerate(pairs, x.ndim - len(pairs)):
        x = _pad_axis(x, axis, widths, mode) if any(widths) else x
    return x


def _pad_axis(x: Tensor, axis: int, widths: tuple[int, int], mode: str) -> Tensor:
    """Pad both ends of an axis with repeated values; negative widths remove elements."""
    before, after = widths
    size = x.shape[axis]
    rest = _slice_axis(x, axis, slice(max(-before, 0), size + min(after, 0)))
    # "reflect" and "replicate" repeat the original axis, "circular" the shortened axis.
    source = rest if mode == "circular" else x
    parts = [rest]
    if before > 0:
        parts.insert(0, _PAD_FUNCTIONS[mode](source, axis, before, is_first=True))
    if after > 0:
        parts.append(_PAD_FUNCTIONS[mode](source, axis, after, is_first=False))
    return apply("concat", parts, axis=axis) if len(parts) > 1 else rest


def _reflect_pad(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Pad one end of an axis with the neighbouring values, mirrored."""
    part = slice(1, width + 1) if is_first else slice(-width - 1, -1)
    return apply("flip", _slice_axis(x, axis, part), axis=axis)


def _replicate_pad(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Pad one end of an axis with copies of the edge value."""
    end = _slice_axis(x, axis, slice(0, 1) if is_first else slice(-1, None))
    return apply("repeat", end, width, axis=axis)


def _wrap_pad(x: Tensor, axis: int, width: int, *, is_first: bool) -> Tensor:
    """Pad with values from the opposite end; repeat the axis if the padding is longer."""
    turns, rest = divmod(width, x.shape[axis])
    part = _slice_axis(x, axis, slice(-rest, None) if is_first else slice(0, rest))
    whole = [x] * turns
    parts = [part, *whole] if is_first else [*whole, part]
    parts = parts if rest else whole
    return parts[0] if len(parts) == 1 else apply("concat", parts, axis=axis)


def _slice_axis(x: Tensor, axis: int, part: slice) -> Tensor:
    return x[(slice(None),) * axis + (part,)]


_PAD_FUNCTIONS = {
    "reflect": _reflect_pad,
    "replicate": _replicate_pad,
    "circular": _wrap_pad,
}


class Identity(Module):
    """Layer that returns its input unchanged.

    Args:
        *args: Ignored, as in ``torch.nn.Identity``.
        **options: Ignored, as in ``torch.nn.Identity``.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.Identity()(3)
        3
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        del args, options

    def __call__(self, x: Any) -> Any:
        """Return `x` itself."""
        return x


class Flatten(Module):
    """Layer that flattens a range of axes into one.

    Args:
        start_dim: First axis of the range.
        end_dim: Last axis of the range.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").zeros((2, 3, 4))
        >>> sl.nn.Flatten()(sl.tensor.backend("numpy").tensor(x)).shape
        (2, 12)
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def __call__(self, x: Tensor) -> Tensor:
        """Flatten the axes `start_dim` to `end_dim`."""
        return x.flatten(self.start_dim, self.end_dim)


_LINEAR_MODE_RANKS = {"linear": 3, "bilinear": 4}
_NEAREST_MODES = {"nearest", "nearest-exact"}


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resize sequences ``(n, c, l)`` or images ``(n, c, h, w)``.

    Args:
        x: Sequences or images.
        size: New lengths: one for each axis, or one number for all axes.
        scale_factor: Factors of the lengths, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` for sequences, or
            ``"bilinear"`` for images.
        align_corners: If True, align the first and last values of input and output; not
            allowed for the nearest modes.
        recompute_scale_factor: If True, compute the factors again from the rounded new
            lengths.

    Returns:
        A tensor ``(n, c, ...)`` with the new lengths.

    Raises:
        ArgumentError: `mode` is unknown, not exactly one of `size` and `scale_factor` is
            passed, or `align_corners` is passed with a nearest mode.
        DTypeError: `x` has an integer or boolean type, and the mode is not a nearest mode.
        ShapeError: The number of axes of `x` does not fit `mode`, or a length is below 1.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0]]])
        >>> interpolate(x, 4, mode="linear").tolist()
        [[[1.0, 1.5, 2.5, 3.0]]]
    """
    _require_mode(x, mode, align_corners)
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: pass either size or scale_factor, not both")
    count, factors = x.ndim - 2, None
    if scale_factor is None:
        sizes = [size] * count if isinstance(size, int) else list(size or ())
    else:
        is_one = isinstance(scale_factor, (int, float))
        factors = [scale_factor] * count if is_one else list(scale_factor)
        sizes = [math.floor(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
    if len(sizes) != count or min(sizes) < 1 or 0 in x.shape[2:]:
        raise ShapeError(
            f"interpolate: axes of lengths {x.shape[2:]} cannot be resized to "
            f"{tuple(sizes)}"
        )
    for axis, length in enumerate(sizes, 2):
        is_given = factors is not None and not recompute_scale_factor
        factor = float(factors[axis - 2]) if factors and is_given else None
        x = _resize_axis(x, axis, length, factor, mode, bool(align_corners))
    return x


def _require_mode(x: Tensor, mode: str, align_corners: bool | None) -> None:
    """Raise if the mode is unknown or does not fit the number of axes."""
    if mode not in {*_NEAREST_MODES, *_LINEAR_MODE_RANKS}:
        known = ", ".join(sorted({*_NEAREST_MODES, *_LINEAR_MODE_RANKS}))
        hint = (
            "; for means of windows use avg_pool1d or avg_pool2d" if mode == "area" else ""
        )
        raise ArgumentError(f"mode must be one of {known}, got {mode!r}{hint}")
    if mode in _NEAREST_MODES and align_corners is not None:
        raise ArgumentError(f"align_corners must not be passed with mode={mode!r}")
    if mode in _LINEAR_MODE_RANKS:
        require_floats(f"interpolate with mode={mode!r}", x)
    ranks = {_LINEAR_MODE_RANKS[mode]} if mode in _LINEAR_MODE_RANKS else {3, 4}
    if x.ndim not in ranks:
        raise ShapeError(
            f"mode={mode!r} needs an x of {max(ranks)} axes, got shape {x.shape}"
        )


def _resize_axis(
    x: Tensor, axis: int, length: int, factor: float | None, mode: str, aligned: bool
) -> Tensor:
    """Resize one axis: interpolate the values on both sides of each new position."""
    old = x.shape[axis]
    scale: Any = _divide_lengths(x, old, length) if factor is None else 1 / factor
    if mode in _NEAREST_MODES:
        shift = 0.5 if mode == "nearest-exact" else 0.0
        steps = _make_positions(x, length, "float32")
        narrow = scale.astype("float32") if factor is None else np.float32(scale)
        return _select_along_axis(x, axis, apply("floor", (steps + shift) * narrow), old)
    steps = _make_positions(x, length, "float64")
    if aligned:
        points = steps * (_divide_lengths(x, old - 1, length - 1) if length > 1 else 0.0)
    else:
        points = (steps + 0.5) * scale - 0.5
    points = apply("maximum", points, 0.0)
    start = apply("floor", points)
    total: Any = 0.0
    for offset, weights in enumerate((1 - (points - start), points - start)):
        shape = (length, *(1,) * (x.ndim - axis - 1))
        share = _to_backend(x, apply("reshape", weights, shape), x.dtype)
        total = _select_along_axis(x, axis, start + offset, old) * share + total
    return total


def _select_along_axis(x: Tensor, axis: int, indices: Tensor, length: int) -> Tensor:
    """Select values at indices along an axis; out-of-range indices are clipped."""
    inside = apply("clip", indices, 0, length - 1)
    return apply("take", x, _to_backend(x, inside.astype("int32"), "int32"), axis=axis)


def _find_position_backend(x: Tensor) -> Any:
    """Return the backend of `x` if the backend keeps symbolic sizes, or NumPy otherwise."""
    return x.backend if getattr(x.backend, "keeps_sizes", False) else backend("numpy")


def _make_positions(x: Tensor, length: int, dtype: str) -> Tensor:
    """Return the integers from 0 to `length - 1`."""
    b = _find_position_backend(x)
    return Tensor(b.arange(length, dtype=dtype), b)


def _divide_lengths(x: Tensor, length: int, other: int) -> Tensor:
    """Return the quotient of two lengths, on the backend of `x`."""
    b = _find_position_backend(x)
    one, two = (Tensor(b.full((), it, dtype="float64"), b) for it in (length, other))
    return one / two


def _to_backend(x: Tensor, positions: Tensor, dtype: Any) -> Tensor:
    """Move positions or weights to the backend of `x`."""
    if positions.backend is x.backend:
        return positions.astype(dtype)
    return as_operand(x, positions.numpy(), dtype)


class Upsample(Module):
    """Layer that resizes sequences or images; see `functional.interpolate`.

    Args:
        size: New lengths: one for each axis, or one number for all axes.
        scale_factor: Factors of the lengths, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` for sequences, or
            ``"bilinear"`` for images.
        align_corners: If True, align the first and last values of input and output.
        recompute_scale_factor: If True, compute the factors again from the rounded new
            lengths.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0]]])
        >>> sl.nn.Upsample(scale_factor=2)(x).numpy().tolist()
        [[[1.0, 1.0, 3.0, 3.0]]]
    """

    size: int | tuple[int, ...] | None
    scale_factor: float | tuple[float, ...] | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def __call__(self, x: Tensor) -> Tensor:
        """Resize ``(n, c, ...)`` to the new lengths."""
        return interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )
