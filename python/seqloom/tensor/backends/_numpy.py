"""NumPy as a backend: its own functions, and fused Rust kernels where BLAS has none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import BackendError
from seqloom.tensor._backend import Backend, check_overrides, functions_of
from seqloom.tensor._families._table import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._graph import Graph

    Floats = NDArray[np.generic]


import_module("ml_dtypes")  # NumPy then knows bfloat16
_FUNCTIONS = functions_of(*FAMILIES.values(), prefix="numpy_")


class NumPyBackend(Backend, functions=check_overrides("numpy", _FUNCTIONS)):
    """NumPy's arrays on the CPU, with Rust kernels where NumPy has none.

    Products of matrices, convolution, attention, norms, activations, losses, dropout and
    updates are kernels of Rust in float32 and float64, on one pool of threads; machines
    other than x86 leave large products to NumPy's BLAS. Half precision is stored through
    ml_dtypes and computed in float32.

    Args:
        device: ``"cpu"``, or nothing.
        threads: Threads for the kernels.
        deterministic: Whether no number of threads may change a bit of a result: BLAS
            multiplies nothing then.

    Raises:
        BackendError: Another device.

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
        """Copy and pickles are the one backend of that number of threads."""
        return _unpickle_tensor, (self.threads, self.deterministic)

    def program(self, graph: Graph) -> Callable[[Sequence[Any]], Sequence[Floats]]:
        """Make a captured step a program: fused groups, memory laid out before."""
        from seqloom.tensor._compile._numpy import NumPyProgram

        return NumPyProgram(graph, self)

    def to_numpy(self, x: Any) -> Floats:
        """Return the array itself."""
        return np.asarray(x)

    def nbytes(self, x: Floats) -> int:
        """Return the memory of an array."""
        return x.nbytes


def _unpickle_tensor(threads: int, deterministic: bool) -> Backend:  # noqa: FBT001 - a pickle's
    """Return the backend that a pickle meant."""
    from seqloom.tensor._backend import backend

    return backend("numpy", num_threads=threads, deterministic=deterministic)
