"""Functions of one array, number by number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._rule import Parts, Rule, by_input, by_output

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions

_ERF_SLOPE = 2 / math.sqrt(math.pi)


def _sqrt(b: ArrayFunctions, grad: Array, out: Array) -> Array:
    return b.divide(b.multiply(grad, 0.5), out)


def _rsqrt(b: ArrayFunctions, grad: Array, out: Array) -> Array:
    cube = b.multiply(out, b.square(out))
    return b.multiply(grad, b.multiply(cube, -0.5))


def _reciprocal(b: ArrayFunctions, grad: Array, out: Array) -> Array:
    return b.negative(b.multiply(grad, b.square(out)))


def _tanh(b: ArrayFunctions, grad: Array, out: Array) -> Array:
    return b.multiply(grad, b.subtract(1, b.square(out)))


def _erf(b: ArrayFunctions, grad: Array, x: Array) -> Array:
    bell = b.exp(b.negative(b.square(x)))
    return b.multiply(grad, b.multiply(bell, _ERF_SLOPE))


def _silu(b: ArrayFunctions, grad: Array, x: Array) -> Array:
    gate = b.sigmoid(x)
    rest = b.multiply(x, b.subtract(1, gate))
    return b.multiply(grad, b.multiply(gate, b.add(rest, 1)))


def _flat(b: ArrayFunctions, saved: Any, _grad: Array, _needs: keep.Needs) -> Parts:
    """A function of steps: zero wherever it has a derivative."""
    shape, dtype = saved
    return (b.zeros(tuple(shape), dtype=dtype),)


def _astype(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    before, after = saved
    steps = b.isdtype(after, ("bool", "integral"))
    return (None if steps else b.astype(grad, before),)


def _keep_types(args: keep.Args, out: Any, _needs: Any, _options: Any) -> Any:
    """The element types before and after."""
    return args[0].dtype, out.dtype


def _relu_grad(b: ArrayFunctions, out: Array, grad: Array, _needs: keep.Needs) -> Parts:
    return (b.relu_grad(grad, out),)


def _keep_second(args: keep.Args, _out: Any, _needs: Any, _options: Any) -> Any:
    """The second input."""
    return args[1]


def _sigmoid_grad(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    slope, out = saved
    by_slope = b.sigmoid_grad(grad, out) if needs[0] else None
    if not needs[1]:
        return (by_slope,)
    bend = b.subtract(1, b.multiply(out, 2))
    return by_slope, b.multiply(b.multiply(grad, slope), bend)


def _asin(b: ArrayFunctions, grad: Array, x: Array) -> Array:
    left = b.multiply(b.subtract(1.0, x), b.add(x, 1.0))
    return b.multiply(grad, b.rsqrt(left))


def _acosh(b: ArrayFunctions, grad: Array, x: Array) -> Array:
    both = b.multiply(b.rsqrt(b.subtract(x, 1.0)), b.rsqrt(b.add(x, 1.0)))
    return b.multiply(grad, both)


def _atanh(b: ArrayFunctions, grad: Array, x: Array) -> Array:
    return b.divide(grad, b.multiply(b.subtract(1.0, x), b.add(x, 1.0)))


def _logarithm(base: float) -> Rule:
    """The rule of a logarithm to another base."""
    return by_input(lambda b, grad, x: b.divide(grad, b.multiply(x, math.log(base))))


def _real(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    _, dtype = saved
    return (b.astype(grad, dtype),)


def _imag(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, dtype = saved
    if b.isdtype(dtype, "real floating"):
        return (b.zeros(tuple(shape), dtype=dtype),)
    return (b.multiply(b.astype(grad, dtype), b.asarray(1j, dtype=dtype)),)


_FLAT = Rule(keep.first_like, _flat)

RULES: dict[str, Rule] = {
    "negative": Rule(keep.nothing, lambda b, _, grad, __: (b.negative(grad),)),
    "abs": by_input(lambda b, grad, x: b.multiply(grad, b.sign(x))),
    "exp": by_output(lambda b, grad, out: b.multiply(grad, out)),
    # Of its output, which is -1 soon, the digits of a small slope could not be had.
    "expm1": by_input(lambda b, grad, x: b.multiply(grad, b.exp(x))),
    "log": by_input(lambda b, grad, x: b.divide(grad, x)),
    "log1p": by_input(lambda b, grad, x: b.divide(grad, b.add(x, 1))),
    "sqrt": by_output(_sqrt),
    "rsqrt": by_output(_rsqrt),
    "square": by_input(lambda b, grad, x: b.multiply(b.multiply(grad, 2), x)),
    "reciprocal": by_output(_reciprocal),
    "sin": by_input(lambda b, grad, x: b.multiply(grad, b.cos(x))),
    "cos": by_input(lambda b, grad, x: b.negative(b.multiply(grad, b.sin(x)))),
    "tanh": by_output(_tanh),
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
    "acosh": by_input(_acosh),
    "atanh": by_input(_atanh),
    "conj": Rule(keep.nothing, lambda b, _, grad, __: (b.conj(grad),)),
    "real": Rule(keep.first_like, _real),
    "imag": Rule(keep.first_like, _imag),
    "sign": _FLAT,
    "floor": _FLAT,
    "ceil": _FLAT,
    "round": _FLAT,
    "trunc": _FLAT,
    # A step that nothing smooth leads to.
    "nextafter": Rule(keep.nothing, _flat, tracked=0),
    "erf": by_input(_erf),
    "erfc": by_input(lambda b, grad, x: b.negative(_erf(b, grad, x))),
    "sigmoid": by_output(lambda b, grad, out: b.sigmoid_grad(grad, out)),
    "sigmoid_grad": Rule(keep.inputs, _sigmoid_grad),
    "relu": by_output(lambda b, grad, out: b.relu_grad(grad, out)),
    "relu_grad": Rule(_keep_second, _relu_grad),
    "gelu": by_input(lambda b, grad, x: b.gelu_grad(grad, x)),
    "silu": by_input(_silu),
    "softplus": by_input(lambda b, grad, x: b.multiply(grad, b.sigmoid(x))),
    "astype": Rule(_keep_types, _astype),
    # Its result is followed by nobody.
    "stop_gradient": Rule(keep.nothing, _flat, tracked=0),
}
