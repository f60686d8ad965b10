"""ONNX operators on elements, and reductions over axes."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from seqloom.errors import BackendError, OperationError
from seqloom.models._onnx._values import (
    RowPositions,
    as_tensor,
    fill_like,
    find_extreme,
    is_known,
    pad_axis,
    slice_axis,
    to_tensor,
)
from seqloom.tensor import Tensor, apply
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.models._onnx._values import OnnxCall, Operator


# Element types by the numbers that represent them in ONNX.
ONNX_DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
}
_find_limits: Any = ml_dtypes.finfo
_VARIADIC_OPERATORS = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _make_operator(name: str) -> Operator:
    """Create an ONNX operator from the seqloom operation with this name."""
    # Number of operands of the NumPy function with this name; 1 if there is no such
    # function.
    if getattr(getattr(np, name, None), "nin", 1) == 1:
        return lambda call: apply(name, call.tensor(0))
    return lambda call: apply(name, call.operand(0), call.operand(1))


def _make_variadic(name: str) -> Operator:
    """Create an ONNX operator with any number of operands."""

    def operate(call: OnnxCall) -> Any:
        operands = [call.operand(place) for place in range(len(call))]
        return (
            call.tensor(0) if len(operands) == 1 else reduce(partial(apply, name), operands)
        )

    return operate


def relu(call: OnnxCall) -> Tensor:
    """Compute max(x, 0)."""
    x = call.tensor(0)
    return apply("maximum", x, 0) if _are_integers(x) else apply("relu", x)


def add(call: OnnxCall) -> RowPositions | Tensor:
    """Add two operands; if they are record starts and positions, return a lazy sum."""
    return _find_row_positions(call) or apply("add", call.operand(0), call.operand(1))


def _find_row_positions(call: OnnxCall) -> RowPositions | None:
    """Return a lazy sum if the operands are record starts and positions; otherwise None."""
    # PyTorch exports ``x[arange(n), positions]`` as indices of the rows of all records.
    for one, other in ((0, 1), (1, 0)):
        begins, positions = call.value(one), call.value(other)
        if not is_known(begins) or not isinstance(positions, Tensor):
            continue
        is_whole = positions.ndim == 1 and positions.dtype.kind == "i"
        if is_whole and _is_arithmetic(begins, positions.shape):
            return RowPositions(positions, begins)
    return None


def _is_arithmetic(begins: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Return whether constants are 0, n, 2n, ..."""
    if begins.shape != shape or not len(begins):
        return False
    step = begins[-1] // max(len(begins) - 1, 1)
    return bool((begins == np.arange(len(begins)) * step).all())


def divide(call: OnnxCall) -> Tensor:
    """Divide; integer quotients are rounded towards 0."""
    one, other = call.operand(0), call.operand(1)
    if not _are_integers(one, other):
        return apply("divide", one, other)
    x, y = call.tensor(0), call.tensor(1)
    # Do not use absolute values, because the absolute value of the smallest integer
    # overflows.
    quotient, rest = apply("floor_divide", x, y), apply("remainder", x, y)
    return apply("where", _is_rounded_down(x, y, rest), quotient + 1, quotient)


def _is_rounded_down(x: Tensor, y: Tensor, rest: Tensor) -> Tensor:
    """Return a mask of quotients that floor division rounded away from 0."""
    differ = apply("not_equal", x < 0, y < 0)
    return apply("logical_and", differ, apply("not_equal", rest, 0))


def remainder(call: OnnxCall) -> Tensor:
    """Compute the remainder with the sign of the divisor, or of the dividend (fmod)."""
    if not call.attribute("fmod", 0):
        return apply("remainder", call.operand(0), call.operand(1))
    x, y = call.tensor(0), call.tensor(1)
    if _are_integers(x):
        rest = apply("remainder", x, y)
        return apply("where", _is_rounded_down(x, y, rest), rest - y, rest)
    return apply("remainder", abs(x), abs(y)) * apply("sign", x)


def _are_integers(*operands: Any) -> bool:
    """Return whether all operands are integers."""
    return all(
        it.dtype.kind in "iu" if isinstance(it, Tensor) else isinstance(it, int)
        for it in operands
    )


