"""Gradients through broadcasting and sums: summed where an input was repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions
    from seqloom.tensor._rules._keep import Like


def unbroadcast(b: ArrayFunctions, grad: Array, shape: tuple[int, ...]) -> Array:
    """Sums a gradient, at once, over the axes along which its input was repeated."""
    found = tuple(grad.shape)
    if found == shape:
        return grad
    extra = len(found) - len(shape)
    repeated = [
        axis + extra for axis, size in enumerate(shape) if size == 1 != found[axis + extra]
    ]
    axes = (*range(extra), *repeated)
    total = b.sum(grad, axis=axes) if axes else grad
    return b.reshape(total, shape) if repeated else total


def as_input(b: ArrayFunctions, grad: Array, like: Like) -> Array:
    """A gradient in the shape and the element type of its input."""
    shape, dtype = like
    grad = unbroadcast(b, grad, tuple(shape))
    return grad if grad.dtype == dtype else b.astype(grad, dtype)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """An option ``axis`` as axes from 0 up."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    several = cast("tuple[int, ...]", axis) if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(axis % ndim for axis in several)


def broadcast_reduced(
    b: ArrayFunctions, reduced: Array, shape: tuple[int, ...], options: Any
) -> Array:
    """What a reduction gave, over the axes that it removed."""
    return b.broadcast_to(restore_axes(b, reduced, shape, options), shape)


def restore_axes(
    b: ArrayFunctions, reduced: Array, shape: tuple[int, ...], options: Any
) -> Array:
    """What a reduction gave, with the reduced axes of length 1 put back."""
    if options.get("keepdims", False):
        return reduced
    gone = axes_of(options.get("axis"), len(shape))
    kept = tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return b.reshape(reduced, kept)
