"""Elementary functions of the standard that a backend need not have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._defaults._products import require_equal_lengths

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

_ROOT_IS_X = 1e9  # from here on the root of x * x + 1 is x, in every type


def log2(b: Functions, x: Array) -> Array:
    """The logarithm to base 2."""
    return b.multiply(b.log(x), 1 / math.log(2))


def log10(b: Functions, x: Array) -> Array:
    """The logarithm to base 10."""
    return b.multiply(b.log(x), 1 / math.log(10))


def asin(b: Functions, x: Array) -> Array:
    """The angle of that sine."""
    return b.atan2(x, _other_side(b, x))


def acos(b: Functions, x: Array) -> Array:
    """The angle of that cosine."""
    return b.atan2(_other_side(b, x), x)


def atan(b: Functions, x: Array) -> Array:
    """The angle of that tangent."""
    return b.atan2(x, b.ones(x.shape, dtype=b.dtype(x)))


def asinh(b: Functions, x: Array) -> Array:
    """The number of that hyperbolic sine."""
    size = b.abs(x)
    far = b.greater(size, _ROOT_IS_X)
    near = b.where(far, 1.0, size)
    root = b.sqrt(b.add(b.square(near), 1.0))
    share = b.divide(b.square(near), b.add(root, 1.0))
    found = b.log1p(b.add(near, share))
    beyond = b.add(b.log(b.where(far, size, 1.0)), math.log(2))
    return b.copysign(b.where(far, beyond, found), x)


def acosh(b: Functions, x: Array) -> Array:
    """The number, not below 0, of that hyperbolic cosine."""
    far = b.greater(x, _ROOT_IS_X)
    above = b.subtract(b.where(far, 1.0, x), 1.0)
    root = b.sqrt(b.multiply(above, b.add(above, 2.0)))
    found = b.log1p(b.add(above, root))
    beyond = b.add(b.log(b.where(far, x, 1.0)), math.log(2))
    return b.where(far, beyond, found)


def atanh(b: Functions, x: Array) -> Array:
    """The number of that hyperbolic tangent."""
    both = b.subtract(b.log1p(x), b.log1p(b.negative(x)))
    return b.multiply(both, 0.5)


def hypot(b: Functions, x: Array, y: Array) -> Array:
    """``sqrt(x * x + y * y)``, without overflow."""
    x, y = b.abs(x), b.abs(_beside(b, x, y))
    most, least = b.maximum(x, y), b.minimum(x, y)
    ratio = b.divide(least, b.where(b.equal(most, 0), 1.0, most))
    found = b.multiply(most, b.sqrt(b.add(b.square(ratio), 1.0)))
    infinite = b.logical_or(b.isinf(x), b.isinf(y))
    return b.where(infinite, math.inf, found)


def trunc(b: Functions, x: Array) -> Array:
    """The integer that is nearest on the way to 0."""
    return b.where(b.less(x, 0), b.ceil(x), b.floor(x))


def signbit(b: Functions, x: Array) -> Array:
    """Whether a value is negative; -0.0 is."""
    zero = b.equal(x, 0)
    below = b.less(b.reciprocal(b.where(zero, x, 1.0)), 0)
    return b.logical_or(b.less(x, 0), b.logical_and(zero, below))


def copysign(b: Functions, x: Array, y: Array) -> Array:
    """The size of `x` with the sign of `y`."""
    size, y = b.abs(x), _beside(b, x, y)
    return b.where(b.signbit(y), b.negative(size), size)


def nextafter(b: Functions, x: Array, y: Array) -> Array:
    """The next number of that type from `x` towards `y`."""
    return b.asarray(np.nextafter(b.to_numpy(x), b.to_numpy(y)))


def vecdot(b: Functions, x: Array, y: Array, *, axis: int = -1) -> Array:
    """The sum of products along an axis; of complex numbers, by conjugates of x."""
    require_equal_lengths("vecdot", x, y, (axis, axis))
    left = b.conj(x) if _is_complex(b, x) else x
    products = b.multiply(left, y)
    total = b.sum(products, axis=axis)
    dtype = b.dtype(products)  # a sum of small integers is wider
    return b.astype(total, dtype) if dtype.kind in "iu" else total


def conj(b: Functions, x: Array) -> Array:
    """The complex conjugate; of real numbers, themselves."""
    return b.asarray(np.conj(b.to_numpy(x))) if _is_complex(b, x) else x


def real(b: Functions, x: Array) -> Array:
    """The real parts; of real numbers, themselves."""
    return b.asarray(np.real(b.to_numpy(x))) if _is_complex(b, x) else x


def imag(b: Functions, x: Array) -> Array:
    """The imaginary parts; of real numbers, zeros."""
    if _is_complex(b, x):
        return b.asarray(np.imag(b.to_numpy(x)))
    return b.zeros(x.shape, dtype=b.dtype(x))


def _beside(b: Functions, x: Array, y: Any) -> Array:
    """An array, or a number as one of x's type."""
    is_number = isinstance(y, (int, float))
    return b.full((), y, dtype=b.dtype(x)) if is_number else y


def _is_complex(b: Functions, x: Array) -> bool:
    """Whether an array holds complex numbers."""
    return b.dtype(x).kind == "c"


def _other_side(b: Functions, x: Array) -> Array:
    """``sqrt(1 - x * x)``, exact near 1."""
    return b.sqrt(b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))
