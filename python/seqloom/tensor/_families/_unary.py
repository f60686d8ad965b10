"""Elementwise functions of one array."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_functions import to_floats, wrap_unary
from seqloom.tensor._families._rule import (
    Parts,
    Rule,
    ShapeRule,
    add_grad,
    infer_broadcast,
    rule_from_input,
    rule_from_output,
)
from seqloom.tensor._operations import list_family

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import ArgSpec, Needs
    from seqloom.tensor._families._numpy_arrays import Floats


# Default implementations ---------------------------------------------------------------


_MAX_EXPM1_INPUT = 20.0  # Above this limit, exp(-x) is negligible compared with exp(x).


def stop_gradient(b: Functions, x: Array) -> Array:  # noqa: ARG001 - a method
    """Return `x` as a constant, to which no gradient is passed."""
    return x


def rsqrt(b: Functions, x: Array) -> Array:
    """Return ``1 / sqrt(x)``."""
    return b.reciprocal(b.sqrt(x))


def positive(b: Functions, x: Array) -> Array:
    return b.multiply(x, 1)


def isinf(b: Functions, x: Array) -> Array:
    """Return whether each value is infinite."""
    return b.logical_not(b.logical_or(b.isfinite(x), b.isnan(x)))


def tan(b: Functions, x: Array) -> Array:
    """Return the tangent."""
    return b.divide(b.sin(x), b.cos(x))


def sinh(b: Functions, x: Array) -> Array:
    """Return the hyperbolic sine, accurate near 0."""
    size = b.abs(x)
    near = b.expm1(b.minimum(size, _MAX_EXPM1_INPUT))
    half = b.add(near, b.divide(near, b.add(near, 1.0)))
    root = b.exp(b.multiply(size, 0.5))  # exp(size / 2) overflows later than exp(size).
    far = b.multiply(b.multiply(root, 0.5), root)
    found = b.where(b.greater(size, _MAX_EXPM1_INPUT), far, b.multiply(half, 0.5))
    return b.multiply(b.sign(x), found)


def cosh(b: Functions, x: Array) -> Array:
    """Return the hyperbolic cosine."""
    root = b.exp(b.multiply(b.abs(x), 0.5))
    small = b.square(b.reciprocal(root))
    return b.add(b.multiply(b.multiply(root, 0.5), root), b.multiply(small, 0.5))


_MIN_ASYMPTOTIC_INPUT = 1e9  # Above this limit, sqrt(x * x + 1) rounds to x in every dtype.


def log2(b: Functions, x: Array) -> Array:
    """Return the logarithm to base 2."""
    return b.multiply(b.log(x), 1 / math.log(2))


def log10(b: Functions, x: Array) -> Array:
    """Return the logarithm to base 10."""
    return b.multiply(b.log(x), 1 / math.log(10))


def asin(b: Functions, x: Array) -> Array:
    """Return the inverse sine."""
    return b.atan2(x, _sqrt_one_minus_square(b, x))


def acos(b: Functions, x: Array) -> Array:
    """Return the inverse cosine."""
    return b.atan2(_sqrt_one_minus_square(b, x), x)


def atan(b: Functions, x: Array) -> Array:
    """Return the inverse tangent."""
    return b.atan2(x, b.ones(x.shape, dtype=b.dtype(x)))


def asinh(b: Functions, x: Array) -> Array:
    """Return the inverse hyperbolic sine."""
    size = b.abs(x)
    far = b.greater(size, _MIN_ASYMPTOTIC_INPUT)
    near = b.where(far, 1.0, size)
    root = b.sqrt(b.add(b.square(near), 1.0))
    share = b.divide(b.square(near), b.add(root, 1.0))
    found = b.log1p(b.add(near, share))
    beyond = b.add(b.log(b.where(far, size, 1.0)), math.log(2))
    return b.copysign(b.where(far, beyond, found), x)


def acosh(b: Functions, x: Array) -> Array:
    """Return the inverse hyperbolic cosine."""
    far = b.greater(x, _MIN_ASYMPTOTIC_INPUT)
    above = b.subtract(b.where(far, 1.0, x), 1.0)
    root = b.sqrt(b.multiply(above, b.add(above, 2.0)))
    found = b.log1p(b.add(above, root))
    beyond = b.add(b.log(b.where(far, x, 1.0)), math.log(2))
    return b.where(far, beyond, found)


def atanh(b: Functions, x: Array) -> Array:
    """Return the inverse hyperbolic tangent."""
    both = b.subtract(b.log1p(x), b.log1p(b.negative(x)))
    return b.multiply(both, 0.5)


def trunc(b: Functions, x: Array) -> Array:
    """Return the values rounded towards 0, to integers."""
    return b.where(b.less(x, 0), b.ceil(x), b.floor(x))


def signbit(b: Functions, x: Array) -> Array:
    """Return whether the sign bit of each element is set, also for -0.0."""
    zero = b.equal(x, 0)
    below = b.less(b.reciprocal(b.where(zero, x, 1.0)), 0)
    return b.logical_or(b.less(x, 0), b.logical_and(zero, below))


def conj(b: Functions, x: Array) -> Array:
    """Return the complex conjugate; real numbers are returned unchanged."""
    return b.asarray(np.conj(b.to_numpy(x))) if is_complex(b, x) else x


def real(b: Functions, x: Array) -> Array:
    """Return the real parts; real numbers are returned unchanged."""
    return b.asarray(np.real(b.to_numpy(x))) if is_complex(b, x) else x


def imag(b: Functions, x: Array) -> Array:
    """Return the imaginary parts, which are zeros for real numbers."""
    if is_complex(b, x):
        return b.asarray(np.imag(b.to_numpy(x)))
    return b.zeros(x.shape, dtype=b.dtype(x))


def is_complex(b: Functions, x: Array) -> bool:
    """Return whether an array contains complex numbers."""
    return b.dtype(x).kind == "c"


def _sqrt_one_minus_square(b: Functions, x: Array) -> Array:
    """Return ``sqrt(1 - x * x)``, accurate also near 1."""
    return b.sqrt(b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def zero_gradient(b: Functions, saved: Any, _grad: Array, _needs: Needs) -> Parts:
    """Return a gradient of zeros, for step functions."""
    shape, dtype = saved
    return (b.zeros(tuple(shape), dtype=dtype),)


def _asin_gradient(b: Functions, grad: Array, x: Array) -> Array:
    left = b.multiply(b.subtract(1.0, x), b.add(x, 1.0))
    return b.multiply(grad, b.rsqrt(left))


def _make_log_rule(base: float) -> Rule:
    """Return the rule of the logarithm to another base."""
    return rule_from_input(lambda b, grad, x: b.divide(grad, b.multiply(x, math.log(base))))


@add_grad(GRAD_RULES, "imag", save=keep.save_input_spec)
def _grad_imag(b: Functions, saved: ArgSpec, grad: Array, _needs: Needs) -> Parts:
    shape, dtype = saved
    if b.isdtype(dtype, "real floating"):
        return (b.zeros(tuple(shape), dtype=dtype),)
    return (b.multiply(b.astype(grad, dtype), b.asarray(1j, dtype=dtype)),)


_ZERO_RULE = Rule(keep.save_input_spec, zero_gradient)


GRAD_RULES.update(
    {
        "negative": Rule(keep.save_nothing, lambda b, _, grad, __: (b.negative(grad),)),
        "abs": rule_from_input(lambda b, grad, x: b.multiply(grad, b.sign(x))),
        "exp": rule_from_output(lambda b, grad, out: b.multiply(grad, out)),
        # An output close to -1 has lost digits, so the rule uses the input.
        "expm1": rule_from_input(lambda b, grad, x: b.multiply(grad, b.exp(x))),
        "log": rule_from_input(lambda b, grad, x: b.divide(grad, x)),
        "log1p": rule_from_input(lambda b, grad, x: b.divide(grad, b.add(x, 1))),
        "sqrt": rule_from_output(lambda b, grad, out: b.divide(b.multiply(grad, 0.5), out)),
        "rsqrt": rule_from_output(
            lambda b, grad, out: b.multiply(
                grad, b.multiply(b.multiply(out, b.square(out)), -0.5)
            )
        ),
        "square": rule_from_input(lambda b, grad, x: b.multiply(b.multiply(grad, 2), x)),
        "reciprocal": rule_from_output(
            lambda b, grad, out: b.negative(b.multiply(grad, b.square(out)))
        ),
        "sin": rule_from_input(lambda b, grad, x: b.multiply(grad, b.cos(x))),
        "cos": rule_from_input(lambda b, grad, x: b.negative(b.multiply(grad, b.sin(x)))),
        "tanh": rule_from_output(
            lambda b, grad, out: b.multiply(grad, b.subtract(1, b.square(out)))
        ),
        "sinh": rule_from_input(lambda b, grad, x: b.multiply(grad, b.cosh(x))),
        "cosh": rule_from_input(lambda b, grad, x: b.multiply(grad, b.sinh(x))),
        "log2": _make_log_rule(2),
        "log10": _make_log_rule(10),
        "asin": rule_from_input(_asin_gradient),
        "acos": rule_from_input(lambda b, grad, x: b.negative(_asin_gradient(b, grad, x))),
        "atan": rule_from_input(lambda b, grad, x: b.divide(grad, b.add(b.square(x), 1.0))),
        "asinh": rule_from_input(
            lambda b, grad, x: b.multiply(grad, b.rsqrt(b.add(b.square(x), 1.0)))
        ),
        "acosh": rule_from_input(
            lambda b, grad, x: b.multiply(
                grad, b.multiply(b.rsqrt(b.subtract(x, 1.0)), b.rsqrt(b.add(x, 1.0)))
            )
        ),
        "atanh": rule_from_input(
            lambda b, grad, x: b.divide(grad, b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))
        ),
        "conj": Rule(keep.save_nothing, lambda b, _, grad, __: (b.conj(grad),)),
        "real": Rule(
            keep.save_input_spec, lambda b, saved, grad, _: (b.astype(grad, saved[1]),)
        ),
        "sign": _ZERO_RULE,
        "floor": _ZERO_RULE,
        "ceil": _ZERO_RULE,
        "round": _ZERO_RULE,
        "trunc": _ZERO_RULE,
        # Results of stop_gradient are not tracked.
        "stop_gradient": Rule(keep.save_nothing, zero_gradient, tracked=0),
    }
)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = dict.fromkeys(list_family("unary"), infer_broadcast)


# NumPy versions ------------------------------------------------------------------------


def numpy_reciprocal(x: Floats, out: Floats | None = None) -> Floats:
    """Return ``1 / x``."""
    x = to_floats(x)
    return np.divide(x.dtype.type(1), x, out=out)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {
    n: wrap_unary(n) for n in list_family("unary", "numpy") - {"reciprocal"}
}
