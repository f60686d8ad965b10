"""NumPy as a backend: its own functions, and fused Rust kernels where BLAS has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import BackendError
from seqloom.tensor.backends._numpy._activation import Activations
from seqloom.tensor.backends._numpy._attention import Attention
from seqloom.tensor.backends._numpy._convolution import Convolutions
from seqloom.tensor.backends._numpy._joining import Joins
from seqloom.tensor.backends._numpy._keys import Keys
from seqloom.tensor.backends._numpy._lookup import Lookups
from seqloom.tensor.backends._numpy._loss import Losses
from seqloom.tensor.backends._numpy._narrow import widened
from seqloom.tensor.backends._numpy._norm import Norms
from seqloom.tensor.backends._numpy._optimiser import Updates
from seqloom.tensor.backends._numpy._planning import Planning
from seqloom.tensor.backends._numpy._pool import Pooling
from seqloom.tensor.backends._numpy._product import Products
from seqloom.tensor.backends._numpy._random import Randomness
from seqloom.tensor.backends._numpy._standard import Standard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]


class NumPyBackend(
    Activations,
    Attention,
    Convolutions,
    Joins,
    Lookups,
    Losses,
    Norms,
    Pooling,
    Products,
    Randomness,
    Updates,
    Keys,
    Planning,
    Standard,
):
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

    def __init__(
        self, device: str | None = None, *, threads: int = 1, deterministic: bool = False
    ) -> None:
        if device not in {None, "cpu"}:
            raise BackendError(f"NumPy computes on the CPU; it has no device {device!r}")
        self.threads = threads
        self.deterministic = deterministic

    def __reduce__(self) -> Any:
        """Copies and pickles are the one backend of that number of threads."""
        return _again, (self.threads, self.deterministic)

    def to_numpy(self, x: Any) -> Floats:
        """The array itself."""
        return np.asarray(x)

    def nbytes(self, x: Floats) -> int:
        """The memory of an array."""
        return x.nbytes

    def accumulate(self, total: Floats, more: Floats) -> Floats:
        """``total + more`` in total's own memory, which the caller owns."""
        # NumPy gives sums of everything as scalars, which cannot be written.
        into = total if isinstance(cast("Any", total), np.ndarray) else None
        return np.add(total, more, out=into)


for _kernels in NumPyBackend.__bases__:
    if _kernels in {Keys, Planning, Standard}:
        continue  # they know of half precision, or have nothing to do with it
    for _name, _function in vars(_kernels).items():
        if _name[0] != "_":
            setattr(NumPyBackend, _name, widened(_function))


def _again(threads: int, deterministic: bool) -> Backend:  # noqa: FBT001 - a pickle's
    """The backend that a pickle meant."""
    from seqloom.tensor._backend import backend

    return backend("numpy", num_threads=threads, deterministic=deterministic)
