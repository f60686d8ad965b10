"""Making arrays like another, at equal distances, and to one shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array


class Making(Derived):
    """Functions of the standard that make arrays, and that a backend need not have.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.linspace(0.0, 1.0, 3).tolist()
        [0.0, 0.5, 1.0]
    """

    float_dtype: str

    def empty_like(self, x: Array, *, dtype: Any = None) -> Array:
        """Memory that holds anything, of x's shape and type."""
        return self.empty(x.shape, dtype=self._like(x, dtype))

    def zeros_like(self, x: Array, *, dtype: Any = None) -> Array:
        """Zeros of x's shape and type."""
        return self.zeros(x.shape, dtype=self._like(x, dtype))

    def ones_like(self, x: Array, *, dtype: Any = None) -> Array:
        """Ones of x's shape and type."""
        return self.ones(x.shape, dtype=self._like(x, dtype))

    def full_like(self, x: Array, value: Any, *, dtype: Any = None) -> Array:
        """One value everywhere, of x's shape and type."""
        return self.full(x.shape, value, dtype=self._like(x, dtype))

    def linspace(
        self, start: Any, stop: Any, num: int, *, dtype: Any = None, endpoint: bool = True
    ) -> Array:
        """So many numbers at equal distances from `start` to `stop`."""
        if num < 0:
            raise ArgumentError(f"linspace: num must be at least 0, got {num}")
        made: np.ndarray[Any, np.dtype[Any]] = np.asarray(
            np.linspace(start, stop, num, endpoint=endpoint)  # pyright: ignore[reportUnknownArgumentType]
        )
        if dtype is not None and self.isdtype(dtype, "integral"):
            made = np.floor(made)  # as NumPy, where astype would cut towards 0
        wide = {"float32": "complex64"}.get(self.float_dtype, "complex128")
        usual = wide if made.dtype.kind == "c" else self.float_dtype
        return self.asarray(made, dtype=usual if dtype is None else dtype)

    def broadcast_arrays(self, *arrays: Array) -> tuple[Array, ...]:
        """Arrays repeated to their common shape."""
        shape = np.broadcast_shapes(*(tuple(each.shape) for each in arrays))
        return tuple(self.broadcast_to(each, shape) for each in arrays)

    def meshgrid(
        self, *arrays: Array, indexing: Literal["xy", "ij"] = "xy"
    ) -> tuple[Array, ...]:
        """The coordinates of a grid, from those along each axis."""
        if indexing not in {"xy", "ij"}:
            raise ArgumentError(f'indexing must be "xy" or "ij", got {indexing!r}')
        places = list(range(len(arrays)))
        if indexing == "xy" and len(arrays) > 1:
            places[:2] = [1, 0]
        shape = [0] * len(arrays)
        for each, place in zip(arrays, places, strict=True):
            shape[place] = math.prod(each.shape)
        return tuple(
            self.broadcast_to(self._laid(each, place, len(shape)), tuple(shape))
            for each, place in zip(arrays, places, strict=True)
        )

    def _laid(self, x: Array, place: int, count: int) -> Array:
        """A row as an array of so many axes, all but one of length 1."""
        return self.reshape(x, (*(1,) * place, -1, *(1,) * (count - place - 1)))

    def _like(self, x: Array, dtype: Any) -> Any:
        """The type that is asked for, or x's."""
        return self.dtype(x) if dtype is None else dtype
