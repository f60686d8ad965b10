"""Functions of two or three arrays, number by number, with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import as_input
from seqloom.tensor._rules._rule import Parts, Pull, Rule, Save

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._defaults import Array, ArrayFunctions

    # Of the backend, the gradient, both inputs and the output.
    Slope = Callable[[ArrayFunctions, Array, Any, Any, Any], Array]


def _add(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    left, right = saved
    return (
        as_input(b, grad, left) if left else None,
        as_input(b, grad, right) if right else None,
    )


def _subtract(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    left, right = saved
    return (
        as_input(b, grad, left) if left else None,
        as_input(b, b.negative(grad), right) if right else None,
    )


def _multiply(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    left, right, (left_like, right_like) = saved
    return (
        as_input(b, b.multiply(grad, right), left_like) if left_like else None,
        as_input(b, b.multiply(grad, left), right_like) if right_like else None,
    )


def _keep_quotient(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """The divisor; the quotient only where the divisor is followed."""
    return args[1], out if needs[1] else None, keep.likes(args, out, needs, options)


def _divide(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    right, out, (left_like, right_like) = saved
    share = b.divide(grad, right)
    return (
        as_input(b, share, left_like) if left_like else None,
        as_input(b, b.negative(b.multiply(share, out)), right_like) if right_like else None,
    )


def _keep_pair(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """The inputs, the output and what the followed inputs look like."""
    return args, out, keep.likes(args, out, needs, options)


def _keep_inputs(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """The inputs and what the followed ones look like."""
    return args, None, keep.likes(args, out, needs, options)


def _keep_power(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """The inputs; the power only where the exponent is followed."""
    return args, out if needs[1] else None, keep.likes(args, out, needs, options)


def _by_slopes(save: Save, *slopes: Slope) -> Rule:
    """The rule of a function whose derivative by each input is a factor."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        args, out, likes = saved
        return [
            as_input(b, slope(b, grad, args[0], args[1], out), like) if like else None
            for slope, like in zip(slopes, likes, strict=True)
        ]

    return Rule(save, pull)


def _power_by_base(
    b: ArrayFunctions, grad: Array, base: Any, exponent: Any, _out: Any
) -> Array:
    if isinstance(exponent, (int, float)):  # stays a number: it takes the array's type
        return b.multiply(grad, _slope_of_power(b, base, exponent))
    slope = b.multiply(b.pow(base, b.subtract(exponent, 1)), exponent)
    return b.where(b.equal(exponent, 0), 0.0, b.multiply(grad, slope))


def _slope_of_power(b: ArrayFunctions, base: Array, exponent: float) -> Array:
    """``exponent * base ** (exponent - 1)`` for a number as the exponent."""
    if exponent == 0:
        return b.zeros(tuple(base.shape), dtype=base.dtype)
    raised = base if exponent == 2 else b.pow(base, exponent - 1)  # noqa: PLR2004
    return b.multiply(raised, exponent)


def _power_by_exponent(
    b: ArrayFunctions, grad: Array, base: Any, exponent: Any, out: Any
) -> Array:
    """Of 0 to an exponent from 0 on, 0; to one below it, an infinity, as the power is."""
    base = b.asarray(base, dtype=out.dtype) if isinstance(base, (int, float)) else base
    flat = b.logical_and(b.equal(base, 0), b.greater_equal(exponent, 0))
    growth = b.log(b.where(flat, 1.0, base))
    return b.multiply(grad, b.where(flat, 0.0, b.multiply(out, growth)))


def _remainder(_b: ArrayFunctions, grad: Array, _x: Any, _y: Any, _out: Any) -> Array:
    return grad


def _remainder_by_divisor(
    b: ArrayFunctions, grad: Array, x: Any, y: Any, _out: Any
) -> Array:
    return b.negative(b.multiply(grad, b.floor(b.divide(x, y))))


def _atan2_by_y(b: ArrayFunctions, grad: Array, y: Any, x: Any, _out: Any) -> Array:
    return _over_square_of_radius(b, grad, x, y)


def _atan2_by_x(b: ArrayFunctions, grad: Array, y: Any, x: Any, _out: Any) -> Array:
    return b.negative(_over_square_of_radius(b, grad, y, x))


