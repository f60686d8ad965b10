"""Shapes: torch's functions with the standard's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from numpy.lib.array_utils import normalize_axis_tuple
from torch import Tensor
from torch.nn import functional

from seqloom.errors import OutOfRangeError, ShapeError
from seqloom.tensor._element_types import require_in_range
from seqloom.tensor._families import _joining, _windows
from seqloom.tensor.backends._torch._dtype import to_numpy, to_torch
from seqloom.tensor.backends._torch._operand import promote_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend

    Axes = int | tuple[int, ...]
    Size = Any  # a number, or a tuple of one for each axis

_EXACT = 1 << 53  # beyond it, torch rounds the integers that it pads with


def reshape(x: Tensor, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The same values in another shape."""
    found = torch.reshape(x, tuple(shape))
    return found.clone() if copy else found


def permute_dims(x: Tensor, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    return torch.permute(x, tuple(axes))


def moveaxis(x: Tensor, source: int, destination: int) -> Tensor:
    """One axis at another position."""
    if not x.ndim:
        raise OutOfRangeError(f"moveaxis: a tensor without axes has no axis {source}")
    return torch.movedim(x, source, destination)


def matrix_transpose(x: Tensor) -> Tensor:
    """The last two axes exchanged."""
    if not x.ndim:  # which torch gives back
        raise ShapeError("matrix_transpose: a tensor without axes is no matrix")
    return x.mT


def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Repeated along axes of length 1."""
    return torch.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], *, axis: int | None = 0) -> Tensor:
    """Arrays end to end."""
    if axis is None:
        return torch.cat([array.reshape(-1) for array in arrays])
    return torch.cat(list(arrays), axis)


def stack(arrays: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    """Arrays along a new axis."""
    return torch.stack(list(arrays), axis)


def unstack(x: Tensor, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts along an axis."""
    return torch.unbind(x, axis)


def expand_dims(x: Tensor, *, axis: Axes = 0) -> Tensor:
    """New axes of length 1."""
    if isinstance(axis, int):
        return torch.unsqueeze(x, axis)
    for position in sorted(normalize_axis_tuple(axis, x.ndim + len(axis))):
        x = torch.unsqueeze(x, position)
    return x


def squeeze(x: Tensor, axis: Axes | None = None) -> Tensor:
    """Without axes of length 1; without all of them where none is named."""
    if axis is None:
        return torch.squeeze(x)
    for number in (axis,) if isinstance(axis, int) else axis:
        if x.shape[number] != 1:
            raise ValueError(f"axis {number} of {list(x.shape)} has not length 1")
    return torch.squeeze(x, axis)


def flip(x: Tensor, *, axis: Axes | None = None) -> Tensor:
    """The other way round along axes."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return torch.flip(x, tuple(axes))


def roll(x: Tensor, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Moved along axes, in a ring."""
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return torch.roll(x, shift, cast("Any", axis))


def repeat(x: Tensor, repeats: Any, *, axis: int | None = None) -> Tensor:
    """Each value several times."""
    return torch.repeat_interleave(x, repeats, axis)


def tile(x: Tensor, repetitions: Sequence[int]) -> Tensor:
    """The whole array several times."""
    return torch.tile(x, tuple(repetitions))


def tril(x: Tensor, *, k: int = 0) -> Tensor:
    """Zeros above the k-th diagonal of each matrix."""
    return torch.tril(x, k)


def triu(x: Tensor, *, k: int = 0) -> Tensor:
    """Zeros below the k-th diagonal of each matrix."""
    return torch.triu(x, k)


def pad(
    b: Backend, x: Tensor, widths: Sequence[tuple[int, int]], *, value: float = 0
) -> Tensor:
    """`value` before and after each axis; a negative width cuts instead."""
    require_in_range(value, to_numpy(x.dtype))
    if type(value) is int and abs(value) > _EXACT:
        return _joining.pad(b, x, widths, value=value)
    further = ((0, 0),) * (x.ndim - len(widths))
    flat = [width for pair in reversed((*widths, *further)) for width in pair]
    return functional.pad(x, flat, value=value)


def one_hot(x: Tensor, num_classes: int, *, dtype: Any = "int64") -> Tensor:
    """1 at each integer's place of a new last axis, 0 elsewhere."""
    classes = torch.arange(num_classes, dtype=x.dtype, device=x.device)
    return (x[..., None] == classes).to(to_torch(dtype))


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products, by Einstein's notation."""
    return torch.einsum(equation, *promote_all(operands))


def unfold(
    b: Backend,
    x: Tensor,
    *,
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
) -> Tensor:
    """Each window of ``(n, c, h, w)`` as a column."""
    if not x.is_floating_point():  # unknown to torch's kernel
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
    """Adds columns up where their windows stood."""
    if not x.is_floating_point():
        geometry = {"kernel": kernel, "stride": stride, "padding": padding}
        return _windows.fold(b, x, shape=shape, **geometry, dilation=dilation)
    return functional.fold(x, tuple(shape), kernel, dilation, padding, stride)
