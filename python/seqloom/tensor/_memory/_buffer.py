"""The memory behind an array: views of one another share it, and it counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from seqloom.tensor._backend import Array, Backend


def owner_of(array: Array, backend: Backend | None) -> tuple[int, int]:
    """Whose memory an array is in.

    Args:
        array: An array of the backend.
        backend: Whose it is.

    Returns:
        A number that arrays in the same memory share, and the bytes of that memory.
    """
    if isinstance(array, np.ndarray):
        return _of_numpy(array)
    if hasattr(array, "untyped_storage"):
        storage = array.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    return id(array), backend.nbytes(array) if backend else 0


def _of_numpy(array: Any) -> tuple[int, int]:
    """The array at the end of the chain of views, or what lent the memory."""
    while hasattr(array.base, "nbytes") and hasattr(array.base, "base"):
        array = array.base
    return id(array if array.base is None else array.base), array.nbytes
