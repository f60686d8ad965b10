"""Interpolation of rows and images, axis by axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._module import Module
from seqloom.nn._operands import as_operand, require_floats
from seqloom.tensor import Tensor, apply, backend

if TYPE_CHECKING:
    from collections.abc import Sequence

_RANKS = {"linear": 3, "bilinear": 4}
_STEPS = {"nearest", "nearest-exact"}


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resizes rows ``(n, c, l)`` or images ``(n, c, h, w)``.

    Args:
        x: Rows or images.
        size: New lengths, one for each axis, or one number for all axes.
        scale_factor: Factors of the lengths, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` for rows, or ``"bilinear"``
            for images.
        align_corners: Whether the first and last values keep their positions; not for the
            nearest modes.
        recompute_scale_factor: Whether to compute the factors from the rounded lengths.

    Returns:
        A tensor ``(n, c, ...)`` of the new lengths.

    Raises:
        ArgumentError: `mode` is unknown, none or both of `size` and `scale_factor` are
            passed, or `align_corners` is passed with a nearest mode.
        DTypeError: `x` has an integer or boolean type, and the mode is not a nearest one.
        ShapeError: `x` has another number of axes than `mode`, or a length is below 1.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0]]])
        >>> interpolate(x, 4, mode="linear").tolist()
        [[[1.0, 1.5, 2.5, 3.0]]]
    """
    _require_mode(x, mode, align_corners)
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: pass size or scale_factor, and not both")
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
        x = _resize(x, axis, length, factor, mode, bool(align_corners))
    return x


def _require_mode(x: Tensor, mode: str, align_corners: bool | None) -> None:
    """Refuses an unknown mode, or one for another number of axes."""
    if mode not in {*_STEPS, *_RANKS}:
        known = ", ".join(sorted({*_STEPS, *_RANKS}))
        hint = (
            "; for means of windows use avg_pool1d or avg_pool2d" if mode == "area" else ""
        )
        raise ArgumentError(f"mode must be one of {known}, got {mode!r}{hint}")
    if mode in _STEPS and align_corners is not None:
        raise ArgumentError(f"align_corners must not be passed with mode={mode!r}")
    if mode in _RANKS:
        require_floats(f"interpolate with mode={mode!r}", x)
    ranks = {_RANKS[mode]} if mode in _RANKS else {3, 4}
    if x.ndim not in ranks:
        raise ShapeError(
            f"mode={mode!r} needs an x of {max(ranks)} axes, got shape {x.shape}"
        )


def _resize(
    x: Tensor, axis: int, length: int, factor: float | None, mode: str, aligned: bool
) -> Tensor:
    """Resizes one axis: a weighted sum of the two neighbours of each new position."""
    old = x.shape[axis]
    scale: Any = _divide(x, old, length) if factor is None else 1 / factor
    if mode in _STEPS:
        shift = 0.5 if mode == "nearest-exact" else 0.0
        steps = _count(x, length, "float32")
        narrow = scale.astype("float32") if factor is None else np.float32(scale)
        return _take(x, axis, apply("floor", (steps + shift) * narrow), old)
    steps = _count(x, length, "float64")
    if aligned:
        points = steps * (_divide(x, old - 1, length - 1) if length > 1 else 0.0)
    else:
        points = (steps + 0.5) * scale - 0.5
    points = apply("maximum", points, 0.0)
    start = apply("floor", points)
    total: Any = 0.0
    for offset, weights in enumerate((1 - (points - start), points - start)):
        shape = (length, *(1,) * (x.ndim - axis - 1))
        share = _move(x, apply("reshape", weights, shape), x.dtype)
        total = _take(x, axis, start + offset, old) * share + total
    return total


def _take(x: Tensor, axis: int, indices: Tensor, length: int) -> Tensor:
    """Takes the values at indices; those out of range count as the nearest end."""
    inside = apply("clip", indices, 0, length - 1)
    return apply("take", x, _move(x, inside.astype("int32"), "int32"), axis=axis)


def _host(x: Tensor) -> Any:
    """Returns the backend for positions: NumPy's, or that of an export with any length."""
    return x.backend if getattr(x.backend, "keeps_sizes", False) else backend("numpy")


def _count(x: Tensor, length: int, dtype: str) -> Tensor:
    """Returns whole numbers from 0."""
    b = _host(x)
    return Tensor(b.arange(length, dtype=dtype), b)


def _divide(x: Tensor, length: int, other: int) -> Tensor:
    """Returns a quotient of two lengths."""
    b = _host(x)
    one, two = (Tensor(b.full((), it, dtype="float64"), b) for it in (length, other))
    return one / two


def _move(x: Tensor, positions: Tensor, dtype: Any) -> Tensor:
    """Returns positions, or weights, on the backend of `x`."""
    if positions.backend is x.backend:
        return positions.astype(dtype)
    return as_operand(x, positions.numpy(), dtype)


class Upsample(Module):
    """Resizes rows or images, as `functional.interpolate`.

    Args:
        size: New lengths, one for each axis, or one number for all axes.
        scale_factor: Factors of the lengths, instead of `size`.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` for rows, or ``"bilinear"``
            for images.
        align_corners: Whether the first and last values keep their positions.
        recompute_scale_factor: Whether to compute the factors from the rounded lengths.

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
        """``(n, c, ...)`` to ``(n, c, ...)`` of other lengths."""
        return interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )
