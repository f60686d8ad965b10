"""Functions of the Array API standard that compute results from tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from seqloom.errors import ShapeError
from seqloom.tensor._dispatch import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._tensor import Tensor


Axes: TypeAlias = int | tuple[int, ...]
Operand: TypeAlias = "Tensor | complex"
_F = TypeVar("_F", bound="Callable[..., Tensor]")


class _NamedFunction(Generic[_F]):
    """Descriptor that replaces itself by a static function named like the attribute."""

    def __init__(self, make: Callable[[str], _F]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        function = self._make(name)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Compute ``{name}`` as the Array API standard specifies."
        setattr(owner, name, staticmethod(function))

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type) -> _F: ...


def _make_unary(name: str) -> Callable[[Tensor], Tensor]:
    def compute(x: Tensor, /) -> Tensor:
        return apply(name, x)

    return compute


def _make_binary(name: str) -> Callable[[Operand, Operand], Tensor]:
    def compute(x1: Operand, x2: Operand, /) -> Tensor:
        return apply(name, x1, x2)

    return compute


def _make_reduction(name: str) -> Callable[..., Tensor]:
    def compute(
        x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False
    ) -> Tensor:
        return apply(name, x, axis=axis, keepdims=keepdims)

    return compute


def _make_variance(name: str) -> Callable[..., Tensor]:
    """Return a function that computes the variance or the standard deviation."""

    def compute(
        x: Tensor,
        /,
        *,
        axis: Axes | None = None,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> Tensor:
        return apply(name, x, axis=axis, correction=correction, keepdims=keepdims)

    return compute


def _make_sum(name: str) -> Callable[..., Tensor]:
    """Return a function that computes a sum or product, with a `dtype` option."""

    def compute(
        x: Tensor, /, *, axis: Axes | None = None, dtype: Any = None, keepdims: bool = False
    ) -> Tensor:
        return apply(name, x, axis=axis, keepdims=keepdims, **_dtype_option(dtype))

    return compute


def _make_cumulative(name: str) -> Callable[..., Tensor]:
    """Return a function that computes a cumulative sum or product."""

    def compute(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Tensor:
        options = {"include_initial": include_initial, **_dtype_option(dtype)}
        return apply(name, x, axis=axis, **options)

    return compute


def _dtype_option(dtype: Any) -> dict[str, Any]:
    """Return `dtype` as a dict of keyword arguments, which is empty for None."""
    return {} if dtype is None else {"dtype": dtype}


_UNARY = _NamedFunction(_make_unary)
_BINARY = _NamedFunction(_make_binary)
_REDUCTION = _NamedFunction(_make_reduction)


class UniqueAll(NamedTuple):
    """Distinct values, their first indices, the inverse indices, and the counts."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct values, and their counts."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct values, and the index of the distinct value of each element."""

    values: Tensor
    inverse_indices: Tensor


class NamespaceFunctions:
    """Functions of the Array API standard that accept tensors of any backend."""

    # Elementwise functions of one tensor.
    abs = acos = acosh = asin = asinh = atan = atanh = bitwise_invert = ceil = _UNARY
    conj = cos = cosh = exp = expm1 = floor = imag = isfinite = isinf = isnan = _UNARY
    log = log10 = log1p = log2 = logical_not = negative = positive = real = _UNARY
    reciprocal = round = sign = signbit = sin = sinh = sqrt = square = _UNARY
    tan = tanh = trunc = _UNARY

    # Elementwise functions of two tensors, or of a tensor and a number.
    add = atan2 = bitwise_and = bitwise_left_shift = bitwise_or = _BINARY
    bitwise_right_shift = bitwise_xor = copysign = divide = equal = floor_divide = _BINARY
    greater = greater_equal = hypot = less = less_equal = logaddexp = _BINARY
    logical_and = logical_or = logical_xor = maximum = minimum = multiply = _BINARY
    nextafter = not_equal = pow = remainder = subtract = _BINARY

    # Reductions over axes.
    all = any = argmax = argmin = count_nonzero = max = mean = min = _REDUCTION
    std = var = _NamedFunction(_make_variance)
    prod = sum = _NamedFunction(_make_sum)
    cumulative_prod = cumulative_sum = _NamedFunction(_make_cumulative)

    @staticmethod
    def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002  # the standard's names
        """Limit the values to a range."""
        return apply("clip", x, min, max)

    @staticmethod
    def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
        """Select values of `x1` where the condition is true, and of `x2` elsewhere."""
        return apply("where", condition, x1, x2)

    @staticmethod
    def diff(
        x: Tensor,
        /,
        *,
        axis: int = -1,
        n: int = 1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Compute the n-th differences of consecutive values."""
        return apply("diff", x, prepend, append, axis=axis, n=n)

    # Sums of products.

    matmul = _NamedFunction(_make_binary)

    @staticmethod
    def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
        """Multiply two tensors, and sum the products over some axes."""
        return apply("tensordot", x1, x2, axes=axes)

    @staticmethod
    def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
        """Compute the dot product of vectors along an axis."""
        return apply("vecdot", x1, x2, axis=axis)

    # Shapes.

    matrix_transpose = _NamedFunction(_make_unary)

    @staticmethod
    def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
        """Broadcast tensors to their common shape."""
        return apply("broadcast_arrays", *arrays)

    @staticmethod
    def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape to which all given shapes broadcast."""
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise ShapeError(
                f"broadcast_shapes: the shapes {', '.join(map(str, shapes))} have no "
                "common shape"
            ) from None

    @staticmethod
    def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
        """Broadcast to a shape."""
        return apply("broadcast_to", x, shape)

    @staticmethod
    def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
        """Join tensors along an existing axis."""
        return apply("concat", list(arrays), axis=axis)

    @staticmethod
    def expand_dims(x: Tensor, /, axis: Axes = 0) -> Tensor:
        """Add a new axis of length 1."""
        return apply("expand_dims", x, axis=axis)

    @staticmethod
    def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
        """Reverse the order along axes."""
        return apply("flip", x, axis=axis)

    @staticmethod
    def meshgrid(
        *arrays: Tensor, indexing: Literal["xy", "ij"] = "xy"
    ) -> tuple[Tensor, ...]:
        """Create coordinate grids from the coordinates of each axis."""
        return apply("meshgrid", *arrays, indexing=indexing)

    @staticmethod
    def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
        """Move axes to other positions."""
        return apply("moveaxis", x, source, destination)

    @staticmethod
    def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
        """Permute the axes."""
        return apply("permute_dims", x, axes)

    @staticmethod
    def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
        """Repeat each element several times."""
        return apply("repeat", x, repeats, axis=axis)

    @staticmethod
    def reshape(
        x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None
    ) -> Tensor:
        """Change the shape; `copy` has no effect on tensors."""
        del copy
        return apply("reshape", x, shape)

    @staticmethod
    def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
        """Shift the values along axes; values that are shifted past the end wrap around."""
        return apply("roll", x, shift, axis=axis)

    @staticmethod
    def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
        """Remove axes of length 1."""
        return apply("squeeze", x, axis=axis)

    @staticmethod
    def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
        """Join tensors of the same shape along a new axis."""
        return apply("stack", list(arrays), axis=axis)

    @staticmethod
    def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
        """Repeat the whole tensor several times."""
        return apply("tile", x, repetitions)

    @staticmethod
    def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
        """Return matrices in which all values above the k-th diagonal are 0."""
        return apply("tril", x, k=k)

    @staticmethod
    def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
        """Return matrices in which all values below the k-th diagonal are 0."""
        return apply("triu", x, k=k)

    @staticmethod
    def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
        """Split a tensor along an axis, and remove the axis."""
        return apply("unstack", x, axis=axis)

    # Sorting, searching, and sets.

    @staticmethod
    def argsort(
        x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> Tensor:
        """Return the indices that would sort the values."""
        return apply("argsort", x, axis=axis, descending=descending, stable=stable)

    @staticmethod
    def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
        """Test whether each value of `x1` is in `x2`."""
        return apply("isin", x1, x2, invert=invert)

    @staticmethod
    def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
        """Return the indices of the values that are not 0."""
        return apply("nonzero", x)

    @staticmethod
    def searchsorted(
        x1: Tensor,
        x2: Any,
        /,
        *,
        side: Literal["left", "right"] = "left",
        sorter: Tensor | None = None,
    ) -> Tensor:
        """Return the indices at which inserting `x2` would keep `x1` sorted."""
        row = x1 if sorter is None else apply("take", x1, sorter, axis=0)
        return apply("searchsorted", row, x2, side=side)

    @staticmethod
    def sort(
        x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> Tensor:
        """Sort the values along an axis."""
        return apply("sort", x, axis=axis, descending=descending, stable=stable)

    @staticmethod
    def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
        """Return the slices of an axis at the given indices."""
        return apply("take", x, indices, axis=axis)

    @staticmethod
    def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
        """Return the values at the given indices along an axis."""
        return apply("take_along_axis", x, indices, axis=axis)

    @staticmethod
    def unique_all(x: Tensor, /) -> UniqueAll:
        """Return sorted distinct values, first indices, inverse indices and counts."""
        return UniqueAll(*apply("unique_all", x))

    @staticmethod
    def unique_counts(x: Tensor, /) -> UniqueCounts:
        """Return the sorted distinct values and their counts."""
        return UniqueCounts(*apply("unique_counts", x))

    @staticmethod
    def unique_inverse(x: Tensor, /) -> UniqueInverse:
        """Return the sorted distinct values and, for each element, its index among them."""
        return UniqueInverse(*apply("unique_inverse", x))

    @staticmethod
    def unique_values(x: Tensor, /) -> Tensor:
        """Return the sorted distinct values."""
        return apply("unique_values", x)
