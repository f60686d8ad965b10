"""The standard's promotion for torch's functions of two arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


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
    if not isinstance(value, (bool, int, float)):
        return torch.as_tensor(value, device=x.device)
    strong = isinstance(value, float) and not x.dtype.is_floating_point
    dtype = torch.get_default_dtype() if strong else x.dtype
    return torch.full((), value, dtype=dtype, device=x.device)


def binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays whose second one may be a number already."""

    def call(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor) and isinstance(y, (int, float)):
            return function(x, y)
        return function(*operands(x, y))

    return call


def strict_binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays that takes no numbers."""

    def call(x: Any, y: Any) -> Any:
        return function(*operands(x, y))

    return call
