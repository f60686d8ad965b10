"""Functions of one array, number by number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_functions import of_one, to_floats
from seqloom.tensor._families._rule import (
    Parts,
    Rule,
    ShapeRule,
    add_rule,
    by_input,
    by_output,
    elementwise,
)
from seqloom.tensor._operations import list_family

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Like, Needs
    from seqloom.tensor._families._numpy_arrays import Floats


# Default bodies ------------------------------------------------------------------------


_FAR = 20.0  # from here on exp(-x) is nothing beside exp(x)


def stop_gradient(b: Functions, x: Array) -> Array:  # noqa: ARG001 - a method
    """Return the same values, of which no gradient is taken."""
    return x


def rsqrt(b: Functions, x: Array) -> Array:
    """``1 / sqrt(x)``."""
    return b.reciprocal(b.sqrt(x))


def positive(b: Functions, x: Array) -> Array:
    """Return the same values."""
    return b.multiply(x, 1)


def isinf(b: Functions, x: Array) -> Array:
    """Return whether a value is an infinity."""
    return b.logical_not(b.logical_or(b.isfinite(x), b.isnan(x)))


def tan(b: Functions, x: Array) -> Array:
    """Return the tangent."""
    return b.divide(b.sin(x), b.cos(x))


def sinh(b: Functions, x: Array) -> Array:
    """Return the hyperbolic sine, exact around 0."""
    size = b.abs(x)
    near = b.expm1(b.minimum(size, _FAR))
    half = b.add(near, b.divide(near, b.add(near, 1.0)))
    root = b.exp(b.multiply(size, 0.5))  # which overflows last
    far = b.multiply(b.multiply(root, 0.5), root)
    found = b.where(b.greater(size, _FAR), far, b.multiply(half, 0.5))
    return b.multiply(b.sign(x), found)


def cosh(b: Functions, x: Array) -> Array:
    """Return the hyperbolic cosine."""
    root = b.exp(b.multiply(b.abs(x), 0.5))
    small = b.square(b.reciprocal(root))
    return b.add(b.multiply(b.multiply(root, 0.5), root), b.multiply(small, 0.5))


_ROOT_IS_X = 1e9  # from here on the root of x * x + 1 is x, in every type


def log2(b: Functions, x: Array) -> Array:
    """Return the logarithm to base 2."""
    return b.multiply(b.log(x), 1 / math.log(2))


def log10(b: Functions, x: Array) -> Array:
    """Return the logarithm to base 10."""
    return b.multiply(b.log(x), 1 / math.log(10))


def asin(b: Functions, x: Array) -> Array:
    """Return the angle of that sine."""
    return b.atan2(x, _other_side(b, x))


def acos(b: Functions, x: Array) -> Array:
    """Return the angle of that cosine."""
    return b.atan2(_other_side(b, x), x)


def atan(b: Functions, x: Array) -> Array:
    """Return the angle of that tangent."""
    return b.atan2(x, b.ones(x.shape, dtype=b.dtype(x)))


def asinh(b: Functions, x: Array) -> Array:
    """Return the number of that hyperbolic sine."""
    size = b.abs(x)
    far = b.greater(size, _ROOT_IS_X)
    near = b.where(far, 1.0, size)
    root = b.sqrt(b.add(b.square(near), 1.0))
    share = b.divide(b.square(near), b.add(root, 1.0))
    found = b.log1p(b.add(near, share))
    beyond = b.add(b.log(b.where(far, size, 1.0)), math.log(2))
    return b.copysign(b.where(far, beyond, found), x)


def acosh(b: Functions, x: Array) -> Array:
    """Return the number, not below 0, of that hyperbolic cosine."""
    far = b.greater(x, _ROOT_IS_X)
    above = b.subtract(b.where(far, 1.0, x), 1.0)
    root = b.sqrt(b.multiply(above, b.add(above, 2.0)))
    found = b.log1p(b.add(above, root))
    beyond = b.add(b.log(b.where(far, x, 1.0)), math.log(2))
    return b.where(far, beyond, found)


def atanh(b: Functions, x: Array) -> Array:
    """Return the number of that hyperbolic tangent."""
    both = b.subtract(b.log1p(x), b.log1p(b.negative(x)))
    return b.multiply(both, 0.5)


def trunc(b: Functions, x: Array) -> Array:
    """Return the integer that is nearest on the way to 0."""
    return b.where(b.less(x, 0), b.ceil(x), b.floor(x))


def signbit(b: Functions, x: Array) -> Array:
    """Return whether a value is negative; -0.0 is."""
    zero = b.equal(x, 0)
    below = b.less(b.reciprocal(b.where(zero, x, 1.0)), 0)
    return b.logical_or(b.less(x, 0), b.logical_and(zero, below))


def conj(b: Functions, x: Array) -> Array:
    """Return the complex conjugate; of real numbers, themselves."""
    return b.asarray(np.conj(b.to_numpy(x))) if is_complex(b, x) else x


def real(b: Functions, x: Array) -> Array:
    """Return the real parts; of real numbers, themselves."""
    return b.asarray(np.real(b.to_numpy(x))) if is_complex(b, x) else x


def imag(b: Functions, x: Array) -> Array:
    """Return the imaginary parts; of real numbers, zeros."""
    if is_complex(b, x):
        return b.asarray(np.imag(b.to_numpy(x)))
    return b.zeros(x.shape, dtype=b.dtype(x))


def is_complex(b: Functions, x: Array) -> bool:
    """Return whether an array holds complex numbers."""
    return b.dtype(x).kind == "c"


def _other_side(b: Functions, x: Array) -> Array:
    """``sqrt(1 - x * x)``, exact near 1."""
    return b.sqrt(b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {}


def flat(b: Functions, saved: Any, _grad: Array, _needs: Needs) -> Parts:
    """Return a function of steps: zero wherever it has a derivative."""
    shape, dtype = saved
    return (b.zeros(tuple(shape), dtype=dtype),)


def _asin(b: Functions, grad: Array, x: Array) -> Array:
    left = b.multiply(b.subtract(1.0, x), b.add(x, 1.0))
    return b.multiply(grad, b.rsqrt(left))


def _logarithm(base: float) -> Rule:
    """Return the rule of a logarithm to another base."""
    return by_input(lambda b, grad, x: b.divide(grad, b.multiply(x, math.log(base))))


@add_rule(RULES, "imag", save=keep.first_like)
def _pull_imag(b: Functions, saved: Like, grad: Array, _needs: Needs) -> Parts:
    shape, dtype = saved
    if b.isdtype(dtype, "real floating"):
        return (b.zeros(tuple(shape), dtype=dtype),)
    return (b.multiply(b.astype(grad, dtype), b.asarray(1j, dtype=dtype)),)


_FLAT = Rule(keep.first_like, flat)


RULES.update(
    {
        "negative": Rule(keep.nothing, lambda b, _, grad, __: (b.negative(grad),)),
        "abs": by_input(lambda b, grad, x: b.multiply(grad, b.sign(x))),
        "exp": by_output(lambda b, grad, out: b.multiply(grad, out)),
        # Of its output, which is -1 soon, the digits of a small slope could not be had.
        "expm1": by_input(lambda b, grad, x: b.multiply(grad, b.exp(x))),
        "log": by_input(lambda b, grad, x: b.divide(grad, x)),
        "log1p": by_input(lambda b, grad, x: b.divide(grad, b.add(x, 1))),
        "sqrt": by_output(lambda b, grad, out: b.divide(b.multiply(grad, 0.5), out)),
        "rsqrt": by_output(
            lambda b, grad, out: b.multiply(
                grad, b.multiply(b.multiply(out, b.square(out)), -0.5)
            )
        ),
        "square": by_input(lambda b, grad, x: b.multiply(b.multiply(grad, 2), x)),
        "reciprocal": by_output(
            lambda b, grad, out: b.negative(b.multiply(grad, b.square(out)))
        ),
        "sin": by_input(lambda b, grad, x: b.multiply(grad, b.cos(x))),
        "cos": by_input(lambda b, grad, x: b.negative(b.multiply(grad, b.sin(x)))),
        "tanh": by_output(
            lambda b, grad, out: b.multiply(grad, b.subtract(1, b.square(out)))
        ),
        "sinh": by_input(lambda b, grad, x: b.multiply(grad, b.cosh(x))),
        "cosh": by_input(lambda b, grad, x: b.multiply(grad, b.sinh(x))),
        "log2": _logarithm(2),
        "log10": _logarithm(10),
        "asin": by_input(_asin),
        "acos": by_input(lambda b, grad, x: b.negative(_asin(b, grad, x))),
        "atan": by_input(lambda b, grad, x: b.divide(grad, b.add(b.square(x), 1.0))),
        "asinh": by_input(
            lambda b, grad, x: b.multiply(grad, b.rsqrt(b.add(b.square(x), 1.0)))
        ),
        "acosh": by_input(
            lambda b, grad, x: b.multiply(
                grad, b.multiply(b.rsqrt(b.subtract(x, 1.0)), b.rsqrt(b.add(x, 1.0)))
            )
        ),
        "atanh": by_input(
            lambda b, grad, x: b.divide(grad, b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))
        ),
        "conj": Rule(keep.nothing, lambda b, _, grad, __: (b.conj(grad),)),
        "real": Rule(
            keep.first_like, lambda b, saved, grad, _: (b.astype(grad, saved[1]),)
        ),
        "sign": _FLAT,
        "floor": _FLAT,
        "ceil": _FLAT,
        "round": _FLAT,
        "trunc": _FLAT,
        # Its result is followed by nobody.
        "stop_gradient": Rule(keep.nothing, flat, tracked=0),
    }
)


# Shapes --------------------------------------------------------------------------------


SHAPES: dict[str, ShapeRule] = dict.fromkeys(list_family("unary"), elementwise)


# NumPy ---------------------------------------------------------------------------------


def numpy_reciprocal(x: Floats, out: Floats | None = None) -> Floats:
    """``1 / x``."""
    x = to_floats(x)
    return np.divide(x.dtype.type(1), x, out=out)


# NumPy's own functions.
LIBRARY = {name: of_one(name) for name in list_family("unary", "numpy") - {"reciprocal"}}
