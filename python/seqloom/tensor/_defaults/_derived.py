"""Further names of the standard, and functions of one array, from the required ones."""

from __future__ import annotations

from typing import Any, cast

from seqloom.tensor._defaults._erf import erf, erfc
from seqloom.tensor._defaults._standard import Array, Standard

_FAR = 20.0  # from here on exp(-x) is nothing beside exp(x)


class Derived(Standard):
    """What the standard has too, but a backend need not.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.rsqrt(B.asarray([4.0])).tolist()
        [0.5]
    """

    def stop_gradient(self, x: Array) -> Array:
        """The same values, of which no gradient is taken."""
        return x

    def accumulate(self, total: Array, more: Array) -> Array:
        """``total + more``; total's owner allows writing into it."""
        return self.add(total, more)

    def rsqrt(self, x: Array) -> Array:
        """``1 / sqrt(x)``."""
        return self.reciprocal(self.sqrt(x))

    def erf(self, x: Array) -> Array:
        """The error function."""
        return erf(self, x)

    def erfc(self, x: Array) -> Array:
        """``1 - erf(x)``, with all its digits where that is small."""
        return erfc(self, x)

    def positive(self, x: Array) -> Array:
        """The same values."""
        return self.multiply(x, 1)

    def isinf(self, x: Array) -> Array:
        """Whether a value is an infinity."""
        return self.logical_not(self.logical_or(self.isfinite(x), self.isnan(x)))

    def logical_xor(self, x: Array, y: Array) -> Array:
        """Whether just one of two is true."""
        return self.not_equal(x, y)

    def tan(self, x: Array) -> Array:
        """The tangent."""
        return self.divide(self.sin(x), self.cos(x))

    def sinh(self, x: Array) -> Array:
        """The hyperbolic sine, exact around 0."""
        size = self.abs(x)
        near = self.expm1(self.minimum(size, _FAR))
        half = self.add(near, self.divide(near, self.add(near, 1.0)))
        root = self.exp(self.multiply(size, 0.5))  # which overflows last
        far = self.multiply(self.multiply(root, 0.5), root)
        found = self.where(self.greater(size, _FAR), far, self.multiply(half, 0.5))
        return self.multiply(self.sign(x), found)

    def cosh(self, x: Array) -> Array:
        """The hyperbolic cosine."""
        root = self.exp(self.multiply(self.abs(x), 0.5))
        small = self.square(self.reciprocal(root))
        return self.add(
            self.multiply(self.multiply(root, 0.5), root), self.multiply(small, 0.5)
        )

    def std(
        self, x: Array, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
    ) -> Array:
        """The standard deviation over axes."""
        variance = self.var(x, axis=axis, correction=correction, keepdims=keepdims)
        return self.sqrt(variance)

    def moveaxis(self, x: Array, source: Any, destination: Any) -> Array:
        """One axis, or several, at other places."""
        count = len(x.shape)
        sources, places = (_within(axes, count) for axes in (source, destination))
        order = [axis for axis in range(count) if axis not in sources]
        for place, axis in sorted(zip(places, sources, strict=True)):
            order.insert(place, axis)
        return self.permute_dims(x, tuple(order))

    def tril(self, x: Array, *, k: int = 0) -> Array:
        """Zeros above the k-th diagonal of each matrix."""
        return self.where(self._below(x, k), x, 0)

    def triu(self, x: Array, *, k: int = 0) -> Array:
        """Zeros below the k-th diagonal of each matrix."""
        return self.where(self._below(x, k - 1), 0, x)

    def _below(self, x: Array, k: int) -> Array:
        """Which places of a matrix lie on its k-th diagonal or below."""
        rows, columns = x.shape[-2:]
        return self.greater_equal(
            self.expand_dims(self.arange(k, rows + k), axis=1),
            self.expand_dims(self.arange(columns), axis=0),
        )


def _within(axes: Any, count: int) -> list[int]:
    """An axis, or several, as numbers from 0 up."""
    if not isinstance(axes, tuple):
        return [axes % count]
    return [each % count for each in cast("tuple[int, ...]", axes)]
