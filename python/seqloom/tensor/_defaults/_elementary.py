"""Elementary functions of the standard that a backend need not have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._defaults._derived import Derived

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array

_ROOT_IS_X = 1e9  # from here on the root of x * x + 1 is x, in every type


class Elementary(Derived):
    """Logarithms, inverse functions, signs and steps.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.trunc(B.asarray([-1.5, 1.5])).tolist()
        [-1.0, 1.0]
    """

    to_numpy: Any

    def log2(self, x: Array) -> Array:
        """The logarithm to base 2."""
        return self.multiply(self.log(x), 1 / math.log(2))

    def log10(self, x: Array) -> Array:
        """The logarithm to base 10."""
        return self.multiply(self.log(x), 1 / math.log(10))

    def asin(self, x: Array) -> Array:
        """The angle of that sine."""
        return self.atan2(x, self._other_side(x))

    def acos(self, x: Array) -> Array:
        """The angle of that cosine."""
        return self.atan2(self._other_side(x), x)

    def atan(self, x: Array) -> Array:
        """The angle of that tangent."""
        return self.atan2(x, self.ones(x.shape, dtype=self.dtype(x)))

    def asinh(self, x: Array) -> Array:
        """The number of that hyperbolic sine."""
        size = self.abs(x)
        far = self.greater(size, _ROOT_IS_X)
        near = self.where(far, 1.0, size)
        root = self.sqrt(self.add(self.square(near), 1.0))
        share = self.divide(self.square(near), self.add(root, 1.0))
        found = self.log1p(self.add(near, share))
        beyond = self.add(self.log(self.where(far, size, 1.0)), math.log(2))
        return self.copysign(self.where(far, beyond, found), x)

    def acosh(self, x: Array) -> Array:
        """The number, not below 0, of that hyperbolic cosine."""
        far = self.greater(x, _ROOT_IS_X)
        above = self.subtract(self.where(far, 1.0, x), 1.0)
        root = self.sqrt(self.multiply(above, self.add(above, 2.0)))
        found = self.log1p(self.add(above, root))
        beyond = self.add(self.log(self.where(far, x, 1.0)), math.log(2))
        return self.where(far, beyond, found)

    def atanh(self, x: Array) -> Array:
        """The number of that hyperbolic tangent."""
        both = self.subtract(self.log1p(x), self.log1p(self.negative(x)))
        return self.multiply(both, 0.5)

    def hypot(self, x: Array, y: Array) -> Array:
        """``sqrt(x * x + y * y)``, without overflow."""
        x, y = self.abs(x), self.abs(self._beside(x, y))
        most, least = self.maximum(x, y), self.minimum(x, y)
        ratio = self.divide(least, self.where(self.equal(most, 0), 1.0, most))
        found = self.multiply(most, self.sqrt(self.add(self.square(ratio), 1.0)))
        infinite = self.logical_or(self.isinf(x), self.isinf(y))
        return self.where(infinite, math.inf, found)

    def trunc(self, x: Array) -> Array:
        """The whole number that is nearest on the way to 0."""
        return self.where(self.less(x, 0), self.ceil(x), self.floor(x))

    def signbit(self, x: Array) -> Array:
        """Whether a value is negative; -0.0 is."""
        zero = self.equal(x, 0)
        below = self.less(self.reciprocal(self.where(zero, x, 1.0)), 0)
        return self.logical_or(self.less(x, 0), self.logical_and(zero, below))

    def copysign(self, x: Array, y: Array) -> Array:
        """The size of `x` with the sign of `y`."""
        size, y = self.abs(x), self._beside(x, y)
        return self.where(self.signbit(y), self.negative(size), size)

    def nextafter(self, x: Array, y: Array) -> Array:
        """The next number of that type from `x` towards `y`."""
        return self.asarray(np.nextafter(self.to_numpy(x), self.to_numpy(y)))

    def vecdot(self, x: Array, y: Array, *, axis: int = -1) -> Array:
        """The sum of products along an axis; of complex numbers, by conjugates of x."""
        left = self.conj(x) if self._is_complex(x) else x
        products = self.multiply(left, y)
        total = self.sum(products, axis=axis)
        dtype = self.dtype(products)  # a sum of small whole numbers is wider
        return self.astype(total, dtype) if dtype.kind in "iu" else total

    def conj(self, x: Array) -> Array:
        """The complex conjugate; of real numbers, themselves."""
        return self.asarray(np.conj(self.to_numpy(x))) if self._is_complex(x) else x

    def real(self, x: Array) -> Array:
        """The real parts; of real numbers, themselves."""
        return self.asarray(np.real(self.to_numpy(x))) if self._is_complex(x) else x

    def imag(self, x: Array) -> Array:
        """The imaginary parts; of real numbers, zeros."""
        if self._is_complex(x):
            return self.asarray(np.imag(self.to_numpy(x)))
        return self.zeros(x.shape, dtype=self.dtype(x))

    def _beside(self, x: Array, y: Any) -> Array:
        """An array, or a number as one of x's type."""
        is_number = isinstance(y, (int, float))
        return self.full((), y, dtype=self.dtype(x)) if is_number else y

    def _is_complex(self, x: Array) -> bool:
        """Whether an array holds complex numbers."""
        return self.dtype(x).kind == "c"

    def _other_side(self, x: Array) -> Array:
        """``sqrt(1 - x * x)``, exact near 1."""
        return self.sqrt(self.multiply(self.subtract(1.0, x), self.add(x, 1.0)))
