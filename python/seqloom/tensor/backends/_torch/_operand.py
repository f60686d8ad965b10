"""The standard's promotion for torch's functions of two arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from seqloom.tensor._backend import Backend
from seqloom.tensor._element_types import is_out_of_range, require_in_range
from seqloom.tensor.backends._torch._dtype import to_numpy, to_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SMALL = 127  # which every type has


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands of one type: numbers are weak, arrays without axes are not."""
    if not isinstance(y, Tensor):
        return x, like(x, y)
    if not isinstance(x, Tensor):
        return like(y, x), y
    if x.dtype is not y.dtype and (x.ndim == 0) != (y.ndim == 0):
        common = torch.promote_types(x.dtype, y.dtype)
        return x.to(common), y.to(common)
    return x, y


def like(x: Tensor, value: Any) -> Tensor:
    """A number, or an array of another library, to meet an array."""
    if isinstance(value, complex):
        kind = x.dtype if x.is_complex() else to_floats(x.new_empty(0)).dtype.to_complex()
        return torch.full((), value, dtype=kind, device=x.device)
    if not isinstance(value, (int, float)):
        return torch.as_tensor(value, device=x.device)
    if _is_far(value):
        require_in_range(value, to_numpy(x.dtype))
    strong = isinstance(value, float) and not x.dtype.is_floating_point
    dtype = torch.get_default_dtype() if strong else x.dtype
    return torch.full((), value, dtype=dtype, device=x.device)


def promote_all(arrays: Sequence[Tensor]) -> list[Tensor]:
    """Arrays of their common type."""
    dtype = arrays[0].dtype
    for array in arrays[1:]:
        dtype = torch.promote_types(dtype, array.dtype)
    return [array.to(dtype) for array in arrays]


def to_floats(x: Tensor) -> Tensor:
    """Integers and truths as floats; anything else as it is."""
    is_float = x.is_floating_point() or x.is_complex()
    return x if is_float else x.to(to_torch(Backend.float_dtype))


def binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays whose second one may be a number already."""

    def call(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor) and isinstance(y, (int, float)):
            if _is_far(y):
                require_in_range(y, to_numpy(x.dtype))
            return function(x, y)
        return function(*operands(x, y))

    return call


def comparison(function: Callable[..., Any], of_numbers: Callable[..., bool]) -> Any:
    """A comparison, which a number that the array's type lacks decides by its side."""
    plain = binary(function)

    def call(x: Any, y: Any) -> Any:
        if _is_far(y) and is_out_of_range(y, to_numpy(x.dtype)):
            return x.new_full(x.shape, of_numbers(0, y), dtype=torch.bool)
        if _is_far(x) and is_out_of_range(x, to_numpy(y.dtype)):
            return y.new_full(y.shape, of_numbers(x, 0), dtype=torch.bool)
        return plain(x, y)

    return call


def _is_far(number: Any) -> bool:
    """Whether an integer may be beyond a type: only then torch is left for NumPy."""
    return type(number) is int and not 0 <= number <= _SMALL


def fraction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays that takes no numbers, and of integers gives floats."""

    def call(x: Any, y: Any) -> Any:
        x, y = (
            to_floats(array) if isinstance(array, Tensor) else array for array in (x, y)
        )
        return function(*operands(x, y))

    return call


def strict_binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays that takes no numbers."""

    def call(x: Any, y: Any) -> Any:
        return function(*operands(x, y))

    return call
