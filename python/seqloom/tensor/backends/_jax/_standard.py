"""The standard's functions: jax.numpy's, and how arrays are made."""

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
    require_in_range,
    require_range_fits,
    require_representable,
    to_native,
)
from seqloom.tensor._families._einsum import require_diagonals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import DTypeLike as DType

    Axis: TypeAlias = int | tuple[int, ...] | None


_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})
_NARROW = {"int64": "int32", "uint64": "uint32"}

# What jax.numpy has under the standard's names.
# fmt: off
_FUNCTIONS = [
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
# What would wrap an integer around that the type of the array lacks.
_ARITHMETIC = [
    "add", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "maximum", "minimum", "multiply", "pow", "subtract",
]
_COMPARISONS = {
    "equal": operator.eq, "greater": operator.gt, "greater_equal": operator.ge,
    "less": operator.lt, "less_equal": operator.le, "not_equal": operator.ne,
}
# fmt: on


class _OnDevice(Protocol):
    """The backend of jax, as functions that make arrays know it."""

    jax_device: Any  # a jax device, or None for jax's own choice
    float_dtype: str
    zeros: Callable[..., Array]
    var: Callable[..., Array]


def asarray(
    b: _OnDevice, data: Any, dtype: DType | None = None, *, copy: bool | None = None
) -> Array:
    """Return an array of the data; Python's floats become `float_dtype`."""
    if not isinstance(data, jax.Array):
        data = _numbers(data, dtype, b.float_dtype)
        # jax's own copy may be made later, when the owner has written the memory.
        data, copy = (np.array(data), None) if copy else (data, copy)
    kind = to_dtype(data.dtype if dtype is None else dtype)
    return jnp.array(data, kind, copy=bool(copy), device=b.jax_device)


def empty(b: _OnDevice, shape: Sequence[int] | int, *, dtype: DType | None = None) -> Array:
    """Zeros: jax has no memory that is not written."""
    return b.zeros(shape, dtype)


def zeros(b: _OnDevice, shape: Sequence[int] | int, dtype: DType | None = None) -> Array:
    """Zeros."""
    return jnp.zeros(shape, _kind(b, dtype), device=b.jax_device)


def ones(b: _OnDevice, shape: Sequence[int] | int, dtype: DType | None = None) -> Array:
    """Ones."""
    return jnp.ones(shape, _kind(b, dtype), device=b.jax_device)


def full(
    b: _OnDevice, shape: Sequence[int] | int, value: complex, *, dtype: DType | None = None
) -> Array:
    """One value everywhere."""
    floats = isinstance(value, float)
    kind = None if dtype is None and not floats else _kind(b, dtype)
    whole = jnp.asarray(0).dtype if type(value) is int and kind is None else kind
    require_representable(value, whole)
    return jnp.full(shape, value, kind, device=b.jax_device)


def arange(
    b: _OnDevice,
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
) -> Array:
    """Numbers at equal distances."""
    floats = any(isinstance(bound, float) for bound in (start, stop, step))
    kind = None if dtype is None and not floats else _kind(b, dtype)
    bounds = (0, start) if stop is None else (start, stop)
    require_range_fits(*bounds, step, jnp.asarray(0).dtype if kind is None else kind)
    return jnp.arange(start, stop, step, kind, device=b.jax_device)


def eye(
    b: _OnDevice,
    rows: int,
    columns: int | None = None,
    *,
    k: int = 0,
    dtype: DType | None = None,
) -> Array:
    """Ones on a diagonal."""
    return jnp.eye(rows, columns, k, _kind(b, dtype), device=b.jax_device)


def einsum(equation: str, *operands: Array) -> Array:
    """Sum of products; jax alone would cut a diagonal to its shorter axis."""
    require_diagonals(equation, operands)
    return jnp.einsum(equation, *operands)


def from_dlpack(b: _OnDevice, x: Any) -> Array:
    """Return an array of any library."""
    return jax.device_put(jnp.from_dlpack(x), b.jax_device)


def to_numpy(x: Array) -> Any:
    """Return the array as NumPy's; it cannot be written."""
    return np.asarray(x)


def astype(x: Array, dtype: DType, *, copy: bool = True) -> Array:
    """Return the values in another type."""
    del copy  # arrays are values
    return jnp.asarray(x).astype(to_dtype(dtype))


def permute_dims(x: Array, axes: Sequence[int]) -> Array:
    """Return the axes in another order; a negative one counts from the last."""
    return jnp.permute_dims(x, tuple(normalize_axis_index(axis, x.ndim) for axis in axes))


def floor_divide(x: Array, y: Array) -> Array:
    """Return the quotient rounded down; of integers by 0 it is 0, as NumPy's."""
    _require_room(x, y)
    found = jnp.floor_divide(x, y)
    if jnp.issubdtype(found.dtype, jnp.inexact):  # jax gives -0 // 1 the sign +
        signed = jnp.copysign(found, jnp.divide(x, y))
        return jnp.where(found == 0, signed, found)
    return jnp.where(jnp.equal(y, 0), jnp.zeros((), found.dtype), found)


def remainder(x: Array, y: Array) -> Array:
    """What `floor_divide` leaves, with y's sign."""
    _require_room(x, y)
    found = jnp.remainder(x, y)
    floats = jnp.issubdtype(found.dtype, jnp.floating)
    return jnp.copysign(found, y) if floats else found


def where(condition: Array, x: Array, y: Array) -> Array:
    """`x` where the condition holds, `y` elsewhere."""
    _require_room(x, y)
    return jnp.where(condition, x, y)


def clip(
    x: Array,
    min: Any = None,  # noqa: A002  # the standard's name
    max: Any = None,  # noqa: A002  # the standard's name
) -> Array:
    """Values held between two bounds; one beyond all of the type's holds nothing."""
    dtype = x.dtype
    min = None if is_out_of_range(min, dtype) and min < 0 else min  # noqa: A001
    max = None if is_out_of_range(max, dtype) and max > 0 else max  # noqa: A001
    _require_room(x, min)
    _require_room(x, max)
    return jnp.clip(x, min, max)


def sign(x: Array) -> Array:
    """-1, 0 or 1; of -0, where jax says -0, 0."""
    return jnp.where(x == 0, jnp.zeros((), x.dtype), jnp.sign(x))


def searchsorted(x1: Array, x2: Array, **options: Any) -> Array:
    """Where values would stand in a sorted row, in the type of positions."""
    x2 = jnp.asarray(x2)  # a number would be brought to x1's type, and may not fit
    return jnp.searchsorted(x1, x2, **options).astype(jnp.asarray(0).dtype)


def var(
    x: Array,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the variance over axes; infinite where the correction takes all of them."""
    found = jnp.var(x, axis, correction=0.0, keepdims=keepdims)
    if not correction:
        return found
    count = x.size // max(found.size, 1) if x.size else 0
    free = jnp.asarray(max(count - correction, 0), found.dtype)
    return found * count / free


def std(
    b: _OnDevice,
    x: Array,
    *,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation over axes."""
    return jnp.sqrt(b.var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_prod(x: Array, *, dtype: Any = None, **options: Any) -> Array:
    """Products up to each position; of small integers in the type of their sums."""
    if dtype is None and not jnp.issubdtype(x.dtype, jnp.inexact):
        dtype = jax.eval_shape(jnp.sum, x).dtype
    return jnp.cumulative_prod(x, dtype=dtype, **options)


def logcumsumexp(x: Array, *, axis: int) -> Array:
    """Return the logarithms of the sums of exponentials up to each position."""
    position = normalize_axis_index(axis, x.ndim)
    return lax.cumlogsumexp(jnp.asarray(x, jnp.result_type(x, jnp.float32)), position)


def _kind(b: _OnDevice, dtype: DType | None) -> np.dtype[np.generic]:
    """Return a type, or that of floats."""
    return to_dtype(b.float_dtype if dtype is None else dtype)


def to_dtype(dtype: DType) -> np.dtype[np.generic]:
    """Return a type that jax has: 64 bits only where they are switched on."""
    if dtype is float:
        return np.dtype(Backend.float_dtype)
    found = jnp.asarray(0).dtype if dtype is int else np.dtype(dtype)
    if found.kind in "OSUmM":
        raise DTypeError(f"jax has no arrays of {found.name}; expected numbers or booleans")
    if found.name in _WIDE and not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise BackendError(
            f"jax has no {found} unless 64 bits are switched on: "
            'jax.config.update("jax_enable_x64", True), or the variable JAX_ENABLE_X64=1'
        )
    return found


def _numbers(data: Any, dtype: Any, float_dtype: str) -> Any:
    """Data as NumPy's array; integers in the type that jax gives Python's own."""
    # Labels and indices come as NumPy's int64; 32 bits have positions for them.
    array = to_native(np.asarray(data))
    uses_rust = not isinstance(data, (np.ndarray, np.generic))
    if uses_rust and array.dtype == np.float64:
        return array.astype(float_dtype)
    narrow = _NARROW.get(array.dtype.name)
    if dtype is not None or narrow is None or jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        return array
    return array.astype(narrow) if _fits(array, narrow) else array


def _fits(array: Any, dtype: str) -> bool:
    """Return whether a type has all the integers of an array."""
    limits = np.iinfo(dtype)
    return not array.size or (array.min() >= limits.min and array.max() <= limits.max)


def _require_room(x: Any, y: Any) -> None:
    """Refuse an integer that the type of the array beside it lacks."""
    require_in_range(x, getattr(y, "dtype", None))
    require_in_range(y, getattr(x, "dtype", None))


def _arithmetic(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of two arrays, or of one and a number."""

    def call(x: Any, y: Any) -> Array:
        if type(x) is int or type(y) is int:
            _require_room(x, y)
        return function(x, y)

    return call


def _comparison(
    function: Callable[..., Array], of_numbers: Callable[..., bool]
) -> Callable[..., Array]:
    """Return comparison, which a number that the array's type lacks decides by its side."""

    def call(x: Any, y: Any) -> Array:
        if is_out_of_range(y, getattr(x, "dtype", None)):
            return jnp.full(x.shape, of_numbers(0, y))
        if is_out_of_range(x, getattr(y, "dtype", None)):
            return jnp.full(y.shape, of_numbers(x, 0))
        return function(x, y)

    return call


LIBRARY = (
    {name: getattr(jnp, name) for name in _FUNCTIONS}
    | {name: _arithmetic(getattr(jnp, name)) for name in _ARITHMETIC}
    | {
        name: _comparison(getattr(jnp, name), of_numbers)
        for name, of_numbers in _COMPARISONS.items()
    }
)
