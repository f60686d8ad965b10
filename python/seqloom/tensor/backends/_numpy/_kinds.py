"""Integers and truths among floats: what the standard leaves open, as torch and jax do it.

They take the type of the floats that they meet; where they meet none and a function gives
fractions, they become `float_dtype`. NumPy's own would be float64, or float16 of bytes.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    DType = np.dtype[Any]

FLOAT: DType = np.dtype(Backend.float_dtype)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_WHOLE = "biu"
_NUMBERS = (bool, int, float, complex)


def to_dtype(dtype: Any) -> Any:
    """A type as NumPy is told it; Python's ``float`` is `float_dtype`."""
    return FLOAT if dtype is float else dtype


@cache
def find_common_type(*dtypes: DType) -> DType:
    """The type of a result of arrays of these types."""
    floats = [dtype for dtype in dtypes if dtype.kind not in _WHOLE]
    return np.result_type(*(floats or dtypes))


def to_floats(x: Any) -> Any:
    """Integers and truths as floats; anything else as it is."""
    if isinstance(x, _NUMBERS):
        return x
    return x.astype(FLOAT) if x.dtype.kind in _WHOLE else x


def promote_two(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands as NumPy's functions give their common type."""
    one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
    if other is None:
        return (x, y) if one is None else _beside(x, y)
    if one is None:
        return _beside(y, x)[::-1]
    dtype = find_common_type(one, other)
    if np.result_type(one, other) == dtype:
        return x, y
    return x.astype(dtype, copy=False), y.astype(dtype, copy=False)


def _beside(x: Any, number: Any) -> tuple[Any, Any]:
    """An array and a number; a fraction makes floats of integers."""
    if type(number) is not float:
        return x, number
    if x.dtype.kind in _WHOLE:
        return x.astype(FLOAT), number
    return x, ml_dtypes.bfloat16(number) if x.dtype == _BFLOAT16 else number


def promote_all(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays to be joined, of their common type."""
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) < 2:  # noqa: PLR2004 - they are of one already
        return arrays
    dtype = find_common_type(*dtypes)
    return [array.astype(dtype, copy=False) for array in arrays]


def give_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A mean or a spread, which of integers is of `float_dtype`."""

    @wraps(function)
    def call(x: Any, out: Any = None, **options: Any) -> Any:
        if x.dtype.kind not in _WHOLE:
            return (
                function(x, **options) if out is None else function(x, out=out, **options)
            )
        found: Any = function(x, **options).astype(FLOAT)
        if out is None:
            return found
        out[...] = found
        return out

    return call


def take_float_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum or a product, whose type may be said as Python's ``float``."""

    @wraps(function)
    def call(x: Any, **options: Any) -> Any:
        if "dtype" in options:
            options["dtype"] = to_dtype(options["dtype"])
        return function(x, **options)

    return cast("Callable[..., Any]", call)
