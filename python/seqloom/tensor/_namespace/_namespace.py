"""ArrayNamespace: the Array API standard's functions over tensors of one backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.tensor._namespace._creation import Creation
from seqloom.tensor._namespace._elementwise import Elementwise
from seqloom.tensor._namespace._places import Places
from seqloom.tensor._namespace._reductions import Reductions
from seqloom.tensor._namespace._shapes import Shapes
from seqloom.tensor._namespace._types import Types

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class ArrayNamespace(Creation, Elementwise, Places, Reductions, Shapes, Types):
    """The functions, types and constants of the Array API standard, over tensors.

    ``x.__array_namespace__()`` gives the one of x's backend. What takes tensors works on
    those of any backend; what makes them makes them on this one. A float type that is not
    named is the backend's `float_dtype`, and ``device`` may only be the backend's own.

    Args:
        backend: The backend that tensors are made on.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 8.0])
        >>> xp = x.__array_namespace__()
        >>> xp.log2(x).tolist(), xp.zeros_like(x).tolist()
        ([0.0, 3.0], [0.0, 0.0])
    """

    __array_api_version__ = _VERSIONS[-1]

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.__name__ = f"seqloom.tensor on {backend.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayNamespace) and other._backend is self._backend

    def __hash__(self) -> int:
        return hash((ArrayNamespace, id(self._backend)))

    def __repr__(self) -> str:
        return f"<array namespace: {self.__name__}>"


def namespace_of(backend: Backend, api_version: Any) -> ArrayNamespace:
    """The namespace of a backend.

    Args:
        backend: The backend.
        api_version: Which version of the standard, or None for the newest.

    Returns:
        The namespace; each of these versions is part of the newest.

    Raises:
        ArgumentError: There is no such version here.
    """
    if api_version not in {None, *_VERSIONS}:
        raise ArgumentError(
            f"api_version must be one of {', '.join(_VERSIONS)}, got {api_version!r}"
        )
    return ArrayNamespace(backend)
