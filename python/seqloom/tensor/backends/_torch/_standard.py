"""Shapes, reductions and sorting, with the arguments of the Array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from numpy.lib.array_utils import normalize_axis_tuple
from torch import Tensor
from torch.nn import functional

from seqloom.errors import OutOfRangeError, ShapeError
from seqloom.tensor._elements import require_in_dtype
from seqloom.tensor._families import _joining, _windows
from seqloom.tensor._families._products import require_equal_lengths
from seqloom.tensor.backends._torch._creation import to_numpy_type, to_torch
from seqloom.tensor.backends._torch._elementwise import promote_arrays, to_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor.backends._torch._creation import DType

    Axes = int | tuple[int, ...]
    Size = int | tuple[int, ...]


_MAX_PADDING_VALUE = 1 << 53  # torch.pad would round larger integers


def reshape(x: Tensor, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """Return an array with another shape and the same values."""
    found = torch.reshape(x, tuple(shape))
    return found.clone() if copy else found


def permute_dims(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return an array with its axes in another order."""
    return torch.permute(x, tuple(axes))


def moveaxis(x: Tensor, source: int, destination: int) -> Tensor:
    """Move one axis to another position."""
    if not x.ndim:
        raise OutOfRangeError(f"moveaxis: a tensor without axes has no axis {source}")
    return torch.movedim(x, source, destination)


def matrix_transpose(x: Tensor) -> Tensor:
    """Return `x` with its last two axes swapped."""
    if not x.ndim:  # PyTorch would return `x` without an error.
        raise ShapeError("matrix_transpose: a tensor without axes is not a matrix")
    return x.mT


def concat(arrays: Sequence[Tensor], *, axis: int | None = 0) -> Tensor:
    """Join arrays along an existing axis."""
    if axis is None:
        return torch.cat([array.reshape(-1) for array in arrays])
    return torch.cat(list(arrays), axis)


