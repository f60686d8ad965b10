"""NumPy functions with the result dtypes of the Array API standard, and cached memory.

If integers or booleans are combined with floats, the result has the dtype of the floats.
Without floats, functions with fractional results return the dtype `float_dtype`. NumPy
itself would return float64, or float16 for 8-bit integers.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._families._numpy_arrays import Floats, allocate, is_half

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    DType = np.dtype[np.generic]

FLOAT32: DType = np.dtype(np.float32)  # The default `Backend.float_dtype`.
_INTEGER_KINDS = "biu"
_PYTHON_NUMBERS = (bool, int, float, complex)


def to_dtype(dtype: Any) -> Any:
    """Return a NumPy dtype; Python's ``float`` becomes `float_dtype`."""
    return FLOAT32 if dtype is float else dtype


@cache
def find_common_type(*dtypes: DType) -> DType:
    """Return the dtype of the result for operands of these dtypes."""
    floats = [dtype for dtype in dtypes if dtype.kind not in _INTEGER_KINDS]
    return np.result_type(*(floats or dtypes))


def to_floats(x: Any) -> Any:
    """Convert integers and booleans to floats; return floats and numbers unchanged."""
    if isinstance(x, _PYTHON_NUMBERS):
        return x
    return x.astype(FLOAT32) if x.dtype.kind in _INTEGER_KINDS else x


def promote_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Convert two operands so that a NumPy function returns their common dtype."""
    one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
    if other is None:
        return (x, y) if one is None else _match_number(x, y)
    if one is None:
        return _match_number(y, x)[::-1]
    dtype = find_common_type(one, other)
    if np.result_type(one, other) == dtype:
        return x, y
    return x.astype(dtype, copy=False), y.astype(dtype, copy=False)


def _match_number(x: Any, number: Any) -> tuple[Any, Any]:
    """Return array and number; convert an integer array if the number is a float."""
    if type(number) is not float:
        return x, number
    if x.dtype.kind in _INTEGER_KINDS:
        return x.astype(FLOAT32), number
    is_bfloat16 = is_half(x.dtype) and x.dtype.kind == "V"
    return x, x.dtype.type(number) if is_bfloat16 else number


def promote_arrays(arrays: Sequence[Any]) -> Sequence[Any]:
    """Return the arrays converted to their common dtype."""
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) < 2:  # noqa: PLR2004 - one common type
        return arrays
    dtype = find_common_type(*dtypes)
    return [array.astype(dtype, copy=False) for array in arrays]


def wrap_mean(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a mean or deviation so that it returns `float_dtype` for integers."""

    @wraps(function)
    def compute(x: Any, out: Any = None, **options: Any) -> Any:
        if x.dtype.kind not in _INTEGER_KINDS:
            return (
                function(x, **options) if out is None else function(x, out=out, **options)
            )
        found: Any = function(x, **options).astype(FLOAT32)
        if out is None:
            return found
        out[...] = found
        return out

    return compute


