"""Functions of the Array API standard, implemented with jax.numpy; array creation."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.lib.array_utils import normalize_axis_index

from seqloom.errors import BackendError, DTypeError
from seqloom.tensor._backend import Backend
from seqloom.tensor._elements import (
    is_out_of_range,
    require_in_dtype,
    require_range_in_dtype,
    require_representable,
    to_native,
)
from seqloom.tensor._families._einsum import require_diagonals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import DTypeLike as DType

    Axis: TypeAlias = int | tuple[int, ...] | None


_64_BIT_TYPES = frozenset({"int64", "uint64", "float64", "complex128"})
_32_BIT_TYPES = {"int64": "int32", "uint64": "uint32"}

# Functions with the same name in jax.numpy and in the Array API standard.
# fmt: off
_JAX_NAMES = [
    "abs", "acos", "acosh", "all", "any", "argmax", "argmin", "argsort", "asin", "asinh",
    "atan", "atan2", "atanh", "bitwise_invert", "broadcast_to", "ceil", "concat", "conj",
    "copysign", "cos", "cosh", "count_nonzero", "cumulative_sum", "divide", "exp",
    "expand_dims", "expm1", "finfo", "flip", "floor", "hypot", "iinfo", "imag", "isdtype",
    "isfinite", "isin", "isinf", "isnan", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose",
    "max", "mean", "min", "moveaxis", "negative", "nextafter", "nonzero", "positive",
    "prod", "real", "reciprocal", "repeat", "reshape", "result_type", "roll", "round",
    "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze", "stack", "sum", "tan",
    "tanh", "tensordot", "tile", "tril", "triu", "trunc", "unstack", "vecdot",
]
# Functions in which integers out of the range of the dtype would wrap around.
_RANGE_CHECKED_NAMES = [
    "add", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "maximum", "minimum", "multiply", "pow", "subtract",
]
_COMPARISON_OPERATORS = {
    "equal": operator.eq, "greater": operator.gt, "greater_equal": operator.ge,
    "less": operator.lt, "less_equal": operator.le, "not_equal": operator.ne,
}
# fmt: on


class _JaxInfo(Protocol):
    """Attributes of the JAX backend that creation functions need."""

    jax_device: Any  # a JAX device, or None for the default device
    float_dtype: str
    zeros: Callable[..., Array]
    var: Callable[..., Array]


def asarray(
    b: _JaxInfo, data: Any, dtype: DType | None = None, *, copy: bool | None = None
) -> Array:
    """Convert data to an array; Python floats become `float_dtype`."""
    if not isinstance(data, jax.Array):
        data = _to_numpy_array(data, dtype, b.float_dtype)
        # JAX may copy the memory later, after its owner has changed the values.
        data, copy = (np.array(data), None) if copy else (data, copy)
    kind = to_dtype(data.dtype if dtype is None else dtype)
    return jnp.array(data, kind, copy=bool(copy), device=b.jax_device)


def empty(b: _JaxInfo, shape: Sequence[int] | int, *, dtype: DType | None = None) -> Array:
    """Return zeros, because JAX has no uninitialised arrays."""
    return b.zeros(shape, dtype)


def zeros(b: _JaxInfo, shape: Sequence[int] | int, dtype: DType | None = None) -> Array:
    """Return an array of zeros."""
    return jnp.zeros(shape, _choose_dtype(b, dtype), device=b.jax_device)


def ones(b: _JaxInfo, shape: Sequence[int] | int, dtype: DType | None = None) -> Array:
    """Return an array of ones."""
    return jnp.ones(shape, _choose_dtype(b, dtype), device=b.jax_device)


def full(
    b: _JaxInfo, shape: Sequence[int] | int, value: complex, *, dtype: DType | None = None
) -> Array:
    """Return an array filled with one value."""
    floats = isinstance(value, float)
    kind = None if dtype is None and not floats else _choose_dtype(b, dtype)
    whole = jnp.asarray(0).dtype if type(value) is int and kind is None else kind
    require_representable(value, whole)
    return jnp.full(shape, value, kind, device=b.jax_device)


def arange(
    b: _JaxInfo,
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
) -> Array:
    """Return evenly spaced numbers."""
    floats = any(isinstance(bound, float) for bound in (start, stop, step))
    kind = None if dtype is None and not floats else _choose_dtype(b, dtype)
    bounds = (0, start) if stop is None else (start, stop)
    require_range_in_dtype(*bounds, step, jnp.asarray(0).dtype if kind is None else kind)
    return jnp.arange(start, stop, step, kind, device=b.jax_device)


def eye(
    b: _JaxInfo,
    rows: int,
    columns: int | None = None,
    *,
    k: int = 0,
    dtype: DType | None = None,
) -> Array:
    """Return a matrix with ones on a diagonal."""
    return jnp.eye(rows, columns, k, _choose_dtype(b, dtype), device=b.jax_device)


def einsum(equation: str, *operands: Array) -> Array:
    """Compute an einsum; raise for the diagonal of a rectangular matrix, unlike JAX."""
    require_diagonals(equation, operands)
    return jnp.einsum(equation, *operands)


def from_dlpack(b: _JaxInfo, x: Any) -> Array:
    """Convert an array of another library to a JAX array."""
    return jax.device_put(jnp.from_dlpack(x), b.jax_device)


def to_numpy(x: Array) -> Any:
    """Convert an array to a read-only NumPy array."""
    return np.asarray(x)


def astype(x: Array, dtype: DType, *, copy: bool = True) -> Array:
    """Convert an array to another dtype."""
    del copy  # no copy is needed, because arrays are immutable
    return jnp.asarray(x).astype(to_dtype(dtype))


def permute_dims(x: Array, axes: Sequence[int]) -> Array:
    """Return an array with its axes in another order; negative axes count from the end."""
    return jnp.permute_dims(x, tuple(normalize_axis_index(axis, x.ndim) for axis in axes))


def floor_divide(x: Array, y: Array) -> Array:
    """Return the quotient rounded down; an integer divided by 0 is 0, as in NumPy."""
    _require_in_dtype(x, y)
    found = jnp.floor_divide(x, y)
    if jnp.issubdtype(found.dtype, jnp.inexact):  # JAX returns +0 for -0 // 1
        signed = jnp.copysign(found, jnp.divide(x, y))
        return jnp.where(found == 0, signed, found)
    return jnp.where(jnp.equal(y, 0), jnp.zeros((), found.dtype), found)


def remainder(x: Array, y: Array) -> Array:
    """Return the remainder of the floor division, which has the sign of `y`."""
    _require_in_dtype(x, y)
    found = jnp.remainder(x, y)
    floats = jnp.issubdtype(found.dtype, jnp.floating)
    return jnp.copysign(found, y) if floats else found


def where(condition: Array, x: Array, y: Array) -> Array:
    """Return `x` where the condition is true, and `y` elsewhere."""
    _require_in_dtype(x, y)
    return jnp.where(condition, x, y)


def clip(
    x: Array,
    min: Any = None,  # noqa: A002  # the standard's name
    max: Any = None,  # noqa: A002  # the standard's name
) -> Array:
    """Limit the values to a range; a bound that the dtype cannot represent is ignored."""
    dtype = x.dtype
    min = None if is_out_of_range(min, dtype) and min < 0 else min  # noqa: A001
    max = None if is_out_of_range(max, dtype) and max > 0 else max  # noqa: A001
    _require_in_dtype(x, min)
    _require_in_dtype(x, max)
    return jnp.clip(x, min, max)


def sign(x: Array) -> Array:
    """Return the sign: -1, 0 or 1; for -0, return 0 (JAX would return -0)."""
    return jnp.where(x == 0, jnp.zeros((), x.dtype), jnp.sign(x))


def searchsorted(x1: Array, x2: Array, **options: Any) -> Array:
    """Return the indices at which `x2` must be inserted to keep `x1` sorted."""
    x2 = jnp.asarray(x2)  # JAX would cast a Python number to the dtype of x1
    return jnp.searchsorted(x1, x2, **options).astype(jnp.asarray(0).dtype)


def var(
    x: Array, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance over axes; infinity if the divisor is not above 0."""
    found = jnp.var(x, axis, correction=0.0, keepdims=keepdims)
    if not correction:
        return found
    count = x.size // max(found.size, 1) if x.size else 0
    free = jnp.asarray(max(count - correction, 0), found.dtype)
    return found * count / free