def stack(arrays: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    """Join arrays along a new axis."""
    return torch.stack(list(arrays), axis)


def unstack(x: Tensor, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split an array along an axis, and remove the axis."""
    return torch.unbind(x, axis)


def expand_dims(x: Tensor, *, axis: Axes = 0) -> Tensor:
    """Return `x` with new axes of length 1."""
    if isinstance(axis, int):
        return torch.unsqueeze(x, axis)
    for position in sorted(normalize_axis_tuple(axis, x.ndim + len(axis))):
        x = torch.unsqueeze(x, position)
    return x


def squeeze(x: Tensor, axis: Axes | None = None) -> Tensor:
    """Return `x` without the given axes of length 1, or without all such axes."""
    if axis is None:
        return torch.squeeze(x)
    for number in (axis,) if isinstance(axis, int) else axis:
        if x.shape[number] != 1:
            raise ValueError(f"axis {number} of {list(x.shape)} does not have length 1")
    return torch.squeeze(x, axis)


def flip(x: Tensor, *, axis: Axes | None = None) -> Tensor:
    """Return `x` with the order reversed along axes."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return torch.flip(x, tuple(axes))


def roll(x: Tensor, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Return `x` shifted along axes; values that are shifted past the end wrap around."""
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return torch.roll(x, shift, cast("Any", axis))


def repeat(x: Tensor, repeats: int | Tensor, *, axis: int | None = None) -> Tensor:
    """Repeat each element several times."""
    return torch.repeat_interleave(x, repeats, axis)


def tril(x: Tensor, *, k: int = 0) -> Tensor:
    """Return `x` with zeros above the k-th diagonal of each matrix."""
    return torch.tril(x, k)


def triu(x: Tensor, *, k: int = 0) -> Tensor:
    """Return `x` with zeros below the k-th diagonal of each matrix."""
    return torch.triu(x, k)


def pad(
    b: Backend, x: Tensor, widths: Sequence[tuple[int, int]], *, value: float = 0
) -> Tensor:
    """Return `x` padded with `value` on each axis; a negative width crops instead."""
    require_in_dtype(value, to_numpy_type(x.dtype))
    if type(value) is int and abs(value) > _MAX_PADDING_VALUE:
        return _joining.pad(b, x, widths, value=value)
    further = ((0, 0),) * (x.ndim - len(widths))
    flat = [width for pair in reversed((*widths, *further)) for width in pair]
    return functional.pad(x, flat, value=value)


def one_hot(x: Tensor, num_classes: int, *, dtype: DType = "int64") -> Tensor:
    """Return the one-hot encoding of integers, along a new last axis."""
    classes = torch.arange(num_classes, dtype=x.dtype, device=x.device)
    return (x[..., None] == classes).to(to_torch(dtype))


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Compute sums of products with the Einstein summation convention."""
    return torch.einsum(equation, *promote_arrays(operands))


def unfold(
    b: Backend,
    x: Tensor,
    *,
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
) -> Tensor:
    """Return each window of ``(n, c, h, w)`` as a column."""
    if not x.is_floating_point():  # PyTorch has no kernel for integers.
        geometry = {"kernel": kernel, "stride": stride, "padding": padding}
        return _windows.unfold(b, x, **geometry, dilation=dilation)
    return functional.unfold(x, kernel, dilation, padding, stride)


def fold(
    b: Backend,
    x: Tensor,
    *,
    shape: Sequence[int],
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
) -> Tensor:
    """Sum columns at the positions of their windows, in an image of ``shape`` (h, w)."""
    if not x.is_floating_point():
        geometry = {"kernel": kernel, "stride": stride, "padding": padding}
        return _windows.fold(b, x, shape=shape, **geometry, dilation=dilation)
    return functional.fold(x, tuple(shape), kernel, dilation, padding, stride)


Axis = int | tuple[int, ...] | None


def sum_(
    x: Tensor, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum over axes."""
    kind = None if dtype is None else to_torch(dtype)
    if axis == ():
        return x if kind is None else x.to(kind)
    return torch.sum(x, axis, keepdim=keepdims, dtype=kind)


def mean(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over axes."""
    x = to_floats(x)
    return x if axis == () else torch.mean(x, axis, keepdim=keepdims)


def var(
    x: Tensor, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the variance over axes."""
    x = to_floats(x)
    if axis == ():
        return torch.zeros_like(x)
    return torch.var(x, axis, correction=correction, keepdim=keepdims)


def max_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the largest value over axes."""
    return torch.amax(x, _to_axes(x, axis), keepdim=keepdims) if axis != () else x


def min_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the smallest value over axes."""
    return torch.amin(x, _to_axes(x, axis), keepdim=keepdims) if axis != () else x


def prod(
    x: Tensor, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product over axes."""
    kind = None if dtype is None else to_torch(dtype)
    x = x if kind is None else x.to(kind)
    for number in sorted(normalize_axis_tuple(_to_axes(x, axis), x.ndim), reverse=True):
        x = torch.prod(x, number, keepdim=keepdims, dtype=kind)
    return x


def any_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether at least one value along the axes is true."""
    return torch.any(x.bool(), _to_axes(x, axis), keepdim=keepdims)


def all_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether all values along the axes are true."""
    return torch.all(x.bool(), _to_axes(x, axis), keepdim=keepdims)


def argmax(x: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the largest value."""
    return torch.argmax(_to_comparable(x), axis, keepdim=keepdims)


def argmin(x: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the smallest value."""
    return torch.argmin(_to_comparable(x), axis, keepdim=keepdims)


def count_nonzero(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Count the nonzero values over axes."""
    return torch.sum(x != 0, axis, keepdim=keepdims)


def cumulative_sum(
    x: Tensor,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the cumulative sum."""
    axis = _find_only_axis("cumulative_sum", x) if axis is None else axis
    kind = None if dtype is None else to_torch(dtype)
    found = torch.cumsum(x, axis, dtype=kind)
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return torch.cat([found.new_zeros(shape), found], axis)


def cumulative_prod(
    x: Tensor,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the cumulative product."""
    axis = _find_only_axis("cumulative_prod", x) if axis is None else axis
    x = x if x.ndim else x.reshape(1)
    found = torch.cumprod(x, axis, dtype=None if dtype is None else to_torch(dtype))
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return torch.cat([found.new_ones(shape), found], axis)


def logcumsumexp(x: Tensor, *, axis: int) -> Tensor:
    """Return the logarithms of the cumulative sums of exponentials."""
    return torch.logcumsumexp(to_floats(x), axis)


def isin(x: Any, y: Any, *, invert: bool = False) -> Tensor:
    """Return whether each value of `x` occurs in `y`."""
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x, y = promote_arrays([x, y])
    return torch.isin(x, y, invert=invert)


def logsumexp(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over axes."""
    return torch.logsumexp(x, _to_axes(x, axis), keepdim=keepdims)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Return the product of matrices."""
    if x.dtype is not y.dtype:
        x, y = promote_arrays([x, y])
    return torch.matmul(x, y)


def tensordot(x: Tensor, y: Tensor, *, axes: Any = 2) -> Tensor:
    """Multiply two arrays, and sum the products over some axes."""
    require_equal_lengths("tensordot", x, y, axes)
    return torch.tensordot(*promote_arrays([x, y]), dims=axes)


def sort(
    x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the values sorted along an axis."""
    return torch.sort(x, stable=stable, dim=axis, descending=descending)[0]


def argsort(
    b: Backend, x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the indices that sort the values; equal values keep their order."""
    if x.is_complex():  # PyTorch cannot sort complex numbers; sort like NumPy
        options: dict[str, Any] = {"axis": axis, "descending": descending}
        order = b.argsort(x.imag, **options)
        second = b.argsort(torch.gather(x.real, axis, order), **options)
        return torch.gather(order, axis, second)
    return torch.argsort(x, stable=stable, dim=axis, descending=descending)


def searchsorted(
    x1: Tensor, x2: Tensor, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return the indices at which `x2` must be inserted to keep `x1` sorted."""
    x1, x2 = promote_arrays([x1, torch.as_tensor(x2, device=x1.device)])
    return torch.searchsorted(x1, x2.contiguous(), side=side, sorter=sorter)


def nonzero(x: Tensor) -> tuple[Tensor, ...]:
    """Return the indices of the nonzero values."""
    if not x.ndim:
        raise ShapeError("nonzero: an array without axes has no positions")
    return torch.nonzero(x, as_tuple=True)


def _to_comparable(x: Tensor) -> Tensor:
    """Convert booleans, which torch cannot compare, to integers."""
    return x.to(torch.uint8) if x.dtype is torch.bool else x


def _find_only_axis(name: str, x: Tensor) -> int:
    """Return 0 as the default axis of a vector; raise if an array has several axes."""
    if x.ndim > 1:
        raise ShapeError(f"{name} needs an axis for an array of shape {[*x.shape]}")
    return 0


def _to_axes(x: Tensor, axis: Axis) -> tuple[int, ...]:
    """Return axes as a tuple; for None, return all axes."""
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else axis


# PyTorch functions whose arguments are those of the Array API standard.
LIBRARY_FUNCTIONS = {"broadcast_to": torch.broadcast_to, "tile": torch.tile}
