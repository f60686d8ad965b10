"""A backend over array_api_strict: the standard's functions, and nothing beyond them.

What deep learning needs more runs by the default bodies of `Backend`.
"""

from typing import Any

import array_api_strict as strict
import numpy as np

from seqloom.tensor import Backend


def kind(dtype: Any) -> Any:
    """Return the library's own type of a name or of NumPy's type."""
    return getattr(strict, str(dtype).rpartition(".")[2])


class StrictBackend(Backend):
    """Arrays of array_api_strict, which refuses what the standard does not promise."""

    name = "strict"

    def asarray(self, data: Any, dtype: Any = None, *, copy: Any = None) -> Any:  # noqa: D102
        array = (
            data if isinstance(data, type(strict.zeros(0))) else np.asarray(data, copy=copy)
        )
        if dtype is None and not hasattr(data, "dtype") and array.dtype == np.float64:
            dtype = self.float_dtype
        return self.astype(strict.asarray(array), dtype or array.dtype)

    def astype(self, x: Any, dtype: Any) -> Any:  # noqa: D102
        return strict.astype(x, kind(dtype))

    def isdtype(self, dtype: Any, wanted: Any) -> bool:  # noqa: D102
        return strict.isdtype(kind(dtype), wanted)

    def dtype(self, x: Any) -> Any:  # noqa: D102
        return np.dtype(str(x.dtype).rpartition(".")[2])

    def to_numpy(self, x: Any) -> Any:  # noqa: D102
        return np.asarray(x)


def making(function: Any) -> Any:
    """Return a function that makes an array, of float32 where no type is named."""

    def call(self: Any, *args: Any, dtype: Any = None) -> Any:
        whole = function in {strict.arange, strict.full} and isinstance(args[-1], int)
        dtype = None if dtype is None and whole else kind(dtype or self.float_dtype)
        return function(*args, dtype=dtype)

    return call


for name in Backend.required - set(vars(StrictBackend)):
    function = getattr(strict, name)
    made = name in {"arange", "empty", "eye", "full", "ones", "zeros"}
    setattr(StrictBackend, name, making(function) if made else staticmethod(function))
