"""Further names of the standard, and functions of one array, from the required ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


_FAR = 20.0  # from here on exp(-x) is nothing beside exp(x)


def stop_gradient(b: Functions, x: Array) -> Array:  # noqa: ARG001 - a method
    """The same values, of which no gradient is taken."""
    return x


def accumulate(b: Functions, total: Array, more: Array) -> Array:
    """``total + more``; total's owner allows writing into it."""
    return b.add(total, more)


def rsqrt(b: Functions, x: Array) -> Array:
    """``1 / sqrt(x)``."""
    return b.reciprocal(b.sqrt(x))


def positive(b: Functions, x: Array) -> Array:
    """The same values."""
    return b.multiply(x, 1)


def isinf(b: Functions, x: Array) -> Array:
    """Whether a value is an infinity."""
    return b.logical_not(b.logical_or(b.isfinite(x), b.isnan(x)))


def logical_xor(b: Functions, x: Array, y: Array) -> Array:
    """Whether just one of two is true."""
    return b.not_equal(x, y)


def tan(b: Functions, x: Array) -> Array:
    """The tangent."""
    return b.divide(b.sin(x), b.cos(x))


def sinh(b: Functions, x: Array) -> Array:
    """The hyperbolic sine, exact around 0."""
    size = b.abs(x)
    near = b.expm1(b.minimum(size, _FAR))
    half = b.add(near, b.divide(near, b.add(near, 1.0)))
    root = b.exp(b.multiply(size, 0.5))  # which overflows last
    far = b.multiply(b.multiply(root, 0.5), root)
    found = b.where(b.greater(size, _FAR), far, b.multiply(half, 0.5))
    return b.multiply(b.sign(x), found)


def cosh(b: Functions, x: Array) -> Array:
    """The hyperbolic cosine."""
    root = b.exp(b.multiply(b.abs(x), 0.5))
    small = b.square(b.reciprocal(root))
    return b.add(b.multiply(b.multiply(root, 0.5), root), b.multiply(small, 0.5))


def std(
    b: Functions,
    x: Array,
    *,
    axis: Any = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The standard deviation over axes."""
    variance = b.var(x, axis=axis, correction=correction, keepdims=keepdims)
    return b.sqrt(variance)


def moveaxis(b: Functions, x: Array, source: Any, destination: Any) -> Array:
    """One axis, or several, at other positions."""
    count = len(x.shape)
    sources, positions = (_within(axes, count) for axes in (source, destination))
    order = [axis for axis in range(count) if axis not in sources]
    for position, axis in sorted(zip(positions, sources, strict=True)):
        order.insert(position, axis)
    return b.permute_dims(x, tuple(order))


def tril(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Zeros above the k-th diagonal of each matrix."""
    return b.where(_below(b, x, k), x, 0)


def triu(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Zeros below the k-th diagonal of each matrix."""
    return b.where(_below(b, x, k - 1), 0, x)


def _below(b: Functions, x: Array, k: int) -> Array:
    """Which positions of a matrix lie on its k-th diagonal or below."""
    rows, columns = x.shape[-2:]
    return b.greater_equal(
        b.expand_dims(b.arange(k, rows + k), axis=1),
        b.expand_dims(b.arange(columns), axis=0),
    )


def _within(axes: Any, count: int) -> list[int]:
    """An axis, or several, as numbers from 0 up."""
    if not isinstance(axes, tuple):
        return [axes % count]
    return [axis % count for axis in cast("tuple[int, ...]", axes)]
