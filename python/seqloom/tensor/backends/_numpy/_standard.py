"""The standard's functions on NumPy's arrays, where NumPy's own differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from seqloom.errors import NumberRangeError, ShapeError
from seqloom.tensor._element_types import (
    NATIVE,
    require_in_range,
    require_range_fits,
    require_representable,
    to_native,
)
from seqloom.tensor.backends._numpy._elementwise import of_one, of_two
from seqloom.tensor.backends._numpy._filling import write_to
from seqloom.tensor.backends._numpy._kinds import (
    FLOAT,
    find_common_type,
    give_floats,
    promote_all,
    promote_two,
    take_float_dtype,
    to_dtype,
    to_floats,
)
from seqloom.tensor.backends._numpy._narrow import BFLOAT16, NARROW, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]

# What is NumPy's own. Functions of two arrays bring them to one type; sums and products
# of half precision are done in float32.
# fmt: off
_PLAIN = [
    "abs", "acos", "acosh", "all", "any", "argmax", "argmin", "asin", "asinh", "atan",
    "atanh", "bitwise_invert", "broadcast_to", "ceil", "conj", "cos", "cosh",
    "count_nonzero", "exp", "expand_dims", "expm1", "flip", "floor",
    "from_dlpack", "iinfo", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "logical_not",
    "matrix_transpose", "max", "min", "moveaxis", "negative", "nonzero", "permute_dims",
    "positive", "repeat", "reshape", "roll", "round", "searchsorted", "sign", "signbit",
    "sin", "sinh", "sqrt", "square", "squeeze", "take", "tan", "tanh", "tile",
    "trunc", "unstack",
]
_TWO = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal", "floor_divide",
    "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal",
    "pow", "remainder", "subtract",
]
_COUNTED = ["cumulative_prod", "cumulative_sum", "prod", "sum"]
_AVERAGED = ["mean", "std", "var"]
# fmt: on


def asarray(
    b: Backend, data: Any, dtype: Any = None, *, copy: bool | None = None
) -> Floats:
    """An array of the data; Python's floats become `float_dtype`."""
    # Not every library's arrays know the word copy.
    plain = not copy or isinstance(data, (np.ndarray, list, tuple, int, float))
    array = np.asarray(data, dtype=to_dtype(dtype), copy=copy if plain else None)
    if not plain:
        array = array.copy()
    if array.dtype not in NATIVE:
        array = to_native(array)
    if not array.flags.aligned and copy is not False:
        array = array.copy()  # numbers of a packed record: kernels read whole words
    if (
        dtype is None
        and array.dtype == np.float64
        and not isinstance(data, (np.ndarray, np.generic))
    ):
        return array.astype(b.float_dtype)
    return array


def empty(b: Backend, shape: Sequence[int] | int, *, dtype: Any = None) -> Floats:
    """Memory that holds anything."""
    return np.empty(shape, to_dtype(dtype) or b.float_dtype)


def zeros(b: Backend, shape: Sequence[int] | int, dtype: Any = None) -> Floats:
    """Zeros."""
    return np.zeros(shape, to_dtype(dtype) or b.float_dtype)


def ones(b: Backend, shape: Sequence[int] | int, dtype: Any = None) -> Floats:
    """Ones."""
    return np.ones(shape, to_dtype(dtype) or b.float_dtype)


def full(
    b: Backend, shape: Sequence[int] | int, value: Any, *, dtype: Any = None
) -> Floats:
    """One value everywhere."""
    if dtype is None and isinstance(value, float):
        dtype = b.float_dtype
    if dtype is not None:
        require_representable(value, np.dtype(to_dtype(dtype)))
    return np.full(shape, value, to_dtype(dtype))


def eye(
    b: Backend, rows: int, columns: int | None = None, *, k: int = 0, dtype: Any = None
) -> Floats:
    """Ones on a diagonal."""
    return np.eye(rows, columns, k, to_dtype(dtype) or b.float_dtype)


def arange(
    b: Backend, start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None
) -> Floats:
    """Numbers at equal distances."""
    if dtype is None and float in {type(start), type(stop), type(step)}:
        dtype = b.float_dtype
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is not None:
        require_range_fits(start, stop, step, np.dtype(to_dtype(dtype)))
    are_whole = step and {type(start), type(stop), type(step)} == {int}
    # NumPy gives nothing at all where a bound is beyond its integers.
    size = len(range(start, stop, step)) if are_whole else None
    made: Floats = np.arange(start, stop, step, dtype=to_dtype(dtype))
    if size not in {None, made.size}:
        raise NumberRangeError(
            f"arange({start}, {stop}, {step}): expected numbers from -2**63 to 2**63 - 1"
        )
    return made


def dtype(x: Any) -> np.dtype[Any]:
    """The array's own."""
    return x.dtype


def astype(
    x: Floats, dtype: Any, *, copy: bool = True, out: Floats | None = None
) -> Floats:
    """The values in another type."""
    if out is None:
        return x.astype(to_dtype(dtype), copy=copy)
    out[...] = x
    return out


