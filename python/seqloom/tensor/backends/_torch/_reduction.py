"""Over axes, and orders: torch's functions with the standard's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from numpy.lib.array_utils import normalize_axis_tuple
from torch import Tensor

from seqloom.errors import ShapeError
from seqloom.tensor._families._products import require_equal_lengths
from seqloom.tensor.backends._torch._dtype import to_torch
from seqloom.tensor.backends._torch._operand import promote_all, to_floats

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

Axis = int | tuple[int, ...] | None


def sum_(
    x: Tensor, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The sum over axes."""
    kind = None if dtype is None else to_torch(dtype)
    if axis == ():
        return x if kind is None else x.to(kind)
    return torch.sum(x, axis, keepdim=keepdims, dtype=kind)


def mean(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    x = to_floats(x)
    return x if axis == () else torch.mean(x, axis, keepdim=keepdims)


def var(
    x: Tensor,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """The variance over axes."""
    x = to_floats(x)
    if axis == ():
        return torch.zeros_like(x)
    return torch.var(x, axis, correction=correction, keepdim=keepdims)


def max_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest value over axes."""
    return torch.amax(x, _every(x, axis), keepdim=keepdims) if axis != () else x


def min_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest value over axes."""
    return torch.amin(x, _every(x, axis), keepdim=keepdims) if axis != () else x


def prod(
    x: Tensor, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False
) -> Tensor:
    """The product over axes."""
    kind = None if dtype is None else to_torch(dtype)
    x = x if kind is None else x.to(kind)
    for number in sorted(normalize_axis_tuple(_every(x, axis), x.ndim), reverse=True):
        x = torch.prod(x, number, keepdim=keepdims, dtype=kind)
    return x


def any_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether one is true, over axes."""
    return torch.any(x.bool(), _every(x, axis), keepdim=keepdims)


def all_(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all are true, over axes."""
    return torch.all(x.bool(), _every(x, axis), keepdim=keepdims)


def argmax(x: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the largest value."""
    return torch.argmax(_to_comparable(x), axis, keepdim=keepdims)


def argmin(x: Tensor, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the smallest value."""
    return torch.argmin(_to_comparable(x), axis, keepdim=keepdims)


def count_nonzero(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many values are not 0, over axes."""
    return torch.sum(x != 0, axis, keepdim=keepdims)


def cumulative_sum(
    x: Tensor,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Sums up to each position."""
    axis = _only_axis("cumulative_sum", x) if axis is None else axis
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
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Products up to each position."""
    axis = _only_axis("cumulative_prod", x) if axis is None else axis
    x = x if x.ndim else x.reshape(1)
    found = torch.cumprod(x, axis, dtype=None if dtype is None else to_torch(dtype))
    if not include_initial:
        return found
    shape = list(found.shape)
    shape[axis] = 1
    return torch.cat([found.new_ones(shape), found], axis)


def logcumsumexp(x: Tensor, *, axis: int) -> Tensor:
    """The logarithms of the sums of exponentials up to each position."""
    return torch.logcumsumexp(to_floats(x), axis)


def isin(x: Any, y: Any, *, invert: bool = False) -> Tensor:
    """Whether each value of `x` is one of `y`'s."""
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x, y = promote_all([x, y])
    return torch.isin(x, y, invert=invert)


def logsumexp(x: Tensor, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials over axes."""
    return torch.logsumexp(x, _every(x, axis), keepdim=keepdims)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The product of matrices."""
    if x.dtype is not y.dtype:
        x, y = promote_all([x, y])
    return torch.matmul(x, y)


def tensordot(x: Tensor, y: Tensor, *, axes: Any = 2) -> Tensor:
    """The sum of products over several axes."""
    require_equal_lengths("tensordot", x, y, axes)
    return torch.tensordot(*promote_all([x, y]), dims=axes)


def sort(
    x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Values in order along an axis."""
    return torch.sort(x, stable=stable, dim=axis, descending=descending)[0]


def argsort(
    b: Backend, x: Tensor, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The positions of the values in order; equal ones stay in theirs."""
    if x.is_complex():  # which torch does not order: by the real parts, as NumPy
        options: dict[str, Any] = {"axis": axis, "descending": descending}
        order = b.argsort(x.imag, **options)
        second = b.argsort(torch.gather(x.real, axis, order), **options)
        return torch.gather(order, axis, second)
    return torch.argsort(x, stable=stable, dim=axis, descending=descending)


def searchsorted(
    x1: Tensor, x2: Tensor, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where values would stand in a sorted row."""
    x1, x2 = promote_all([x1, torch.as_tensor(x2, device=x1.device)])
    return torch.searchsorted(x1, x2.contiguous(), side=side, sorter=sorter)


def nonzero(x: Tensor) -> tuple[Tensor, ...]:
    """The positions of what is not 0."""
    if not x.ndim:
        raise ShapeError("nonzero: an array without axes has no positions")
    return torch.nonzero(x, as_tuple=True)


def _to_comparable(x: Tensor) -> Tensor:
    """Values that torch can compare; it cannot compare truths."""
    return x.to(torch.uint8) if x.dtype is torch.bool else x


def _only_axis(name: str, x: Tensor) -> int:
    """The axis where none is named."""
    if x.ndim > 1:
        raise ShapeError(f"{name} needs an axis where there are several: {[*x.shape]}")
    return 0


def _every(x: Tensor, axis: Axis) -> tuple[int, ...]:
    """The axes that are meant."""
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else axis
