"""Functions of the standard that change how numbers lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom.tensor._dispatch import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._tensor import Tensor

Axes = int | tuple[int, ...]


class Shapes:
    """Joining, turning, repeating and reshaping."""

    @staticmethod
    def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
        """Tensors repeated to their common shape."""
        return apply("broadcast_arrays", *arrays)

    @staticmethod
    def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
        """The common shape of shapes."""
        return np.broadcast_shapes(*shapes)

    @staticmethod
    def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
        """Repeated along axes of length 1."""
        return apply("broadcast_to", x, shape)

    @staticmethod
    def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
        """Tensors end to end."""
        return apply("concat", list(arrays), axis=axis)

    @staticmethod
    def expand_dims(x: Tensor, /, axis: Axes = 0) -> Tensor:
        """With a new axis of length 1."""
        return apply("expand_dims", x, axis=axis)

    @staticmethod
    def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
        """The other way round along axes."""
        return apply("flip", x, axis=axis)

    @staticmethod
    def matrix_transpose(x: Tensor, /) -> Tensor:
        """The last two axes exchanged."""
        return apply("matrix_transpose", x)

    @staticmethod
    def meshgrid(
        *arrays: Tensor, indexing: Literal["xy", "ij"] = "xy"
    ) -> tuple[Tensor, ...]:
        """The coordinates of a grid, from those along each axis."""
        return apply("meshgrid", *arrays, indexing=indexing)

    @staticmethod
    def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
        """Axes at other places."""
        return apply("moveaxis", x, source, destination)

    @staticmethod
    def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
        """The axes in another order."""
        return apply("permute_dims", x, axes)

    @staticmethod
    def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
        """Each value several times."""
        return apply("repeat", x, repeats, axis=axis)

    @staticmethod
    def reshape(
        x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None
    ) -> Tensor:
        """The same values in another shape; `copy` decides nothing: tensors are values."""
        del copy
        return apply("reshape", x, shape)

    @staticmethod
    def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
        """Moved along axes, in a ring."""
        return apply("roll", x, shift, axis=axis)

    @staticmethod
    def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
        """Without axes of length 1."""
        return apply("squeeze", x, axis=axis)

    @staticmethod
    def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
        """Tensors of one shape along a new axis."""
        return apply("stack", list(arrays), axis=axis)

    @staticmethod
    def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
        """The whole tensor several times."""
        return apply("tile", x, repetitions)

    @staticmethod
    def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
        """Zeros above the k-th diagonal of each matrix."""
        return apply("tril", x, k=k)

    @staticmethod
    def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
        """Zeros below the k-th diagonal of each matrix."""
        return apply("triu", x, k=k)

    @staticmethod
    def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
        """The parts along an axis."""
        return apply("unstack", x, axis=axis)
