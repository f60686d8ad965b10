"""The shortest way to a function of the backend."""

from __future__ import annotations

import inspect
from functools import cache
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Operation

_HALF = 2  # bytes


def direct(backend: Backend, operation: Operation) -> Callable[..., Any]:
    """The function that an operation calls, without what looks at types where it can.

    Args:
        backend: Whose function.
        operation: What is called; its values' types are known.

    Returns:
        NumPy's own function, or a bound method.
    """
    if operation.name == "reshape":
        return _reshaped
    function: Any = getattr(backend, operation.name)
    values = (*operation.inputs(), *operation.outputs)
    has_half = any(v.dtype.itemsize == _HALF and v.dtype.kind in "fV" for v in values)
    if has_half or (hasattr(function, "ufunc") and _mixes_kinds(operation)):
        return function
    plain = getattr(function, "of_arrays", getattr(function, "__wrapped__", function))
    plain = getattr(plain, "ufunc", plain)
    if plain is function:
        return function
    owner = getattr(function, "__self__", None)
    return plain if owner is None else MethodType(plain, owner)


def _mixes_kinds(operation: Operation) -> bool:
    """Whether whole numbers meet floats or become some, which NumPy's own would widen."""
    are_whole = [v.dtype.kind in "biu" for v in operation.inputs()]
    has_floats = any(v.dtype.kind not in "biu" for v in operation.outputs)
    return any(are_whole) and (has_floats or not all(are_whole))


def _reshaped(x: NDArray[Any], shape: tuple[int, ...], *, out: NDArray[Any]) -> None:
    """The values in another shape, where that needs a copy."""
    del shape  # that of `out`
    np.copyto(out.reshape(x.shape), x)


def takes_out(function: Callable[..., Any]) -> bool:
    """Whether a function writes where it is told to."""
    is_ufunc = isinstance(function, np.ufunc)
    return is_ufunc or _has_out(getattr(function, "__func__", function))


@cache
def _has_out(function: Callable[..., Any]) -> bool:
    """Whether a function has an argument `out`; to find out takes longer than to plan."""
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
