"""Operators of ONNX that compute over axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.models._onnx._call import Call


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


def _make_reduction(reduce: Callable[..., Tensor]) -> Callable[[Call], Tensor]:
    """Makes an operator that computes over the axes that it names, or over all."""

    def operate(call: Call) -> Tensor:
        x, axes = call.tensor(0), call.listed("axes", 1)
        if not axes and call.attribute("noop_with_empty_axes", 0):
            return x
        chosen = range(x.ndim) if not axes else [call.axis(it, x.ndim) for it in axes]
        axis = chosen[0] if len(chosen) == 1 else tuple(chosen)
        options = {"axis": axis, "keepdims": bool(call.attribute("keepdims", 1))}
        found = reduce(x, **options)
        return found if found.dtype == x.dtype else found.astype(x.dtype)

    return operate


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
    found = apply("cumulative_sum", x, axis=axis)
    if call.attribute("exclusive", 0):
        found = found - x
    found = apply("flip", found, axis=axis) if is_reverse else found
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def top(call: Call) -> tuple[Tensor, Tensor]:
    """Finds the largest or the smallest values, and their places."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    count = int(np.asarray(call.listed("k", 1)).ravel()[0])
    if call.attribute("largest", 1):
        return apply("topk", x, count, axis=axis)
    values, places = apply("topk", apply("negative", x), count, axis=axis)
    return apply("negative", values), places


OPERATORS: dict[str, Callable[[Call], Any]] = {
    **{operator: _make_reduction(reduce) for operator, reduce in _REDUCE.items()},
    "ArgMax": _make_search("argmax"),
    "ArgMin": _make_search("argmin"),
    "CumSum": cumulative_sum,
    "TopK": top,
}