def finfo(dtype: Any) -> Any:
    """The limits of a float type."""
    finfo = cast("Callable[[Any], Any]", ml_dtypes.finfo)
    return finfo(getattr(dtype, "dtype", dtype))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is of a kind, as in the standard."""
    dtype = np.dtype(dtype)
    return np.isdtype(dtype if dtype in NATIVE else np.dtype(np.float16), kind)


def result_type(*args: Any) -> np.dtype[Any]:
    """What a result of these has; numbers are weak."""
    numbers = [arg for arg in args if isinstance(arg, (int, float, complex))]
    rest = [arg for arg in args if not isinstance(arg, (int, float, complex))]
    rest = [np.dtype(to_dtype(getattr(arg, "dtype", arg))) for arg in rest]
    found = find_common_type(*rest) if rest else np.result_type(*map(type, numbers))
    if any(isinstance(number, complex) for number in numbers):
        return np.result_type(found if rest else FLOAT, 1j)
    if found.kind not in "biu":
        return found if rest else FLOAT
    has_fraction = any(isinstance(number, float) for number in numbers)
    return FLOAT if has_fraction else np.result_type(found, *numbers)


def where(condition: Any, x: Any, y: Any, out: Floats | None = None) -> Floats:
    """`x` where the condition holds, `y` elsewhere."""
    one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
    if one is not other:
        require_in_range(x, other)  # NumPy's own would wrap the number around
        require_in_range(y, one)
        x, y = promote_two(x, y)
    elif type(x) is float or type(y) is float:  # both are numbers
        x, y = FLOAT.type(x), FLOAT.type(y)
    made: Any = cast("Any", np.where)(condition, x, y)
    return write_to(made, out)


def clip(
    x: Floats,
    min: Any = None,  # noqa: A002  # the standard's name
    max: Any = None,  # noqa: A002  # the standard's name
    out: Floats | None = None,
) -> Floats:
    """Values held between two bounds."""
    if x.dtype is BFLOAT16:
        return widen(np.clip)(x, min, max, **({} if out is None else {"out": out}))
    for bound in (min, max):
        x = x if bound is None else promote_two(x, bound)[0]
    min, max = (each if each is None else promote_two(x, each)[1] for each in (min, max))  # noqa: A001
    return np.clip(x, min, max, out=out)


def concat(
    arrays: Sequence[Floats], *, axis: int | None = 0, out: Floats | None = None
) -> Floats:
    """Arrays end to end."""
    return np.concat(promote_all(arrays), axis=axis, out=out)


def sort(
    x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Floats:
    """Values in order along an axis."""
    found = np.sort(x, axis=axis, stable=stable)
    return np.flip(found, axis=axis) if descending else found


def argsort(
    x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> NDArray[np.int64]:
    """The positions of the values in order; equal ones stay in theirs."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    found = np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable)
    return x.shape[axis] - 1 - np.flip(found, axis=axis)


def take_along_axis(x: Floats, indices: Any, axis: int = -1) -> Floats:
    """The values at the indices along an axis."""
    return np.take_along_axis(x, np.asarray(indices), axis)


def index(x: Floats, key: Any) -> Floats:
    """``x[key]``, with NumPy's basic and integer-array indexing."""
    return x[key]


def tril(x: Floats, *, k: int = 0) -> Floats:
    """Zeros above the k-th diagonal of each matrix."""
    return np.tril(_matrices("tril", x), k)


def triu(x: Floats, *, k: int = 0) -> Floats:
    """Zeros below the k-th diagonal of each matrix."""
    return np.triu(_matrices("triu", x), k)


def isin(x: Any, y: Any, *, invert: bool = False) -> NDArray[np.bool_]:
    """Whether each value of `x` is one of `y`'s."""
    return np.isin(x, y, invert=invert)


def logcumsumexp(x: Floats, *, axis: int) -> Floats:
    """The logarithms of the sums of exponentials up to each position."""
    x = to_floats(x)
    wide = x.astype(np.float32) if x.dtype in NARROW else x
    return np.logaddexp.accumulate(wide, axis=axis).astype(x.dtype, copy=False)


def reciprocal(x: Floats, out: Floats | None = None) -> Floats:
    """``1 / x``."""
    x = to_floats(x)
    return np.divide(x.dtype.type(1), x, out=out)


def accumulate(total: Floats, more: Floats) -> Floats:
    """``total + more`` in total's own memory, which the caller owns."""
    # NumPy gives sums of everything as scalars, which cannot be written.
    into = total if isinstance(cast("Any", total), np.ndarray) else None
    return np.add(total, more, out=into)


def _matrices(name: str, x: Floats) -> Floats:
    """The array, which NumPy would repeat to a matrix where it is a row."""
    if x.ndim < 2:  # noqa: PLR2004  # a matrix
        raise ShapeError(f"{name} is of matrices, this array has shape {x.shape}")
    return x


def _wide(change: Callable[..., Any] | None, name: str) -> Any:
    """NumPy's function of that name, changed, and in float32 for half precision."""
    function = getattr(np, name)
    return widen(change(function) if change else function)


LIBRARY = {
    name: make(name)
    for names, make in (
        (_PLAIN, of_one),
        (_TWO, of_two),
        (_COUNTED, partial(_wide, take_float_dtype)),
        (_AVERAGED, partial(_wide, give_floats)),
    )
    for name in names
}
