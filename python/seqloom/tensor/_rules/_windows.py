"""Windows that slide: convolution, pooling, unfolding.

A convolution is linear in its input and in its weight, so its two gradients are linear
too, and each has the others as its own gradients: nothing is kept but the factors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._rule import ALL, Parts, Pull, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions

_ONE_AXIS = {"stride": 1, "padding": 0, "dilation": 1}
_TWO_AXES = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}


def _keep_factors(args: keep.Args, _out: Any, needs: keep.Needs, options: Any) -> Any:
    """The input if the weight is followed, the weight if the input is; shapes, options."""
    x, weight = args[:2]
    kept = x if needs[1] else None, weight if needs[0] else None
    return kept, (tuple(x.shape), tuple(weight.shape)), options


def _conv(name: str, geometry: dict[str, Any]) -> Rule:
    """The rule of a convolution."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
        (x, weight), (x_shape, weight_shape), options = saved
        options = {**geometry, **options}
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


def _input_grad(name: str) -> Rule:
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


def _weight_grad(name: str) -> Rule:
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


def _keep_places(args: keep.Args, out: Any, _needs: Any, _options: Any) -> Any:
    """Where each maximum stood, and the shape of the input."""
    return out[1], tuple(args[0].shape)


def _max_pool(name: str) -> Rule:
    """The rule of pooling by the largest: back to where it stood."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        return (getattr(b, f"{name}_grad")(grad, *saved),)

    return Rule(_keep_places, pull)


def _max_pool_grad(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """What stands at the places, which count within a row or a flattened plane."""
    places, _ = saved
    shape = tuple(places.shape)
    rows = b.reshape(grad, (*shape[:2], math.prod(grad.shape[2:])))
    flat = b.reshape(places, (*shape[:2], math.prod(shape[2:])))
    return (b.reshape(b.take_along_axis(rows, flat, axis=-1), shape),)


def _averages(name: str) -> Pull:
    """The rule of pooling by the mean."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        shape, _, options = saved
        options = {"padding": 0 if name.endswith("1d") else (0, 0), **options}
        return (getattr(b, f"{name}_grad")(grad, shape, **options),)

    return pull


def _averages_grad(name: str) -> Pull:
    """The rule of its gradient."""

    def pull(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
        _, options = saved
        return (getattr(b, name)(grad, **options),)

    return pull


def _unfold(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, _, options = saved
    return (b.fold(grad, shape=shape[2:], **options),)


def _fold(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    _, options = saved
    return (b.unfold(grad, **{key: options[key] for key in options if key != "shape"}),)


RULES: dict[str, Rule] = {
    "conv1d": _conv("conv1d", _ONE_AXIS),
    "conv1d_input_grad": _input_grad("conv1d"),
    "conv1d_weight_grad": _weight_grad("conv1d"),
    "conv2d": _conv("conv2d", _TWO_AXES),
    "conv2d_input_grad": _input_grad("conv2d"),
    "conv2d_weight_grad": _weight_grad("conv2d"),
    "max_pool1d": _max_pool("max_pool1d"),
    "max_pool1d_grad": Rule(keep.further, _max_pool_grad),
    "max_pool2d": _max_pool("max_pool2d"),
    "max_pool2d_grad": Rule(keep.further, _max_pool_grad),
    "avg_pool1d": Rule(keep.shape_and_options, _averages("avg_pool1d")),
    "avg_pool1d_grad": Rule(keep.further_and_options, _averages_grad("avg_pool1d")),
    "avg_pool2d": Rule(keep.shape_and_options, _averages("avg_pool2d")),
    "avg_pool2d_grad": Rule(keep.further_and_options, _averages_grad("avg_pool2d")),
    "unfold": Rule(keep.shape_and_options, _unfold),
    "fold": Rule(keep.further_and_options, _fold),
}
