"""Indexing, and updates of elements at indices."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._elements import to_key_tuple
from seqloom.tensor._families._scattering import require_source_covers
from seqloom.tensor.backends._torch._elementwise import to_array_like

if TYPE_CHECKING:
    from collections.abc import Sequence


aten = torch.ops.aten
_TO_CAST = (torch.uint8, torch.int8, torch.int16, torch.uint16, torch.uint32, torch.uint64)


def index(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]``, with NumPy's basic and integer-array indexing."""
    key, flipped = _forward_key(key, x.shape)
    return x[key].flip(flipped) if flipped else x[key]


def take(x: Tensor, indices: Tensor, *, axis: int | None = None) -> Tensor:
    """Return the slices of an axis at the given indices."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    indices = _to_index_type(indices)
    if indices.ndim == 1:
        return torch.index_select(x, axis, _to_nonnegative(indices, x.shape[axis]))
    return x[(slice(None),) * (axis % x.ndim) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    """Return the values at the indices along an axis."""
    indices = indices.long()
    if x.device.type != "cpu":
        return torch.take_along_dim(x, indices, axis)
    # take_along_dim wraps indices modulo the length; `gather` raises an error on a CPU.
    indices = _to_nonnegative(indices, x.shape[axis])
    if indices.ndim != x.ndim:
        return torch.take_along_dim(x, indices, axis)  # raises an error about the shapes
    wide, positions = [*x.shape], [*indices.shape]
    wide[axis] = positions[axis] = 1
    if wide != positions:
        shape = torch.broadcast_shapes(wide, positions)
        x = x.expand(_replace_length(shape, axis, x.shape[axis]))
        indices = indices.expand(_replace_length(shape, axis, indices.shape[axis]))
    return x.gather(axis, indices)


def put_along_axis(
    x: Tensor, indices: Tensor, values: Tensor | float, *, axis: int
) -> Tensor:
    """Return `x` with values replaced at indices along an axis."""
    values = values if isinstance(values, Tensor) else to_array_like(x, values)
    indices = _to_nonnegative(indices.long(), x.shape[axis])
    axis %= x.ndim
    once = [n == 1 and at != axis for at, n in enumerate(indices.shape)]
    indices = indices.expand(
        [wide if one else -1 for one, wide in zip(once, x.shape, strict=True)]
    )
    return x.scatter(axis, indices, values.to(x.dtype).expand(indices.shape))


def scatter_add(x: Tensor, index: Tensor, src: Tensor, *, axis: int) -> Tensor:
    """Add values at indices along an axis, like ``torch.scatter_add``."""
    require_source_covers(index, src)
    return x.scatter_add(axis, _to_nonnegative(index.long(), x.shape[axis]), src)


def scatter_index(values: Tensor, key: Any, shape: Sequence[int]) -> Tensor:
    """Return an array of zeros with `shape`, to which values are added at ``[key]``."""
    return _write_at_key(values.new_zeros(tuple(shape)), key, values, add=True)


def slice_update(x: Tensor, key: Any, values: Tensor | float) -> Tensor:
    """Return `x` with ``x[key]`` replaced by `values`."""
    return _write_at_key(x.clone(), key, values, add=False)


def slice_add(x: Tensor, key: Any, values: Tensor | float) -> Tensor:
    """Return `x` with `values` added at ``x[key]``."""
    return _write_at_key(x.clone(), key, values, add=True)


def embedding(weight: Tensor, ids: Tensor) -> Tensor:
    """Return the row of `weight` for each id."""
    return functional.embedding(_to_index_type(ids), weight)


def embedding_grad(grad: Tensor, ids: Tensor, *, rows: int) -> Tensor:
    """Return the gradient of ``embedding`` with respect to its table of `rows` rows."""
    ids = _to_index_type(ids)
    if ids.device.type == "cpu" and not torch.compiler.is_compiling():
        least, most = torch.aminmax(ids) if ids.numel() else (0, 0)
        if least < 0 or most >= max(rows, 1):
            found = least if least < 0 else most
            raise IndexError(
                f"expected numbers from 0 to {rows} (excluded), got {found}"
            )  # PyTorch would ignore these indices.
    return aten.embedding_dense_backward(grad, ids, rows, -1, False)


def _write_at_key(x: Tensor, key: Any, values: Tensor | float, *, add: bool) -> Tensor:
    """Set or add values at an index key of `x`, in place."""
    values = values.to(x.dtype) if isinstance(values, Tensor) else to_array_like(x, values)
    key, flipped = _forward_key(key, x.shape)
    if flipped:
        values = values.expand(x[key].shape).flip(flipped)
    positions = _index_put_key(key)
    if positions is not None:
        return aten.index_put(x, positions, values, add)
    if not any(isinstance(part, Tensor) for part in key):
        x[key] = x[key] + values if add else values
        return x
    flat = torch.arange(x.numel(), device=x.device).reshape(x.shape)[key]
    values = values.expand(flat.shape)
    return aten.index_put(x.reshape(-1), [flat], values, add).reshape(x.shape)


def _to_nonnegative(indices: Tensor, length: int) -> Tensor:
    """Convert negative indices, which count from the end, to nonnegative indices."""
    return torch.where(indices < 0, indices + length, indices)


def _replace_length(shape: Sequence[int], axis: int, length: int) -> list[int]:
    """Return a shape in which the length of one axis is replaced."""
    found = [*shape]
    found[axis] = length
    return found


def _index_put_key(key: tuple[Any, ...]) -> list[Tensor | None] | None:
    """Convert a key of arrays and full slices for ``index_put``; None for other keys."""
    whole = slice(None)
    arrays = [isinstance(part, Tensor) for part in key]
    if not any(arrays) or not all(
        array or part == whole for array, part in zip(arrays, key, strict=True)
    ):
        return None
    return [part if array else None for array, part in zip(arrays, key, strict=True)]


def _forward_key(key: Any, shape: Sequence[int]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return a key without negative steps, which torch lacks, and the axes to flip."""
    parts = _numbers_to_arrays([_to_index(part) for part in to_key_tuple(key)])
    back = [_is_backward(part) for part in parts]
    if not any(back):
        return tuple(parts), ()
    # Replace backward slices with forward slices, and find their axes in the result.
    if ... in [part for part in parts if not isinstance(part, Tensor)]:
        at = next(i for i, part in enumerate(parts) if part is ...)
        rest = len(shape) - sum(part is not None for part in parts) + 1
        parts = parts[:at] + [slice(None)] * rest + parts[at + 1 :]
        back = back[:at] + [False] * rest + back[at + 1 :]
    found: list[Any] = []
    flipped: list[int] = []
    axis = position = 0
    for part, is_flipped in zip(parts, back, strict=True):
        positions = range(shape[axis])[part][::-1] if is_flipped else range(0)
        forward = slice(positions.start, positions.stop, positions.step)
        found.append(forward if is_flipped else part)
        flipped += [position] if is_flipped else []
        axis += part is not None
        position += not isinstance(part, int)
    return tuple(found), tuple(flipped)


