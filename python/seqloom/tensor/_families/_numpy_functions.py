"""NumPy's functions as the standard has them: types of results, and memory of large ones.

Integers and truths take the type of the floats that they meet; where they meet none and a
function gives fractions, they become `float_dtype`. NumPy's own would be float64, or
float16 of bytes.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._families._numpy_arrays import Floats, fresh, is_half

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    DType = np.dtype[np.generic]

FLOAT: DType = np.dtype(np.float32)  # `Backend.float_dtype`
_WHOLE = "biu"
_NUMBERS = (bool, int, float, complex)


def to_dtype(dtype: Any) -> Any:
    """Return a type as NumPy is told it; Python's ``float`` is `float_dtype`."""
    return FLOAT if dtype is float else dtype


@cache
def find_common_type(*dtypes: DType) -> DType:
    """Return the type of a result of arrays of these types."""
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
    """Return an array and a number; a fraction makes floats of integers."""
    if type(number) is not float:
        return x, number
    if x.dtype.kind in _WHOLE:
        return x.astype(FLOAT), number
    is_bfloat16 = is_half(x.dtype) and x.dtype.kind == "V"
    return x, x.dtype.type(number) if is_bfloat16 else number


def promote_all(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays to be joined, of their common type."""
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) < 2:  # noqa: PLR2004 - they are of one already
        return arrays
    dtype = find_common_type(*dtypes)
    return [array.astype(dtype, copy=False) for array in arrays]


def give_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mean or a spread, which of integers is of `float_dtype`."""

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
    """Return a sum or a product, whose type may be said as Python's ``float``."""

    @wraps(function)
    def call(x: Any, **options: Any) -> Any:
        if "dtype" in options:
            options["dtype"] = to_dtype(options["dtype"])
        return function(x, **options)

    return cast("Callable[..., Any]", call)


# fmt: off
# Functions whose results have the type of their floats.
ARITHMETIC = frozenset({
    "abs", "add", "ceil", "cos", "divide", "exp", "expm1", "floor", "log", "log1p",
    "maximum", "minimum", "multiply", "negative", "pow", "sign", "sin", "sqrt", "square",
    "subtract", "tanh",
})
# Functions that give fractions of integers too.
FRACTIONAL = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh",
    "divide", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
    "nextafter", "sin", "sinh", "sqrt", "tan", "tanh",
})
# fmt: on
_LARGE = 65_536  # numbers: from here on, new memory costs more than asking for used


def of_one(name: str) -> Callable[..., Floats]:
    """Wrap a NumPy function of one array so that it reuses memory if it can.

    Args:
        name: The name, as in the Array API standard.

    Returns:
        The function itself, or one of the same arguments that knows it as `ufunc`.
    """
    ufunc: Any = getattr(np, name)
    gives_fractions = name in FRACTIONAL
    if not gives_fractions and name not in ARITHMETIC:
        return ufunc

    def call(x: Any, out: Floats | None = None) -> Floats:
        if gives_fractions and getattr(x, "dtype", FLOAT) is not FLOAT:
            x = to_floats(x)
        if out is None:
            if type(x) is not np.ndarray or x.size < _LARGE or x.dtype.kind != "f":
                return ufunc(x)
            out = fresh(x.shape, x.dtype)
        return ufunc(x, out=out)

    return _note_ufunc(call, ufunc, name)


def binary(name: str) -> Callable[..., Floats]:
    """Wrap a NumPy function of two operands so that it computes in their common dtype.

    Args:
        name: The name, as in the Array API standard.

    Returns:
        A function that knows NumPy's as `ufunc`; and as `of_arrays`, the shorter way where
        both are arrays of floats, which NumPy promotes as the standard.
    """
    ufunc: Any = getattr(np, name)
    function = _reusing(ufunc) if name in ARITHMETIC else ufunc
    function = _by_products(function) if name == "pow" else function
    gives_fractions = name in FRACTIONAL

    def call(x: Any, y: Any, out: Floats | None = None) -> Floats:
        one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
        if not ((one is FLOAT or one is None) and (other is FLOAT or other is None)):
            if one is not other:
                x, y = promote_two(x, y)
            if gives_fractions:
                x, y = to_floats(x), to_floats(y)
        return function(x, y, out)

    def of_arrays(x: Any, y: Any) -> Floats:
        return ufunc(x, y) if x.size < _LARGE else function(x, y, None)

    known = _note_ufunc(call, ufunc, name)
    known.of_arrays = _note_ufunc(of_arrays, ufunc, name)
    return known


def _note_ufunc(call: Any, ufunc: np.ufunc, name: str) -> Any:
    """Return the function, with NumPy's own noted on it, and its name for errors."""
    call.ufunc, call.__qualname__ = ufunc, name
    return call


def _reusing(ufunc: np.ufunc) -> Callable[..., Floats]:
    """Return a function of two arrays, or of an array and a number."""

    def call(x: Any, y: Any, out: Floats | None) -> Floats:
        if out is None and type(x) is np.ndarray and x.size >= _LARGE:
            out = _room(x, y)
        return ufunc(x, y) if out is None else ufunc(x, y, out=out)

    return call


def _room(x: Floats, y: Any) -> Floats | None:
    """Memory for a result of x's shape and type; ``None`` where it may have others."""
    if x.dtype.kind != "f":
        return None
    if type(y) is float or type(y) is int:
        return fresh(x.shape, x.dtype)
    if type(y) is not np.ndarray or y.dtype != x.dtype:
        return None
    same = y.shape == x.shape or y.shape == x.shape[x.ndim - y.ndim :]
    return fresh(x.shape, x.dtype) if same or y.ndim == 0 else None


def _by_products(power: Callable[..., Floats]) -> Callable[..., Floats]:
    """Powers, of floats by products or a root where the exponent is a number of few.

    Args:
        power: NumPy's power; a product of three is at most two units in the last place
            from the exact one.

    Returns:
        A function of the same arguments.
    """

    def call(x: Any, y: Any, out: Floats | None) -> Floats:
        is_number = type(y) is int or type(y) is float
        if is_number and y in _CHEAP and x.dtype.char in "fd":
            made = fresh(x.shape, x.dtype) if out is None and x.ndim else out
            return _CHEAP[y](x, made)
        return power(x, y, out)

    return call


def _cube(x: Floats, out: Floats | None) -> Floats:
    """``x * x * x``; where `out` is x itself, its square needs room of its own."""
    square = np.multiply(x, x, out=None if out is x else out)
    return np.multiply(square, x, out=out)


_CHEAP: dict[float, Callable[..., Floats]] = {0.5: np.sqrt, 2.0: np.square, 3.0: _cube}