def _over_square_of_radius(b: ArrayFunctions, grad: Array, part: Any, other: Any) -> Array:
    """The gradient times ``part / (part² + other²)``; 0 where both are 0, as torch's."""
    square = b.add(b.multiply(part, part), b.multiply(other, other))
    none = b.equal(square, 0)
    return b.where(none, 0.0, b.divide(b.multiply(grad, part), b.where(none, 1.0, square)))


def _sign_put_on(b: ArrayFunctions, grad: Array, x: Any, _y: Any, out: Any) -> Array:
    signs = b.multiply(b.sign(x), b.sign(out))
    return b.multiply(grad, signs)


def _nothing(b: ArrayFunctions, grad: Array, _x: Any, _y: Any, _out: Any) -> Array:
    return b.zeros_like(grad)


def _rule_of_choice(left_loses: str, right_loses: str) -> Pull:
    """The rule of maximum and minimum: to the chosen input, to equal ones half each."""
    # Where one of them is NaN neither loses, and both get all of it, as torch's do.

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        (left, right), _, (left_like, right_like) = saved
        part = b.where(b.equal(left, right), b.multiply(grad, 0.5), grad)

        def of(loses: str, like: Any) -> Array | None:
            lost = getattr(b, loses)(left, right)
            return as_input(b, b.where(lost, 0.0, part), like) if like else None

        return of(left_loses, left_like), of(right_loses, right_like)

    return pull


def _keep_condition(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """The condition alone, as truth values."""
    return args[0], keep.likes(args, out, needs, options)


def _where(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    condition, (_, left, right) = saved
    return (
        None,
        as_input(b, b.where(condition, grad, 0.0), left) if left else None,
        as_input(b, b.where(condition, 0.0, grad), right) if right else None,
    )


def _clip(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, *bounds), _, likes = saved
    low, high = (*bounds, None, None)[:2]
    under = None if low is None else b.less(x, low)
    over = None if high is None else b.greater(x, high)
    free = grad
    for outside in (
        _is_fixed(b, "greater", x, low, under),
        _is_fixed(b, "less", x, high, over),
    ):
        free = free if outside is None else b.where(outside, 0.0, free)
    if low is not None and high is not None:
        crossed = _are_crossed(b, low, high)  # the upper bound wins
        under = b.logical_and(under, b.logical_not(crossed))
        over = b.logical_or(over, crossed)
    return [
        as_input(b, free if outside is None else b.where(outside, grad, 0.0), like)
        if like
        else None
        for outside, like in zip((None, under, over), likes, strict=False)
    ]


def _is_fixed(b: ArrayFunctions, inside: str, x: Array, bound: Any, outside: Any) -> Any:
    """Where x does not move the result: beyond a bound; of a number, at it and at NaN."""
    is_number = isinstance(bound, (int, float))
    return b.logical_not(getattr(b, inside)(x, bound)) if is_number else outside


def _are_crossed(b: ArrayFunctions, low: Any, high: Any) -> Array:
    """Where the lower bound lies above the upper one."""
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        return b.asarray(low > high)
    return b.greater(low, high)


RULES: dict[str, Rule] = {
    "add": Rule(keep.likes_of_two, _add),
    "subtract": Rule(keep.likes_of_two, _subtract),
    "multiply": Rule(keep.partners, _multiply),
    "divide": Rule(_keep_quotient, _divide),
    "remainder": _by_slopes(_keep_inputs, _remainder, _remainder_by_divisor),
    "pow": _by_slopes(_keep_power, _power_by_base, _power_by_exponent),
    "atan2": _by_slopes(_keep_inputs, _atan2_by_y, _atan2_by_x),
    "logaddexp": _by_slopes(
        _keep_inputs,
        # Of the inputs: the output has lost the digits that tell large ones apart.
        lambda b, grad, x, y, _: b.multiply(grad, b.sigmoid(b.subtract(x, y))),
        lambda b, grad, x, y, _: b.multiply(grad, b.sigmoid(b.subtract(y, x))),
    ),
    "hypot": _by_slopes(
        _keep_pair,
        lambda b, grad, x, _, out: b.multiply(grad, b.divide(x, out)),
        lambda b, grad, _, y, out: b.multiply(grad, b.divide(y, out)),
    ),
    "copysign": _by_slopes(_keep_pair, _sign_put_on, _nothing),
    "maximum": Rule(_keep_inputs, _rule_of_choice("less", "greater")),
    "minimum": Rule(_keep_inputs, _rule_of_choice("greater", "less")),
    "where": Rule(_keep_condition, _where),
    "clip": Rule(_keep_inputs, _clip),
}
