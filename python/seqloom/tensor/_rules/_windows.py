"""Windows that slide: convolution, pooling, unfolding, each for one axis or two.

A convolution is linear in its input and in its weight, so its two gradients are linear
too, and each has the others as its own gradients: only the factors are saved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._rule import ALL, Parts, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._defaults import Array, ArrayFunctions


def _keep_factors(args: keep.Args, _out: Any, needs: keep.Needs, options: Any) -> Any:
    """The input if the weight is tracked, the weight if the input is; shapes, options."""
    x, weight = args[:2]
    kept = x if needs[1] else None, weight if needs[0] else None
    return kept, (tuple(x.shape), tuple(weight.shape)), options


def _conv(name: str) -> Rule:
    """The rule of a convolution."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
        (x, weight), (x_shape, weight_shape), options = saved
        # Of the class: a level has all names of the backend that it is over.
        if needs[1] and (together := getattr(type(b), "conv_grads", None)):
            like = weight if needs[0] else weight_shape
            return _pull_together(together, (grad, x, like), needs, options)
        by_x = by_weight = by_bias = None
        if needs[0]:
            by_x = getattr(b, f"{name}_input_grad")(grad, weight, x_shape, **options)
        if needs[1]:
            weight_grad = getattr(b, f"{name}_weight_grad")
            by_weight, by_bias = weight_grad(x, grad, weight_shape, **options)
        elif needs[2:] and needs[2]:
            by_bias = b.sum(grad, axis=(0, *range(2, len(grad.shape))))
        return by_x, by_weight, by_bias

    return Rule(_keep_factors, pull)


def _pull_together(
    together: Callable[..., Any],
    arrays: tuple[Any, ...],
    needs: keep.Needs,
    options: dict[str, Any],
) -> Parts:
    """Computes the gradients that are needed in one call of the library."""
    wanted = (*needs, False)[:3]  # by input, weight and bias
    found = together(*arrays, wanted=wanted, **options)
    parts = iter(found if sum(wanted) > 1 else (found,))
    return tuple([next(parts) if is_wanted else None for is_wanted in wanted])


def _conv_input_grad(name: str) -> Rule:
    """The rule of a convolution's gradient by its input, of (gradient, weight, shape)."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
        (slope, weight), (_, weight_shape), options = saved
        by_slope = by_weight = None
        if needs[0]:
            by_slope = getattr(b, name)(grad, weight, None, **options)
        if needs[1]:
            weight_grad = getattr(b, f"{name}_weight_grad")
            by_weight = weight_grad(grad, slope, weight_shape, **options)[0]
        return by_slope, by_weight

    return Rule(_keep_factors, pull)


def _conv_weight_grad(name: str) -> Rule:
    """The rule of its gradients by weight and bias, of (input, gradient, shape)."""

    def pull(b: ArrayFunctions, saved: Any, grads: Any, needs: keep.Needs) -> Parts:
        (x, slope), (x_shape, slope_shape), options = saved
        by_weight, by_bias = grads
        by_x = by_slope = None
        if needs[0] and by_weight is not None:
            by_x = getattr(b, f"{name}_input_grad")(slope, by_weight, x_shape, **options)
        if needs[1] and by_weight is not None:
            by_slope = getattr(b, name)(x, by_weight, by_bias, **options)
        elif needs[1] and by_bias is not None:
            wide = b.reshape(by_bias, (-1, *(1,) * (len(slope_shape) - 2)))
            by_slope = b.broadcast_to(wide, slope_shape)
        return by_x, by_slope

    return Rule(_keep_factors, pull, tracked=ALL)


def _keep_indices(args: keep.Args, out: Any, _needs: Any, _options: Any) -> Any:
    """The index of each maximum, and the shape of the input."""
    return out[1], tuple(args[0].shape)


def _max_pool(name: str) -> Rule:
    """The rule of a max pool: gradients go back to the maxima."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        return (getattr(b, f"{name}_grad")(grad, *saved),)

    return Rule(_keep_indices, pull)


def _max_pool_grad(_name: str) -> Rule:
    """The rule of its gradient: the values at the indices, which count positions."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        indices, _ = saved
        shape = tuple(indices.shape)
        rows = b.reshape(grad, (*shape[:2], math.prod(grad.shape[2:])))
        flat = b.reshape(indices, (*shape[:2], math.prod(shape[2:])))
        return (b.reshape(b.take_along_axis(rows, flat, axis=-1), shape),)

    return Rule(keep.further, pull)


def _avg_pool(name: str) -> Rule:
    """The rule of a mean pool."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        shape, _, options = saved
        return (getattr(b, f"{name}_grad")(grad, shape, **options),)

    return Rule(keep.shape_and_options, pull)


def _avg_pool_grad(name: str) -> Rule:
    """The rule of its gradient, which is linear too."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        _, options = saved
        return (getattr(b, name)(grad, **options),)

    return Rule(keep.further_and_options, pull)


def _unfold(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, _, options = saved
    return (b.fold(grad, shape=shape[2:], **options),)


def _fold(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    _, options = saved
    return (b.unfold(grad, **{key: options[key] for key in options if key != "shape"}),)


def _of_each_rank(rule: Callable[[str], Rule], name: str, end: str = "") -> dict[str, Rule]:
    """Makes the rules of an operation along one axis and along two."""
    return {f"{name}{rank}d{end}": rule(f"{name}{rank}d") for rank in (1, 2)}


RULES: dict[str, Rule] = {
    **_of_each_rank(_conv, "conv"),
    **_of_each_rank(_conv_input_grad, "conv", "_input_grad"),
    **_of_each_rank(_conv_weight_grad, "conv", "_weight_grad"),
    **_of_each_rank(_max_pool, "max_pool"),
    **_of_each_rank(_max_pool_grad, "max_pool", "_grad"),
    **_of_each_rank(_avg_pool, "avg_pool"),
    **_of_each_rank(_avg_pool_grad, "avg_pool", "_grad"),
    "unfold": Rule(keep.shape_and_options, _unfold),
    "fold": Rule(keep.further_and_options, _fold),
}