def _to_index(part: Any) -> Any:
    """Convert a list or array in a key to a tensor with a dtype for indices in torch."""
    if part is None or part is ... or isinstance(part, (bool, int, slice)):
        return part
    return _to_index_type(part if isinstance(part, Tensor) else torch.as_tensor(part))


def _is_backward(part: object) -> bool:
    """Return whether an element of an index key is a slice with a negative step."""
    step = part.step if type(part) is slice else None
    return step is not None and step < 0


def _to_index_type(indices: Tensor) -> Tensor:
    """Convert indices to int64 if torch would treat them as a mask or reject them."""
    return indices.long() if indices.dtype in _TO_CAST else indices


def _numbers_to_arrays(parts: list[Any]) -> list[Any]:
    """Convert integers in a key to arrays if slices separate these integers from arrays."""
    # NumPy treats an integer that is separated from the arrays as an array, and puts
    # the axes of separated arrays first in the result. PyTorch applies the integers of
    # a key before the arrays.
    arrays = [part for part in parts if isinstance(part, Tensor)]
    if not arrays or not any(type(part) is int for part in parts):
        return parts
    positions = [at for at, part in enumerate(parts) if isinstance(part, (int, Tensor))]
    if all(after == before + 1 for before, after in pairwise(positions)):
        return parts
    device = arrays[0].device
    return [
        torch.tensor([part], device=device) if type(part) is int else part for part in parts
    ]
