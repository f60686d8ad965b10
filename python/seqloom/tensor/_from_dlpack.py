"""Tensors of other libraries' arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._native_error import translated
from seqloom.tensor._registry import backend as backend_of
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend


def from_dlpack(x: Any, *, backend: str | Backend = "numpy") -> Tensor:
    """Makes a tensor of an array that another library holds, in the same memory.

    Args:
        x: Anything with ``__dlpack__`` (PyTorch, JAX, CuPy, NumPy ...).
        backend: Who computes from now on, or its name.

    Returns:
        A tensor that shares the memory where both are on one device.

    Raises:
        SeqloomError: It is no such array, or on a device, or of a type, that the backend
            cannot read.

    Examples:
        >>> import numpy as np
        >>> import seqloom as sl
        >>> sl.tensor.from_dlpack(np.ones(2)).tolist()
        [1.0, 1.0]
    """
    plain = backend_of(backend) if isinstance(backend, str) else backend
    try:
        return Tensor(plain.from_dlpack(x), plain)
    except Exception as error:
        if (ours := translated(error, "from_dlpack", (x,), plain)) is error:
            raise
        raise ours from error