def power(call: OnnxCall) -> Tensor:
    """Compute a power in the element type of the base."""
    x, exponent = call.tensor(0), call.operand(1)
    if _are_integers(x) and not _are_integers(exponent):
        return _pow_to_float(x, exponent).astype(x.dtype)
    if isinstance(exponent, Tensor):
        exponent = exponent if exponent.dtype == x.dtype else exponent.astype(x.dtype)
        return apply("pow", x, exponent)
    if exponent == 2:  # noqa: PLR2004 - a square
        return apply("square", x)
    return apply("sqrt", x) if exponent == 0.5 else apply("pow", x, exponent)  # noqa: PLR2004


def _pow_to_float(x: Tensor, exponent: Any) -> Tensor:
    """Compute a power of integers in the widest float type."""
    if not isinstance(exponent, Tensor):
        exponent = float(exponent)
        if exponent.is_integer() and exponent >= 0:
            return apply("pow", x, int(exponent))
    try:
        wide = x.astype("float64")
    except BackendError:  # JAX may have no 64-bit types
        wide = x.astype("float32")
    if isinstance(exponent, Tensor):
        exponent = exponent.astype(wide.dtype)
    return apply("pow", wide, exponent)


def clip(call: OnnxCall) -> Tensor:
    """Clip values; in older files the limits are attributes."""
    x = call.tensor(0)
    low = call.operand(1) if call.has(1) else call.attribute("min")
    high = call.operand(2) if call.has(2) else call.attribute("max")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        x = x if low is None else apply("maximum", x, low)
        return x if high is None else apply("minimum", x, high)
    return x if low is None and high is None else apply("clip", x, low, high)


def select(call: OnnxCall) -> Tensor:
    """Select elements from two operands by a mask."""
    x, y = call.operand(1), call.operand(2)
    x = x if isinstance(y, Tensor) else call.tensor(1)
    return apply("where", call.tensor(0), x, y)


def cast(call: OnnxCall) -> Tensor:
    """Convert to another element type, or to the type of another tensor (CastLike)."""
    number = call.attribute("to")
    if call.node.operator == "CastLike":
        dtype = to_tensor(call.value(1)).dtype.name
    elif number in ONNX_DTYPES:
        dtype = ONNX_DTYPES[number]
    else:
        raise OperationError(f"has the element type {number}, which is not supported")
    x = call.tensor(0)
    if x.dtype.name == dtype:
        return x
    if dtype.startswith("float8") and call.attribute("saturate", 1):
        x = _saturate(x, dtype)
    return apply("not_equal", x, 0) if dtype == "bool" else x.astype(dtype)


def _saturate(x: Tensor, dtype: str) -> Tensor:
    """Clip values to the range of an 8-bit float type; NaN stays NaN."""
    most = float(_find_limits(dtype).max)
    wide = x if x.dtype.kind == "f" and x.dtype.itemsize > 1 else x.astype("float32")
    limited = apply("clip", wide, -most, most)
    if not dtype.endswith("fnuz"):
        return limited
    return apply("where", apply("isinf", wide), float("nan"), limited)


def is_infinite(call: OnnxCall) -> Tensor:
    """Return a mask of infinite values of one sign or both."""
    x = call.tensor(0)
    found = apply("isinf", x)
    if not call.attribute("detect_negative", 1):
        found = apply("logical_and", found, x > 0)
    if not call.attribute("detect_positive", 1):
        found = apply("logical_and", found, x < 0)
    return found


def dropout(call: OnnxCall) -> Any:
    """Return a dropout's input unchanged, as in evaluation, and a mask that is all true."""
    value = call.value(0)
    if not any(call.node.outputs[1:]):
        return value
    x = as_tensor(value, call.first)
    return value, apply("equal", x, x)


# Functions that are applied even if no axis is reduced; other reductions are then the
# identity.
_WITHOUT_AXES = {
    "ReduceL1": "abs",
    "ReduceL2": "abs",
    "ReduceLogSum": "log",
    "ReduceSumSquare": "square",
}
# Functions of each reduction, applied to each element, over the axes, and to the
# result.
_REDUCE: dict[str, tuple[str, ...]] = {
    "ReduceL1": ("abs", "sum", ""),
    "ReduceL2": ("square", "sum", "sqrt"),
    "ReduceLogSum": ("", "sum", "log"),
    "ReduceLogSumExp": ("", "logsumexp", ""),
    "ReduceMax": ("", "max", ""),
    "ReduceMean": ("", "mean", ""),
    "ReduceMin": ("", "min", ""),
    "ReduceProd": ("", "prod", ""),
    "ReduceSum": ("", "sum", ""),
    "ReduceSumSquare": ("square", "sum", ""),
}


