"""The NumPy backend: NumPy functions and Rust kernels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, check_overrides, collect_functions
from seqloom.tensor._families._table import FAMILY_MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Graph

    Floats = NDArray[np.generic]


import_module("ml_dtypes")  # importing ml_dtypes registers bfloat16 with NumPy
_NUMPY_FUNCTIONS = collect_functions(*FAMILY_MODULES.values(), prefix="numpy_")


class NumPyBackend(Backend, functions=check_overrides("numpy", _NUMPY_FUNCTIONS)):
    """Backend of NumPy arrays on the CPU, with Rust kernels for deep learning.

    Matrix products, convolutions, attention, norms, activations, losses, dropout and
    optimiser updates are Rust kernels for float32 and float64. The kernels share one
    thread pool. Processors other than x86 use NumPy's BLAS for large products. Half
    precision is stored with ml_dtypes and computed in float32.

    Args:
        device: ``"cpu"`` or None.
        threads: Number of threads that the kernels use.
        deterministic: If True, results are identical to the bit for any number of
            threads; BLAS is not used.

    Raises:
        BackendError: The device is not the CPU.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy", num_threads=1)
        >>> B.relu(B.asarray([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    name = "numpy"
    deterministic: bool = False

    def __init__(
        self, device: str | None = None, *, threads: int = 1, deterministic: bool = False
    ) -> None:
        if device not in {None, "cpu"}:
            raise BackendError(f"NumPy computes on the CPU; it has no device {device!r}")
        self.threads = threads
        self.deterministic = deterministic

    def __reduce__(self) -> Any:
        """Copy or pickle only the name of the backend, which identifies the object."""
        return _again, (self.threads, self.deterministic)

    def program(self, graph: Graph) -> Callable[[Sequence[Any]], Sequence[Floats]]:
        """Compile a captured step, with fused operations and preallocated memory."""
        from seqloom.tensor._compile._numpy import NumPyProgram

        return NumPyProgram(graph, self)

    def to_numpy(self, x: Any) -> Floats:
        """Return the array unchanged."""
        return np.asarray(x)

    def nbytes(self, x: Floats) -> int:
        """Return the number of bytes of an array."""
        return x.nbytes


def _again(threads: int, deterministic: bool) -> Backend:  # noqa: FBT001 - pickled
    """Unpickle a backend; existing pickles refer to this function by name."""
    from seqloom.tensor._backend import backend

    return backend("numpy", num_threads=threads, deterministic=deterministic)
