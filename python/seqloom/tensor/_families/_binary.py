"""Elementwise functions of two or three arrays, with broadcasting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._elements import require_in_dtype
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import Floats, in_float32, write_out
from seqloom.tensor._families._numpy_functions import FLOAT32, promote_pair, wrap_binary
from seqloom.tensor._families._rule import (
    Backward,
    Parts,
    Rule,
    Save,
    ShapeRule,
    add_grad,
    fit_grad,
    infer_broadcast,
)
from seqloom.tensor._families._unary import zero_gradient
from seqloom.tensor._operations import list_family

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, ArgSpec, Factors, Needs, Options, Specs

    # Arguments: the backend, the gradient, both inputs and the output.
    Operand = Array | float
    Saved = tuple[Args, Array | None, Specs]
    GradientFormula = Callable[[Functions, Array, Array, Array, Array], Array]


# Default implementations ---------------------------------------------------------------


def accumulate(b: Functions, total: Array, more: Array) -> Array:
    """Return ``total + more``; the result may overwrite `total`."""
    return b.add(total, more)


def logical_xor(b: Functions, x: Array, y: Array) -> Array:
    """Return whether exactly one of two values is true."""
    return b.not_equal(x, y)


def hypot(b: Functions, x: Array, y: Array) -> Array:
    """Return ``sqrt(x * x + y * y)``, without overflow."""
    x, y = b.abs(x), b.abs(_as_array(b, x, y))
    most, least = b.maximum(x, y), b.minimum(x, y)
    ratio = b.divide(least, b.where(b.equal(most, 0), 1.0, most))
    found = b.multiply(most, b.sqrt(b.add(b.square(ratio), 1.0)))
    infinite = b.logical_or(b.isinf(x), b.isinf(y))
    return b.where(infinite, math.inf, found)


def copysign(b: Functions, x: Array, y: Array) -> Array:
    """Return the absolute value of `x` with the sign of `y`."""
    size, y = b.abs(x), _as_array(b, x, y)
    return b.where(b.signbit(y), b.negative(size), size)


def nextafter(b: Functions, x: Array, y: Array) -> Array:
    """Return the next representable number after `x` in the direction of `y`."""
    return b.asarray(np.nextafter(b.to_numpy(x), b.to_numpy(y)))


def _as_array(b: Functions, x: Array, y: Operand) -> Array:
    """Return an array unchanged; convert a number to an array with the dtype of `x`."""
    is_number = isinstance(y, (int, float))
    return b.full((), y, dtype=b.dtype(x)) if is_number else y


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


@add_grad(GRAD_RULES, "add", save=keep.save_two_specs)
def _grad_add(b: Functions, saved: Specs, grad: Array, _needs: Needs) -> Parts:
    left, right = saved
    return (
        fit_grad(b, grad, left) if left else None,
        fit_grad(b, grad, right) if right else None,
    )


@add_grad(GRAD_RULES, "subtract", save=keep.save_two_specs)
def _grad_subtract(b: Functions, saved: Specs, grad: Array, _needs: Needs) -> Parts:
    left, right = saved
    return (
        fit_grad(b, grad, left) if left else None,
        fit_grad(b, b.negative(grad), right) if right else None,
    )


@add_grad(GRAD_RULES, "multiply", save=keep.save_factors)
def _grad_multiply(b: Functions, saved: Factors, grad: Array, _needs: Needs) -> Parts:
    left, right, (left_like, right_like) = saved
    return (
        fit_grad(b, b.multiply(grad, right), left_like) if left_like else None,
        fit_grad(b, b.multiply(grad, left), right_like) if right_like else None,
    )


def _save_quotient(args: Args, out: Array, needs: Needs, options: Options) -> Any:
    """Save the divisor; save the quotient only if the divisor needs a gradient."""
    return args[1], out if needs[1] else None, keep.save_specs(args, out, needs, options)


@add_grad(GRAD_RULES, "divide", save=_save_quotient)
def _grad_divide(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    right, out, (left_like, right_like) = saved
    share = b.divide(grad, right)
    return (
        fit_grad(b, share, left_like) if left_like else None,
        fit_grad(b, b.negative(b.multiply(share, out)), right_like) if right_like else None,
    )


def _save_all(args: Args, out: Array, needs: Needs, options: Options) -> Saved:
    """Save the inputs, the output, and the shape and dtype of tracked inputs."""
    return args, out, keep.save_specs(args, out, needs, options)


def _save_inputs(args: Args, out: Array, needs: Needs, options: Options) -> Saved:
    """Save the inputs, and the shape and dtype of tracked inputs."""
    return args, None, keep.save_specs(args, out, needs, options)


def _save_power(args: Args, out: Array, needs: Needs, options: Options) -> Saved:
    """Save the inputs; save the power only if the exponent needs a gradient."""
    return args, out if needs[1] else None, keep.save_specs(args, out, needs, options)


def _make_binary_rule(save: Save[Saved], *slopes: GradientFormula) -> Rule:
    """Return the rule of a function of two inputs, with a gradient formula for each."""

    def backward(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
        args, out, likes = saved
        return [
            fit_grad(b, slope(b, grad, args[0], args[1], out), like) if like else None
            for slope, like in zip(slopes, likes, strict=True)
        ]

    return Rule(save, backward)


def _base_gradient(
    b: Functions, grad: Array, base: Array, exponent: Operand, _out: Array
) -> Array:
    # A Python number takes the dtype of the array.
    if isinstance(exponent, (int, float)):
        return b.multiply(grad, _power_slope(b, base, exponent))
    slope = b.multiply(b.pow(base, b.subtract(exponent, 1)), exponent)
    return b.where(b.equal(exponent, 0), 0.0, b.multiply(grad, slope))


def _power_slope(b: Functions, base: Array, exponent: float) -> Array:
    """Return the derivative of a power: ``exponent * base ** (exponent - 1)``."""
    if exponent == 0:
        return b.zeros(tuple(base.shape), dtype=base.dtype)
    raised = base if exponent == 2 else b.pow(base, exponent - 1)  # noqa: PLR2004
    return b.multiply(raised, exponent)


def _exponent_gradient(
    b: Functions, grad: Array, base: Operand, exponent: Operand, out: Array
) -> Array:
    """Return the gradient of the exponent; 0 for base 0 and a nonnegative exponent."""
    base = b.asarray(base, dtype=out.dtype) if isinstance(base, (int, float)) else base
    flat = b.logical_and(b.equal(base, 0), b.greater_equal(exponent, 0))
    growth = b.log(b.where(flat, 1.0, base))
    return b.multiply(grad, b.where(flat, 0.0, b.multiply(out, growth)))


def _divide_by_radius(b: Functions, grad: Array, part: Array, other: Array) -> Array:
    """Return the gradient times ``part / (part² + other²)``, or 0 where both are 0."""
    square = b.add(b.multiply(part, part), b.multiply(other, other))
    none = b.equal(square, 0)
    return b.where(none, 0.0, b.divide(b.multiply(grad, part), b.where(none, 1.0, square)))


def _make_choice_rule(left_loses: str, right_loses: str) -> Backward[Saved]:
    """Return the rule of maximum or minimum; equal inputs each get half the gradient."""
    # If either input is NaN, both inputs get the whole gradient, as in PyTorch.

    def backward(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
        (left, right), _, (left_like, right_like) = saved
        part = b.where(b.equal(left, right), b.multiply(grad, 0.5), grad)

        def route(loses: str, like: ArgSpec | None) -> Array | None:
            lost = getattr(b, loses)(left, right)
            return fit_grad(b, b.where(lost, 0.0, part), like) if like else None

        return route(left_loses, left_like), route(right_loses, right_like)

    return backward


def _save_condition(args: Args, out: Array, needs: Needs, options: Options) -> Any:
    """Save the condition, and the shape and dtype of tracked inputs."""
    return args[0], keep.save_specs(args, out, needs, options)


@add_grad(GRAD_RULES, "where", save=_save_condition)
def _grad_where(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    condition, (_, left, right) = saved
    return (
        None,
        fit_grad(b, b.where(condition, grad, 0.0), left) if left else None,
        fit_grad(b, b.where(condition, 0.0, grad), right) if right else None,
    )


@add_grad(GRAD_RULES, "clip", save=_save_inputs)
def _grad_clip(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
    (x, *bounds), _, likes = saved
    low, high = (*bounds, None, None)[:2]
    under = None if low is None else b.less(x, low)
    over = None if high is None else b.greater(x, high)
    free = grad
    for outside in (
        _is_outside(b, "greater", x, low, under),
        _is_outside(b, "less", x, high, over),
    ):
        free = free if outside is None else b.where(outside, 0.0, free)
    if low is not None and high is not None:
        # If the lower bound exceeds the upper bound, the upper bound applies.
        crossed = (
            b.asarray(low > high)
            if isinstance(low, (int, float)) and isinstance(high, (int, float))
            else b.greater(low, high)
        )
        under = b.logical_and(under, b.logical_not(crossed))
        over = b.logical_or(over, crossed)
    return [
        fit_grad(b, free if outside is None else b.where(outside, grad, 0.0), like)
        if like
        else None
        for outside, like in zip((None, under, over), likes, strict=False)
    ]


def _is_outside(b: Functions, inside: str, x: Array, bound: Any, outside: Any) -> Any:
    """Return the positions of `x` that ``clip`` replaces by the given bound.

    Values outside the bound are replaced. If the bound is a Python number, NaN and values
    equal to the bound are included.
    """
    is_number = isinstance(bound, (int, float))
    return b.logical_not(getattr(b, inside)(x, bound)) if is_number else outside


GRAD_RULES.update(
    {
        "remainder": _make_binary_rule(
            _save_inputs,
            lambda _b, grad, _x, _y, _: grad,
            lambda b, grad, x, y, _: b.negative(b.multiply(grad, b.floor(b.divide(x, y)))),
        ),
        "pow": _make_binary_rule(_save_power, _base_gradient, _exponent_gradient),
        "atan2": _make_binary_rule(
            _save_inputs,
            lambda b, grad, y, x, _: _divide_by_radius(b, grad, x, y),
            lambda b, grad, y, x, _: b.negative(_divide_by_radius(b, grad, y, x)),
        ),
        "logaddexp": _make_binary_rule(
            _save_inputs,
            # The output loses digits for large values, so the rule uses the inputs.
            lambda b, grad, x, y, _: b.multiply(grad, b.sigmoid(b.subtract(x, y))),
            lambda b, grad, x, y, _: b.multiply(grad, b.sigmoid(b.subtract(y, x))),
        ),
        "hypot": _make_binary_rule(
            _save_all,
            lambda b, grad, x, _, out: b.multiply(grad, b.divide(x, out)),
            lambda b, grad, _, y, out: b.multiply(grad, b.divide(y, out)),
        ),
        "copysign": _make_binary_rule(
            _save_all,
            lambda b, grad, x, _, out: b.multiply(grad, b.multiply(b.sign(x), b.sign(out))),
            lambda b, grad, _x, _y, _: b.zeros_like(grad),
        ),
        # ``nextafter`` is a step function, so its derivative is 0.
        "nextafter": Rule(keep.save_nothing, zero_gradient, tracked=0),
        "maximum": Rule(_save_inputs, _make_choice_rule("less", "greater")),
        "minimum": Rule(_save_inputs, _make_choice_rule("greater", "less")),
    }
)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = dict.fromkeys(
    list_family("binary") - {"accumulate"}, infer_broadcast
)


# NumPy versions ------------------------------------------------------------------------


def numpy_where(condition: Any, x: Any, y: Any, out: Floats | None = None) -> Floats:
    """Return `x` where the condition is true, and `y` elsewhere."""
    one, other = getattr(x, "dtype", None), getattr(y, "dtype", None)
    if one is not other:
        require_in_dtype(x, other)  # np.where would convert the number to an array.
        require_in_dtype(y, one)
        x, y = promote_pair(x, y)
    elif type(x) is float or type(y) is float:  # Both x and y are Python numbers.
        x, y = FLOAT32.type(x), FLOAT32.type(y)
    made: Any = cast("Any", np.where)(condition, x, y)
    return write_out(made, out)


def numpy_clip(
    x: Floats,
    min: Any = None,  # noqa: A002  # the standard's name
    max: Any = None,  # noqa: A002  # the standard's name
    out: Floats | None = None,
) -> Floats:
    """Return the values, limited to a range."""
    if x.dtype.kind == "V":  # The dtype is bfloat16.
        return in_float32(np.clip)(x, min, max, **({} if out is None else {"out": out}))
    for bound in (min, max):
        x = x if bound is None else promote_pair(x, bound)[0]
    min, max = (each if each is None else promote_pair(x, each)[1] for each in (min, max))  # noqa: A001
    return np.clip(x, min, max, out=out)


def numpy_accumulate(total: Floats, more: Floats) -> Floats:
    """Return ``total + more``, written into `total`."""
    # A NumPy sum over all axes is a scalar, which cannot be overwritten.
    into = total if isinstance(cast("Any", total), np.ndarray) else None
    return np.add(total, more, out=into)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {
    name: wrap_binary(name)
    for name in list_family("binary", "numpy") - {"where", "clip", "accumulate"}
}