def wrap_sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a sum or product so that ``dtype=float`` means `float_dtype`."""

    @wraps(function)
    def compute(x: Any, **options: Any) -> Any:
        if "dtype" in options:
            options["dtype"] = to_dtype(options["dtype"])
        return function(x, **options)

    return cast("Callable[..., Any]", compute)


# fmt: off
# Functions whose result has the dtype of their float inputs.
ARITHMETIC_FUNCTIONS = frozenset({
    "abs", "add", "ceil", "cos", "divide", "exp", "expm1", "floor", "log", "log1p",
    "maximum", "minimum", "multiply", "negative", "pow", "sign", "sin", "sqrt", "square",
    "subtract", "tanh",
})
# Functions that return fractions, also for integers.
FRACTIONAL_FUNCTIONS = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh",
    "divide", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "logaddexp",
    "nextafter", "sin", "sinh", "sqrt", "tan", "tanh",
})
# fmt: on
_LARGE_SIZE = 65_536  # Number of elements; larger results use cached memory.


def wrap_unary(name: str) -> Callable[..., Floats]:
    """Wrap a NumPy function of one array so that its result uses cached memory.

    Args:
        name: The name of the function in the Array API standard.

    Returns:
        The NumPy function, or a wrapper with the NumPy function as attribute `ufunc`.
    """
    ufunc: Any = getattr(np, name)
    gives_fractions = name in FRACTIONAL_FUNCTIONS
    if not gives_fractions and name not in ARITHMETIC_FUNCTIONS:
        return ufunc

    def compute(x: Any, out: Floats | None = None) -> Floats:
        if gives_fractions and getattr(x, "dtype", FLOAT32) is not FLOAT32:
            x = to_floats(x)
        if out is None:
            if type(x) is not np.ndarray or x.size < _LARGE_SIZE or x.dtype.kind != "f":
                return ufunc(x)
            out = allocate(x.shape, x.dtype)
        return ufunc(x, out=out)

    return _attach_ufunc(compute, ufunc, name)


def wrap_binary(name: str) -> Callable[..., Floats]:
    """Wrap a NumPy function of two operands so that it computes in their common dtype.

    Args:
        name: The name of the function in the Array API standard.

    Returns:
        A wrapper with two attributes: `ufunc`, the NumPy function, and `array_variant`, a
        faster function for two float arrays.
    """
    ufunc: Any = getattr(np, name)
    function = _reuse_memory(ufunc) if name in ARITHMETIC_FUNCTIONS else ufunc
    function = _make_fast_power(function) if name == "pow" else function
    gives_fractions = name in FRACTIONAL_FUNCTIONS

    def compute(x: Any, y: Any, out: Floats | None = None) -> Floats:
        one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
        if not ((one is FLOAT32 or one is None) and (other is FLOAT32 or other is None)):
            if one is not other:
                x, y = promote_pair(x, y)
            if gives_fractions:
                x, y = to_floats(x), to_floats(y)
        return function(x, y, out)

    def array_variant(x: Any, y: Any) -> Floats:
        return ufunc(x, y) if x.size < _LARGE_SIZE else function(x, y, None)

    known = _attach_ufunc(compute, ufunc, name)
    known.array_variant = _attach_ufunc(array_variant, ufunc, name)
    return known


def _attach_ufunc(call: Any, ufunc: np.ufunc, name: str) -> Any:
    """Set the attribute `ufunc` of a function, and the name for its error messages."""
    call.ufunc, call.__qualname__ = ufunc, name
    return call


def _reuse_memory(ufunc: np.ufunc) -> Callable[..., Floats]:
    """Return a binary function that writes large results to cached memory."""

    def compute(x: Any, y: Any, out: Floats | None) -> Floats:
        if out is None and type(x) is np.ndarray and x.size >= _LARGE_SIZE:
            out = _allocate_result(x, y)
        return ufunc(x, y) if out is None else ufunc(x, y, out=out)

    return compute


def _allocate_result(x: Floats, y: Any) -> Floats | None:
    """Return memory for a result, or None if it may differ from `x` in shape or dtype."""
    if x.dtype.kind != "f":
        return None
    if type(y) is float or type(y) is int:
        return allocate(x.shape, x.dtype)
    if type(y) is not np.ndarray or y.dtype != x.dtype:
        return None
    same = y.shape == x.shape or y.shape == x.shape[x.ndim - y.ndim :]
    return allocate(x.shape, x.dtype) if same or y.ndim == 0 else None


def _make_fast_power(power: Callable[..., Floats]) -> Callable[..., Floats]:
    """Return a power function that computes common exponents by products or roots.

    Args:
        power: The power function of NumPy. A cube that is computed by products differs from
            the exact result by at most two units in the last place.

    Returns:
        A power function with the arguments of the NumPy function.
    """

    def compute(x: Any, y: Any, out: Floats | None) -> Floats:
        is_number = type(y) is int or type(y) is float
        if is_number and y in _POWERS and x.dtype.char in "fd":
            made = allocate(x.shape, x.dtype) if out is None and x.ndim else out
            return _POWERS[y](x, made)
        return power(x, y, out)

    return compute


def _cube(x: Floats, out: Floats | None) -> Floats:
    """Return ``x * x * x``; if `out` is `x`, the square is stored in separate memory."""
    square = np.multiply(x, x, out=None if out is x else out)
    return np.multiply(square, x, out=out)


_POWERS: dict[float, Callable[..., Floats]] = {0.5: np.sqrt, 2.0: np.square, 3.0: _cube}
