"""NumPy as a backend: its own functions, and fused Rust kernels where BLAS has none."""

# The kernels' arguments are NumPy arrays of float32 or float64; the backend allocates,
# the kernel fills.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor.backends._numpy._activation import Activations
from seqloom.tensor.backends._numpy._convolution import Convolutions
from seqloom.tensor.backends._numpy._lookup import Lookups
from seqloom.tensor.backends._numpy._loss import Losses
from seqloom.tensor.backends._numpy._norm import Norms
from seqloom.tensor.backends._numpy._optimiser import Updates
from seqloom.tensor.backends._numpy._product import Products
from seqloom.tensor.backends._numpy._random import Randomness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]

# What is NumPy's own, under the standard's names.
# fmt: off
_FUNCTIONS = [
    "abs", "add", "all", "any", "arange", "argmax", "argmin", "astype", "broadcast_to",
    "clip", "concat", "cos", "divide", "empty", "equal", "exp", "expand_dims", "full",
    "greater", "greater_equal", "isfinite", "less", "less_equal", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "matmul", "matrix_transpose", "max",
    "maximum", "mean", "min", "minimum", "multiply", "negative", "not_equal", "ones",
    "permute_dims", "pow", "reshape", "sign", "sin", "sqrt", "square", "squeeze",
    "stack", "subtract", "sum", "take", "tanh", "where", "zeros",
]
# fmt: on


class NumPyBackend(
    Activations,
    Convolutions,
    Lookups,
    Losses,
    Norms,
    Products,
    Randomness,
    Updates,
):
    """NumPy's arrays on the CPU, with Rust kernels where NumPy has none.

    Functions that BLAS does (``matmul``, ``linear``) are NumPy's; convolution, batch norm,
    activations, softmax with cross-entropy, dropout and AdamW are fused kernels in
    float32 and float64.

    Args:
        threads: Threads for the kernels.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy", num_threads=1)
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    name = "numpy"

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __reduce__(self) -> Any:
        """Copies and pickles are the one backend of that number of threads."""
        return _again, (self.threads,)

    def to_numpy(self, x: Any) -> Floats:
        """The array itself."""
        return np.asarray(x)

    def asarray(self, data: Any, dtype: str | None = None) -> Floats:
        """An array of the data; Python's floats become float32."""
        array = np.asarray(data, dtype=dtype)
        if (
            dtype is None
            and array.dtype == np.float64
            and not isinstance(data, (np.ndarray, np.generic))
        ):
            return array.astype(np.float32)
        return array

    def zeros(self, shape: Sequence[int], dtype: str = "float32") -> Floats:
        """Zeros, in float32 unless said otherwise."""
        return np.zeros(shape, dtype)

    def ones(self, shape: Sequence[int], dtype: str = "float32") -> Floats:
        """Ones, in float32 unless said otherwise."""
        return np.ones(shape, dtype)

    def accumulate(self, total: Floats, more: Floats) -> Floats:
        """``total + more`` in total's own memory, which the caller owns."""
        return np.add(total, more, out=total)


for _name in _FUNCTIONS:
    if _name not in vars(NumPyBackend):
        setattr(NumPyBackend, _name, staticmethod(getattr(np, _name)))


def _again(threads: int) -> Backend:
    """The backend that a pickle meant."""
    from seqloom.tensor._registry import backend

    return backend("numpy", num_threads=threads)
