"""Operators of ONNX that compute over axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.models._onnx._values import fill_like, find_extreme
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call


_EXTREMES = frozenset({"ReduceMax", "ReduceMin"})


def _root_of_squares(x: Tensor, **options: Any) -> Tensor:
    """Computes the root of the sum of squares."""
    return apply("sqrt", _sum_of_squares(x, **options))


def _sum_of_squares(x: Tensor, **options: Any) -> Tensor:
    """Computes the sum of squares."""
    return apply("square", x).sum(**options)


def _sum_of_sizes(x: Tensor, **options: Any) -> Tensor:
    """Computes the sum of absolute values."""
    return abs(x).sum(**options)


def _log_of_sum(x: Tensor, **options: Any) -> Tensor:
    """Computes the logarithm of the sum."""
    return apply("log", x.sum(**options))


# What is computed of each number even where no axis is reduced; others leave it as it is.
_WITHOUT_AXES = {
    "ReduceL1": "abs",
    "ReduceL2": "abs",
    "ReduceLogSum": "log",
    "ReduceSumSquare": "square",
}
_REDUCE: dict[str, Callable[..., Tensor]] = {
    "ReduceL1": _sum_of_sizes,
    "ReduceL2": _root_of_squares,
    "ReduceLogSum": _log_of_sum,
    "ReduceLogSumExp": partial(apply, "logsumexp"),
    "ReduceMax": Tensor.max,
    "ReduceMean": Tensor.mean,
    "ReduceMin": Tensor.min,
    "ReduceProd": Tensor.prod,
    "ReduceSum": Tensor.sum,
    "ReduceSumSquare": _sum_of_squares,
}


def _make_reduction(operator: str) -> Callable[[Call], Tensor]:
    """Makes an operator that computes over the axes that it names, or over all."""

    def operate(call: Call) -> Tensor:
        x, axes = call.tensor(0), call.listed("axes", 1)
        if not axes and call.attribute("noop_with_empty_axes", 0):
            name = _WITHOUT_AXES.get(operator)
            return x if name is None else apply(name, x)
        chosen = range(x.ndim) if not axes else [call.axis(it, x.ndim) for it in axes]
        axis = chosen[0] if len(chosen) == 1 else tuple(chosen)
        options = {"axis": axis, "keepdims": bool(call.attribute("keepdims", 1))}
        if operator in _EXTREMES and not all(x.shape[it] for it in chosen):
            return _extreme_of_nothing(x, operator, **options)
        found = _REDUCE[operator](x, **options)
        return found if found.dtype == x.dtype else found.astype(x.dtype)

    return operate


def _extreme_of_nothing(x: Tensor, operator: str, **options: Any) -> Tensor:
    """Fills the result with the extreme that any number would replace."""
    shape = apply("sum", x, **options).shape
    value = find_extreme(x.dtype, largest=operator == "ReduceMin")
    return fill_like(x, shape, np.asarray(value, x.dtype))


def _make_search(name: str) -> Callable[[Call], Tensor]:
    """Makes an operator that finds the place of the largest or the smallest value."""

    def operate(call: Call) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attribute("axis", 0), x.ndim)
        keep = bool(call.attribute("keepdims", 1))
        if not call.attribute("select_last_index", 0):
            return apply(name, x, axis=axis, keepdims=keep)
        found = apply(name, apply("flip", x, axis=axis), axis=axis, keepdims=keep)
        return apply("negative", found) + (x.shape[axis] - 1)

    return operate


def cumulative_sum(call: Call) -> Tensor:
    """Computes the sum up to each position, from either end, with or without its value."""
    x = call.tensor(0)
    axis = call.axis(call.integers(1, "axis")[0], x.ndim)
    is_reverse = bool(call.attribute("reverse", 0))
    x = apply("flip", x, axis=axis) if is_reverse else x
    if call.attribute("exclusive", 0) and x.shape[axis]:
        # Sums minus values would be NaN behind an infinite value.
        before = [(0, 0)] * x.ndim
        before[axis] = (1, 0)
        x = apply("pad", x[(*(slice(None),) * axis, slice(0, -1))], tuple(before))
    found = apply("cumulative_sum", x, axis=axis)
    found = apply("flip", found, axis=axis) if is_reverse else found
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def top(call: Call) -> tuple[Tensor, Tensor]:
    """Finds the largest or the smallest values, and their places."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    count = int(np.asarray(call.listed("k", 1)).ravel()[0])
    if call.attribute("largest", 1):
        return apply("topk", x, count, axis=axis)
    if not 0 <= count <= x.shape[axis]:
        call.refuse(f"has k={count}, but axis {axis} of its input has {x.shape[axis]}")
    # The negatives of integers wrap around.
    order = apply("argsort", apply("stop_gradient", x), axis=axis)
    places = order[(*(slice(None),) * axis, slice(0, count))]
    return apply("take_along_axis", x, places, axis=axis), places


OPERATORS: dict[str, Callable[[Call], Any]] = {
    **{operator: _make_reduction(operator) for operator in _REDUCE},
    "ArgMax": _make_search("argmax"),
    "ArgMin": _make_search("argmin"),
    "CumSum": cumulative_sum,
    "TopK": top,
}
