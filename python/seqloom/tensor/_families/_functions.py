"""The class of a backend's functions over its arrays."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seqloom.tensor._element_types import Array

_NONE: Mapping[str, Callable[..., Any]] = MappingProxyType({})


class ArrayFunctions:
    """The functions of a backend over its arrays: those of the table of operations.

    Arguments are those of the standard (2025.12), with three additions. A Python number
    may stand where an array may, and takes the other array's type. A dtype may be a name,
    a NumPy type, or the library's own. ``index(x, key)`` is ``x[key]``.

    Examples:
        >>> import seqloom as sl
        >>> isinstance(sl.tensor.backend("numpy"), ArrayFunctions)
        True
    """

    threads: int
    float_dtype: str
    deterministic: bool  # of NumPy's backend alone

    def __init_subclass__(
        cls, *, functions: Mapping[str, Callable[..., Any]] = _NONE, **options: Any
    ) -> None:
        """Makes functions, which take the backend first, methods of the class by name."""
        super().__init_subclass__(**options)
        for name, function in functions.items():
            setattr(cls, name, function)

    def dtype(self, x: Array) -> np.dtype[Any]:
        """The element type of an array as NumPy's; of bfloat16, as ml_dtypes'."""
        return np.dtype(x.dtype)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Any operation of the table."""


# Short, because each function of a family has it first.
Functions: TypeAlias = ArrayFunctions
