"""The standard's functions on NumPy's arrays, where NumPy's own differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._elementwise import elementwise
from seqloom.tensor.backends._numpy._narrow import BFLOAT16, weakly, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]

# What is NumPy's own. Functions of two arrays take a Python float as bfloat16 too; sums
# and products of half precision are done in float32.
# fmt: off
_PLAIN = [
    "abs", "all", "any", "arange", "argmax", "argmin", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "broadcast_to", "ceil", "concat", "cos", "cosh", "count_nonzero", "exp", "expand_dims",
    "expm1", "flip", "floor", "from_dlpack", "iinfo", "isfinite", "isinf", "isnan", "log",
    "log1p", "logical_and", "logical_not", "logical_or", "logical_xor", "matrix_transpose",
    "max", "min", "moveaxis", "negative", "nonzero", "permute_dims", "positive", "repeat",
    "reshape", "roll", "round", "searchsorted", "sign", "sin", "sinh", "sqrt", "square",
    "squeeze", "stack", "take", "tan", "tanh", "tile", "tril", "triu", "unstack",
]
_WEAK = [
    "add", "atan2", "divide", "equal", "floor_divide", "greater", "greater_equal", "less",
    "less_equal", "logaddexp", "maximum", "minimum", "multiply", "not_equal", "pow",
    "remainder", "subtract",
]
_WIDE = ["cumulative_sum", "matmul", "mean", "prod", "std", "sum", "tensordot", "var"]
# fmt: on


class Standard(Backend):
    """NumPy's functions under the standard's names."""

    def asarray(self, data: Any, dtype: Any = None, *, copy: bool | None = None) -> Floats:
        """An array of the data; Python's floats become `float_dtype`."""
        array = np.asarray(data, dtype=dtype, copy=copy)
        if not array.flags.aligned and copy is not False:
            array = array.copy()  # numbers of a packed record: kernels read whole words
        if (
            dtype is None
            and array.dtype == np.float64
            and not isinstance(data, (np.ndarray, np.generic))
        ):
            return array.astype(self.float_dtype)
        return array

    def empty(self, shape: Sequence[int] | int, *, dtype: Any = None) -> Floats:
        """Memory that holds anything."""
        return np.empty(shape, dtype or self.float_dtype)

    def zeros(self, shape: Sequence[int] | int, dtype: Any = None) -> Floats:
        """Zeros."""
        return np.zeros(shape, dtype or self.float_dtype)

    def ones(self, shape: Sequence[int] | int, dtype: Any = None) -> Floats:
        """Ones."""
        return np.ones(shape, dtype or self.float_dtype)

    def full(self, shape: Sequence[int] | int, value: Any, *, dtype: Any = None) -> Floats:
        """One value everywhere."""
        if dtype is None and isinstance(value, float):
            dtype = self.float_dtype
        return np.full(shape, value, dtype)

    def eye(
        self, rows: int, columns: int | None = None, *, k: int = 0, dtype: Any = None
    ) -> Floats:
        """Ones on a diagonal."""
        return np.eye(rows, columns, k, dtype or self.float_dtype)

    def dtype(self, x: Any) -> np.dtype[Any]:
        """The array's own."""
        return x.dtype

    def astype(
        self, x: Floats, dtype: Any, *, copy: bool = True, out: Floats | None = None
    ) -> Floats:
        """The values in another type."""
        if out is None:
            return x.astype(dtype, copy=copy)
        out[...] = x
        return out

    def finfo(self, dtype: Any) -> Any:
        """The limits of a float type."""
        finfo = cast("Callable[[Any], Any]", ml_dtypes.finfo)
        return finfo(getattr(dtype, "dtype", dtype))

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        """Whether a type is of a kind, as in the standard."""
        dtype = np.dtype(dtype)
        return np.isdtype(np.dtype(np.float16) if dtype == BFLOAT16 else dtype, kind)

    def result_type(self, *args: Any) -> np.dtype[Any]:
        """What a result of these has; a Python float takes bfloat16 too."""
        floats = [arg for arg in args if isinstance(arg, float)]
        rest = [arg for arg in args if not isinstance(arg, float)]
        found = np.result_type(*rest) if rest else np.dtype(self.float_dtype)
        return found if found == BFLOAT16 else np.result_type(found, *floats)

    def where(self, condition: Any, x: Any, y: Any, out: Floats | None = None) -> Floats:
        """`x` where the condition holds, `y` elsewhere."""
        if type(x) is float and getattr(y, "dtype", None) is BFLOAT16:
            x = ml_dtypes.bfloat16(x)
        elif type(y) is float and getattr(x, "dtype", None) is BFLOAT16:
            y = ml_dtypes.bfloat16(y)
        found = np.where(condition, x, y)
        if out is None:
            return found
        out[...] = found
        return out

    def clip(
        self,
        x: Floats,
        min: Any = None,  # noqa: A002  # the standard's name
        max: Any = None,  # noqa: A002  # the standard's name
        out: Floats | None = None,
    ) -> Floats:
        """Values held between two bounds."""
        if x.dtype is BFLOAT16:
            return widened(np.clip)(x, min, max, **({} if out is None else {"out": out}))
        return np.clip(x, min, max, out=out)

    def sort(
        self, x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> Floats:
        """Values in order along an axis."""
        found = np.sort(x, axis=axis, stable=stable)
        return np.flip(found, axis=axis) if descending else found

    def argsort(
        self, x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> NDArray[np.int64]:
        """The places of the values in order; equal ones stay in theirs."""
        if not descending:
            return np.argsort(x, axis=axis, stable=stable)
        found = np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable)
        return x.shape[axis] - 1 - np.flip(found, axis=axis)

    def take_along_axis(self, x: Floats, indices: Any, axis: int = -1) -> Floats:
        """The values at the indices along an axis."""
        return np.take_along_axis(x, np.asarray(indices), axis)

    def index(self, x: Floats, key: Any) -> Floats:
        """``x[key]``, with NumPy's basic and integer-array indexing."""
        return x[key]

    def reciprocal(self, x: Floats, out: Floats | None = None) -> Floats:
        """``1 / x``."""
        return np.divide(x.dtype.type(1), x, out=out)


for _names, _change in ((_PLAIN, None), (_WEAK, weakly), (_WIDE, widened)):
    for _name in _names:
        _function = elementwise(_name)
        setattr(Standard, _name, staticmethod(_change(_function) if _change else _function))