def _make_reduction(operator: str) -> Operator:
    """Create an operator that reduces some or all axes."""

    def operate(call: OnnxCall) -> Tensor:
        x, axes = call.tensor(0), call.listed("axes", 1)
        if not axes and call.attribute("noop_with_empty_axes", 0):
            name = _WITHOUT_AXES.get(operator)
            return x if name is None else apply(name, x)
        chosen = range(x.ndim) if not axes else [call.axis(it, x.ndim) for it in axes]
        axis = chosen[0] if len(chosen) == 1 else tuple(chosen)
        options = {"axis": axis, "keepdims": bool(call.attribute("keepdims", 1))}
        is_extreme = operator in {"ReduceMax", "ReduceMin"}
        if is_extreme and not all(x.shape[it] for it in chosen):
            # The maximum of zero elements is the lowest number, the minimum is the
            # highest number.
            value = find_extreme(x.dtype, largest=operator == "ReduceMin")
            shape = apply("sum", x, **options).shape
            return fill_like(x, shape, np.asarray(value, x.dtype))
        before, name, after = _REDUCE[operator]
        found = apply(name, apply(before, x) if before else x, **options)
        found = apply(after, found) if after else found
        return found if found.dtype == x.dtype else found.astype(x.dtype)

    return operate


def _make_arg_search(name: str) -> Operator:
    """Create an operator that returns the index of the largest or smallest value."""

    def operate(call: OnnxCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attribute("axis", 0), x.ndim)
        keep = bool(call.attribute("keepdims", 1))
        if not call.attribute("select_last_index", 0):
            return apply(name, x, axis=axis, keepdims=keep)
        found = apply(name, apply("flip", x, axis=axis), axis=axis, keepdims=keep)
        return apply("negative", found) + (x.shape[axis] - 1)

    return operate


def cumulative_sum(call: OnnxCall) -> Tensor:
    """Compute the cumulative sum from either end, with or without the element itself."""
    x = call.tensor(0)
    axis = call.axis(call.integers(1, "axis")[0], x.ndim)
    is_reverse = bool(call.attribute("reverse", 0))
    x = apply("flip", x, axis=axis) if is_reverse else x
    if call.attribute("exclusive", 0) and x.shape[axis]:
        # Subtracting values from inclusive sums would give NaN after an infinite value.
        x = pad_axis(slice_axis(x, axis, slice(0, -1)), axis, (1, 0))
    found = apply("cumulative_sum", x, axis=axis)
    found = apply("flip", found, axis=axis) if is_reverse else found
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def top_k(call: OnnxCall) -> tuple[Tensor, Tensor]:
    """Return the k largest or smallest values and their indices."""
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), x.ndim)
    count = int(np.asarray(call.listed("k", 1)).ravel()[0])
    if call.attribute("largest", 1):
        return apply("topk", x, count, axis=axis)
    if not 0 <= count <= x.shape[axis]:
        call.fail(f"has k={count}, but axis {axis} of its input has length {x.shape[axis]}")
    # Do not negate the values, because the smallest integer has no negative.
    order = apply("argsort", apply("stop_gradient", x), axis=axis)
    places = slice_axis(order, axis, slice(0, count))
    return apply("take_along_axis", x, places, axis=axis), places


OPERATORS: dict[str, Operator] = {
    **{it.onnx: _make_operator(name) for name, it in OPERATIONS.items() if it.onnx},
    **{operator: _make_reduction(operator) for operator in _REDUCE},
    **{operator: _make_variadic(name) for operator, name in _VARIADIC_OPERATORS.items()},
    "Add": add,
    "ArgMax": _make_arg_search("argmax"),
    "ArgMin": _make_arg_search("argmin"),
    "Cast": cast,
    "CastLike": cast,
    "Clip": clip,
    "CumSum": cumulative_sum,
    "Div": divide,
    "Dropout": dropout,
    "Identity": lambda call: call.value(0),
    "IsInf": is_infinite,
    "Mean": lambda call: _make_variadic("add")(call) / len(call),
    "Mod": remainder,
    "Pow": power,
    "Relu": relu,
    "TopK": top_k,
    "Where": select,
}
