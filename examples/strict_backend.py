"""A backend over array_api_strict, which implements only the Array API standard.

Operations outside the standard use the default implementations of `Backend`.
"""

from typing import Any

import array_api_strict as strict
import numpy as np

from seqloom.tensor import Backend


def strict_dtype(dtype: Any) -> Any:
    """Return the dtype of array_api_strict for a name or a NumPy dtype."""
    return getattr(strict, str(dtype).rpartition(".")[2])


class StrictBackend(Backend):
    """Backend of array_api_strict, which rejects everything outside the standard."""

    name = "strict"

    def asarray(self, data: Any, dtype: Any = None, *, copy: Any = None) -> Any:  # noqa: D102
        array = (
            data if isinstance(data, type(strict.zeros(0))) else np.asarray(data, copy=copy)
        )
        if dtype is None and not hasattr(data, "dtype") and array.dtype == np.float64:
            dtype = self.float_dtype
        return self.astype(strict.asarray(array), dtype or array.dtype)

    def astype(self, x: Any, dtype: Any) -> Any:  # noqa: D102
        return strict.astype(x, strict_dtype(dtype))

    def isdtype(self, dtype: Any, wanted: Any) -> bool:  # noqa: D102
        return strict.isdtype(strict_dtype(dtype), wanted)

    def dtype(self, x: Any) -> Any:  # noqa: D102
        return np.dtype(str(x.dtype).rpartition(".")[2])

    def to_numpy(self, x: Any) -> Any:  # noqa: D102
        return np.asarray(x)


def creation_method(function: Any) -> Any:
    """Return a method that creates an array, with dtype float32 by default."""

    def call(self: Any, *args: Any, dtype: Any = None) -> Any:
        is_integer = function in {strict.arange, strict.full} and isinstance(args[-1], int)
        dtype = (
            None
            if dtype is None and is_integer
            else strict_dtype(dtype or self.float_dtype)
        )
        return function(*args, dtype=dtype)

    return call


for name in Backend.required - set(vars(StrictBackend)):
    function = getattr(strict, name)
    is_creation = name in {"arange", "empty", "eye", "full", "ones", "zeros"}
    setattr(
        StrictBackend,
        name,
        creation_method(function) if is_creation else staticmethod(function),
    )
