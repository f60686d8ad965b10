"""Array creation and element types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from seqloom.errors import ArgumentError, NumberRangeError
from seqloom.tensor._elements import (
    NATIVE_DTYPES,
    broadcast_shapes,
    require_range_in_dtype,
    require_representable,
    to_native,
)
from seqloom.tensor._families._numpy_functions import FLOAT32, find_common_type, to_dtype
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    infer_broadcast,
    to_numpy_dtype,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Needs
    from seqloom.tensor._families._numpy_arrays import Floats

    DType = DTypeLike | None
    Size = Sequence[int] | int


# Default implementations ---------------------------------------------------------------


def empty_like(b: Functions, x: Array, *, dtype: DType = None) -> Array:
    """Return an uninitialised array with the shape and dtype of `x`."""
    return b.empty(x.shape, dtype=_choose_dtype(b, x, dtype))


def zeros_like(b: Functions, x: Array, *, dtype: DType = None) -> Array:
    """Return zeros with the shape and dtype of `x`."""
    return b.zeros(x.shape, dtype=_choose_dtype(b, x, dtype))


def ones_like(b: Functions, x: Array, *, dtype: DType = None) -> Array:
    """Return ones with the shape and dtype of `x`."""
    return b.ones(x.shape, dtype=_choose_dtype(b, x, dtype))


def full_like(
    b: Functions, x: Array, value: complex | Array, *, dtype: DType = None
) -> Array:
    """Return an array of the shape and dtype of `x`, filled with one value."""
    return b.full(x.shape, value, dtype=_choose_dtype(b, x, dtype))


def linspace(
    b: Functions,
    start: complex,
    stop: complex,
    num: int,
    *,
    dtype: DType = None,
    endpoint: bool = True,
) -> Array:
    """Return `num` evenly spaced numbers from `start` to `stop`."""
    if num < 0:
        raise ArgumentError(f"linspace: num must be at least 0, got {num}")
    made: np.ndarray[Any, np.dtype[np.generic]] = np.asarray(
        np.linspace(start, stop, num, endpoint=endpoint)
    )
    if dtype is not None and b.isdtype(dtype, "integral"):
        made = np.floor(made)  # NumPy rounds down, but astype would round towards 0.
        for extreme in (made.min(), made.max()) if made.size else ():
            require_representable(extreme, np.dtype(dtype))
    wide = {"float32": "complex64"}.get(b.float_dtype, "complex128")
    usual = wide if made.dtype.kind == "c" else b.float_dtype
    return b.asarray(made, dtype=usual if dtype is None else dtype)


def broadcast_arrays(b: Functions, *arrays: Array) -> tuple[Array, ...]:
    """Return the arrays, broadcast to their common shape."""
    shape = broadcast_shapes(*(tuple(array.shape) for array in arrays))
    return tuple(b.broadcast_to(array, shape) for array in arrays)


def meshgrid(
    b: Functions, *arrays: Array, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Array, ...]:
    """Return coordinate grids, given the coordinates along each axis."""
    if indexing not in {"xy", "ij"}:
        raise ArgumentError(f'indexing must be "xy" or "ij", got {indexing!r}')
    positions = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        positions[:2] = [1, 0]
    shape = [0] * len(arrays)
    for array, position in zip(arrays, positions, strict=True):
        shape[position] = math.prod(array.shape)
    return tuple(
        b.broadcast_to(
            b.reshape(array, (*(1,) * position, -1, *(1,) * (len(shape) - position - 1))),
            tuple(shape),
        )
        for array, position in zip(arrays, positions, strict=True)
    )


def _choose_dtype(b: Functions, x: Array, dtype: DType) -> DTypeLike:
    """Return the given dtype, or the dtype of `x` if none is given."""
    return b.dtype(x) if dtype is None else dtype


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


@add_grad(
    GRAD_RULES,
    "astype",
    save=lambda args, out, _needs, _options: (args[0].dtype, out.dtype),
)
def _grad_astype(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    before, after = saved
    steps = b.isdtype(after, ("bool", "integral"))
    return (None if steps else b.astype(grad, before),)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {"to_full_precision": infer_broadcast}


@add_shape_rule(SHAPE_RULES, "astype", "asarray")
def _shape_cast(call: Call) -> Spec:
    """Return the shape of the first argument and the requested dtype."""
    options = call.options
    dtype = options["dtype"] if "dtype" in options else call.args[1]
    return call.args[0].shape, to_numpy_dtype(call.target, dtype)


# NumPy versions ------------------------------------------------------------------------


def numpy_asarray(
    b: Functions, data: Any, dtype: DType = None, *, copy: bool | None = None
) -> Floats:
    """Return the data as an array; Python floats become `float_dtype`."""
    # Arrays of some libraries do not accept the argument `copy`.
    plain = not copy or isinstance(data, (np.ndarray, list, tuple, int, float))
    array = np.asarray(data, dtype=to_dtype(dtype), copy=copy if plain else None)
    if not plain:
        array = array.copy()
    if array.dtype not in NATIVE_DTYPES:
        array = to_native(array)
    if not array.flags.aligned and copy is not False:
        array = array.copy()  # Kernels need aligned memory.
    if (
        dtype is None
        and array.dtype == np.float64
        and not isinstance(data, (np.ndarray, np.generic))
    ):
        return array.astype(b.float_dtype)
    return array


def numpy_empty(b: Functions, shape: Size, *, dtype: DType = None) -> Floats:
    """Return an uninitialised array."""
    return np.empty(shape, to_dtype(dtype) or b.float_dtype)


def numpy_zeros(b: Functions, shape: Size, dtype: DType = None) -> Floats:
    """Return an array of zeros."""
    return np.zeros(shape, to_dtype(dtype) or b.float_dtype)


def numpy_ones(b: Functions, shape: Size, dtype: DType = None) -> Floats:
    """Return an array of ones."""
    return np.ones(shape, to_dtype(dtype) or b.float_dtype)


def numpy_full(
    b: Functions, shape: Size, value: complex | Array, *, dtype: DType = None
) -> Floats:
    """Return an array filled with one value."""
    if dtype is None and isinstance(value, float):
        dtype = b.float_dtype
    if dtype is not None:
        require_representable(value, np.dtype(to_dtype(dtype)))
    return np.full(shape, value, to_dtype(dtype))


def numpy_eye(
    b: Functions, rows: int, columns: int | None = None, *, k: int = 0, dtype: DType = None
) -> Floats:
    """Return a matrix with ones on one diagonal and zeros elsewhere."""
    return np.eye(rows, columns, k, to_dtype(dtype) or b.float_dtype)


def numpy_arange(
    b: Functions,
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType = None,
) -> Floats:
    """Return evenly spaced numbers from `start` to `stop` (excluded)."""
    if dtype is None and float in {type(start), type(stop), type(step)}:
        dtype = b.float_dtype
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is not None:
        require_range_in_dtype(start, stop, step, np.dtype(to_dtype(dtype)))
    are_whole = step and {type(start), type(stop), type(step)} == {int}
    # NumPy returns an empty array if a bound exceeds its integer range.
    size = len(range(int(start), int(stop), int(step))) if are_whole else None
    made: Floats = np.arange(start, stop, step, dtype=to_dtype(dtype))
    if size not in {None, made.size}:
        raise NumberRangeError(
            f"arange({start}, {stop}, {step}): expected numbers from -2**63 to 2**63 - 1"
        )
    return made


def numpy_dtype(x: Floats) -> np.dtype[np.generic]:
    """Return the element type of an array."""
    return x.dtype


def numpy_astype(
    x: Floats, dtype: DTypeLike, *, copy: bool = True, out: Floats | None = None
) -> Floats:
    """Return the values converted to another dtype."""
    if out is None:
        return x.astype(to_dtype(dtype), copy=copy)
    out[...] = x
    return out


def numpy_finfo(dtype: Any) -> Any:
    """Return the limits of a float dtype."""
    import ml_dtypes

    finfo = cast("Callable[[Any], Any]", ml_dtypes.finfo)
    return finfo(getattr(dtype, "dtype", dtype))


def numpy_isdtype(dtype: DTypeLike, kind: str | tuple[str, ...]) -> bool:
    """Return whether a dtype belongs to a kind of the Array API standard."""
    dtype = np.dtype(dtype)
    return np.isdtype(dtype if dtype in NATIVE_DTYPES else np.dtype(np.float16), kind)


def numpy_result_type(*args: Any) -> np.dtype[np.generic]:
    """Return the dtype of a result; Python numbers take the dtype of the arrays."""
    numbers = [arg for arg in args if isinstance(arg, (int, float, complex))]
    rest = [arg for arg in args if not isinstance(arg, (int, float, complex))]
    rest = [np.dtype(to_dtype(getattr(arg, "dtype", arg))) for arg in rest]
    found = find_common_type(*rest) if rest else np.result_type(*map(type, numbers))
    if any(isinstance(number, complex) for number in numbers):
        return np.result_type(found if rest else FLOAT32, 1j)
    if found.kind not in "biu":
        return found if rest else FLOAT32
    has_fraction = any(isinstance(number, float) for number in numbers)
    return FLOAT32 if has_fraction else np.result_type(found, *numbers)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {"from_dlpack": np.from_dlpack, "iinfo": np.iinfo}