def std(
    b: _JaxInfo,
    x: Array,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation over axes."""
    return jnp.sqrt(b.var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_prod(x: Array, *, dtype: Any = None, **options: Any) -> Array:
    """Return the cumulative product; small integer dtypes are widened as in a sum."""
    if dtype is None and not jnp.issubdtype(x.dtype, jnp.inexact):
        dtype = jax.eval_shape(jnp.sum, x).dtype
    return jnp.cumulative_prod(x, dtype=dtype, **options)


def logcumsumexp(x: Array, *, axis: int) -> Array:
    """Return the logarithms of the cumulative sums of exponentials."""
    position = normalize_axis_index(axis, x.ndim)
    return lax.cumlogsumexp(jnp.asarray(x, jnp.result_type(x, jnp.float32)), position)


def _choose_dtype(b: _JaxInfo, dtype: DType | None) -> np.dtype[np.generic]:
    """Return the given dtype, or the default float dtype for None."""
    return to_dtype(b.float_dtype if dtype is None else dtype)


def to_dtype(dtype: DType) -> np.dtype[np.generic]:
    """Return the JAX dtype for an argument; raise for 64 bits if they are disabled."""
    if dtype is float:
        return np.dtype(Backend.float_dtype)
    found = jnp.asarray(0).dtype if dtype is int else np.dtype(dtype)
    if found.kind in "OSUmM":
        raise DTypeError(f"jax has no arrays of {found.name}; expected numbers or booleans")
    if found.name in _64_BIT_TYPES and not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise BackendError(
            f"jax has no {found} unless 64 bits are switched on: "
            'jax.config.update("jax_enable_x64", True), or the variable JAX_ENABLE_X64=1'
        )
    return found


def _to_numpy_array(data: Any, dtype: Any, float_dtype: str) -> Any:
    """Convert data to a NumPy array, with 32-bit integers unless JAX uses 64 bits."""
    # Labels and indices are often int64 in NumPy, although 32 bits are enough.
    array = to_native(np.asarray(data))
    uses_rust = not isinstance(data, (np.ndarray, np.generic))
    if uses_rust and array.dtype == np.float64:
        return array.astype(float_dtype)
    narrow = _32_BIT_TYPES.get(array.dtype.name)
    if dtype is not None or narrow is None or jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        return array
    return array.astype(narrow) if _fits_in_dtype(array, narrow) else array


def _fits_in_dtype(array: Any, dtype: str) -> bool:
    """Return whether an integer dtype can represent all numbers of an array."""
    limits = np.iinfo(dtype)
    return not array.size or (array.min() >= limits.min and array.max() <= limits.max)


def _require_in_dtype(x: Any, y: Any) -> None:
    """Raise if a Python integer is out of range for the dtype of the other operand."""
    require_in_dtype(x, getattr(y, "dtype", None))
    require_in_dtype(y, getattr(x, "dtype", None))


def _with_range_check(function: Callable[..., Array]) -> Callable[..., Array]:
    """Wrap a binary function with a range check of Python integers."""

    def compute(x: Any, y: Any) -> Array:
        if type(x) is int or type(y) is int:
            _require_in_dtype(x, y)
        return function(x, y)

    return compute


def _compare_any_number(
    function: Callable[..., Array], of_numbers: Callable[..., bool]
) -> Callable[..., Array]:
    """Wrap a comparison so that it accepts integers outside the range of the dtype."""

    def compute(x: Any, y: Any) -> Array:
        if is_out_of_range(y, getattr(x, "dtype", None)):
            return jnp.full(x.shape, of_numbers(0, y))
        if is_out_of_range(x, getattr(y, "dtype", None)):
            return jnp.full(y.shape, of_numbers(x, 0))
        return function(x, y)

    return compute


LIBRARY_FUNCTIONS = (
    {name: getattr(jnp, name) for name in _JAX_NAMES}
    | {name: _with_range_check(getattr(jnp, name)) for name in _RANGE_CHECKED_NAMES}
    | {
        name: _compare_any_number(getattr(jnp, name), of_numbers)
        for name, of_numbers in _COMPARISON_OPERATORS.items()
    }
)
