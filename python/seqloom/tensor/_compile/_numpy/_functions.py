"""The function of NumPy or of the backend that an operation calls, without type checks."""

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


def find_function(backend: Backend, operation: Operation) -> Callable[..., Any]:
    """Returns NumPy's own function or a method of the backend.

    The types of the values are known, so the checks of them are skipped where possible.
    """
    if operation.name == "reshape":
        return _copy_reshaped
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
    """Returns True if integers meet floats or become floats: a ufunc would widen them."""
    are_integers = [v.dtype.kind in "biu" for v in operation.inputs()]
    has_floats = any(v.dtype.kind not in "biu" for v in operation.outputs)
    return any(are_integers) and (has_floats or not all(are_integers))


def _copy_reshaped(x: NDArray[Any], shape: tuple[int, ...], *, out: NDArray[Any]) -> None:
    """Copies the values into `out`, which has the new shape."""
    del shape
    np.copyto(out.reshape(x.shape), x)


def has_out(function: Callable[..., Any]) -> bool:
    """Returns True if a function has an argument `out`."""
    is_ufunc = isinstance(function, np.ufunc)
    return is_ufunc or _has_out(getattr(function, "__func__", function))


@cache  # `inspect.signature` takes longer than the whole layout
def _has_out(function: Callable[..., Any]) -> bool:
    """Returns True if a Python function has an argument `out`."""
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
