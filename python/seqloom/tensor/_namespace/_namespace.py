"""ArrayNamespace: the Array API standard's functions over tensors of one backend."""

from __future__ import annotations

from typing import Any

from seqloom.errors import ArgumentError
from seqloom.tensor._namespace._creation import NamespaceCreation
from seqloom.tensor._namespace._functions import NamespaceFunctions
from seqloom.tensor._namespace._types import NamespaceTypes

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class ArrayNamespace(NamespaceCreation, NamespaceFunctions, NamespaceTypes):
    """The functions, types and constants of the Array API standard, over tensors.

    ``x.__array_namespace__()`` returns the namespace of x's backend. Functions that take
    tensors work on any backend; functions that make tensors make them on this one. The
    default float type is the backend's `float_dtype`, and ``device`` may only be the
    backend's own.
    """

    __array_api_version__ = _VERSIONS[-1]

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.__name__ = f"seqloom.tensor on {backend.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayNamespace) and other._backend is self._backend

    def __hash__(self) -> int:
        return hash((ArrayNamespace, id(self._backend)))

    def __repr__(self) -> str:
        return f"<array namespace: {self.__name__}>"


def namespace_of(backend: Any, api_version: Any) -> ArrayNamespace:
    """Returns the namespace of a backend, which is that of the newest version."""
    if api_version not in {None, *_VERSIONS}:
        raise ArgumentError(
            f"api_version must be one of {', '.join(_VERSIONS)}, got {api_version!r}"
        )
    return ArrayNamespace(backend)
