"""Convert elementwise operations and reductions to ONNX."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.export._onnx._builder import find_axes, get_option
from seqloom.export._size import Size
from seqloom.tensor._graph import Value
from seqloom.tensor._operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.export._onnx._builder import Builder, WriteOperation
    from seqloom.tensor._graph import Operation

    # Type of a function that computes a result from the names of its operands.
    Formula = Callable[[Builder, list[str], np.dtype[Any]], str]


# Operators that compute in the common dtype of their operands, which may differ from
# the dtype of the result.
_BOOL_OPERATORS = frozenset(
    {"Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"}
)


def operator_writer(kind: str) -> WriteOperation:
    """Return the writer of an ONNX operator that has the same operands as the operation."""

    def write(b: Builder, operation: Operation) -> list[str]:
        args = operation.args[:2]
        dtype = (
            common_dtype(args) if kind in _BOOL_OPERATORS else operation.outputs[0].dtype
        )
        return [b.node(kind, [b.get(arg, dtype) for arg in args])]

    return write


def common_dtype(args: tuple[Any, ...]) -> np.dtype[Any]:
    """Return the common dtype of operands, ignoring Python numbers."""
    kinds = [arg.dtype for arg in args if isinstance(arg, Value)]
    found = np.result_type(*kinds)
    numbers = [arg for arg in args if not isinstance(arg, (Value, Size))]
    is_wider = any(isinstance(it, float) for it in numbers) and found.kind in "biu"
    if is_wider:
        return np.dtype("float32")
    is_whole = found.kind == "b" and any(type(it) is int for it in numbers)
    return np.dtype("int64") if is_whole else found


def _write_not_equal(b: Builder, operation: Operation) -> list[str]:
    """Convert not_equal to the negation of equal."""
    return [b.node("Not", operator_writer("Equal")(b, operation))]


def _write_isfinite(b: Builder, operation: Operation) -> list[str]:
    """Convert isfinite to the negation of isinf or isnan."""
    x = b.get(operation.args[0])
    either = b.node("Or", [b.node("IsInf", [x]), b.node("IsNaN", [x])])
    return [b.node("Not", [either])]


def _write_logaddexp(b: Builder, operation: Operation) -> list[str]:
    """Convert logaddexp to the larger operand plus softplus of the negative difference."""
    dtype, (x, y) = operation.outputs[0].dtype, operation.args[:2]
    if not isinstance(y, Value) and y == 0:
        return [b.node("Softplus", [b.get(x, dtype)])]
    one, other = b.get(x, dtype), b.get(y, dtype)
    distance = b.node("Neg", [b.node("Abs", [b.node("Sub", [one, other])])])
    # The difference of equal operands must be 0, even if both are infinite.
    same = b.node("Equal", [one, other])
    distance = b.node("Where", [same, b.constant(0, dtype), distance])
    larger = b.node("Max", [one, other])
    return [b.node("Add", [larger, b.node("Softplus", [distance])])]


def _write_gelu(b: Builder, operation: Operation) -> list[str]:
    """Convert gelu to a formula with erf, as ONNX has no Gelu before version 20."""
    dtype = operation.outputs[0].dtype
    x = b.get(operation.args[0])
    share = b.node("Erf", [b.node("Mul", [x, b.constant(math.sqrt(0.5), dtype)])])
    share = b.node("Add", [share, b.constant(1, dtype)])
    return [b.node("Mul", [b.node("Mul", [x, share]), b.constant(0.5, dtype)])]


def _remainder(b: Builder, operands: list[str], dtype: np.dtype[Any]) -> str:
    """Compute a remainder with the sign of the divisor."""
    if dtype.kind in "iu":
        return b.node("Mod", operands)
    x, y = operands
    whole = b.node("Floor", [b.node("Div", [x, y])])
    return b.node("Sub", [x, b.node("Mul", [whole, y])])


def _floor_divide(b: Builder, operands: list[str], dtype: np.dtype[Any]) -> str:
    """Divide and round down."""
    if dtype.kind not in "iu":
        return b.node("Floor", [b.node("Div", operands)])
    x, y = operands
    return b.node("Div", [b.node("Sub", [x, b.node("Mod", [x, y])]), y])


def _formula_writer(formula: Formula) -> WriteOperation:
    """Return the writer of a formula, which casts operands to the dtype of the result."""

    def write(b: Builder, operation: Operation) -> list[str]:
        dtype = operation.outputs[0].dtype
        return [formula(b, [b.get(arg, dtype) for arg in operation.args[:2]], dtype)]

    return write


_FORMULAS: dict[str, Formula] = {
    "expm1": lambda b, x, dtype: b.node("Sub", [b.node("Exp", x), b.constant(1, dtype)]),
    "floor_divide": _floor_divide,
    "log1p": lambda b, x, dtype: b.node("Log", [b.node("Add", [*x, b.constant(1, dtype)])]),
    "remainder": _remainder,
    "square": lambda b, x, _: b.node("Mul", [*x, *x]),
}


def _write_where(b: Builder, operation: Operation) -> list[str]:
    """Convert where, with both values cast to the dtype of the result."""
    condition, *values = operation.args
    dtype = operation.outputs[0].dtype
    parts = [b.get(condition, "bool"), *(b.get(it, dtype) for it in values)]
    return [b.node("Where", parts)]


def _write_clip(b: Builder, operation: Operation) -> list[str]:
    """Convert clip, whose limits may be arrays."""
    x, *ends = operation.args
    dtype = operation.outputs[0].dtype
    named = operation.options
    least, most = (*ends, named.get("min"), named.get("max"))[:2]
    found = b.get(x, dtype)
    for kind, end in (("Max", least), ("Min", most)):
        found = found if end is None else b.node(kind, [found, b.get(end, dtype)])
    return [found]


def _write_astype(b: Builder, operation: Operation) -> list[str]:
    """Convert astype to a cast."""
    return [b.get(operation.args[0], operation.outputs[0].dtype)]


_ONNX_REDUCTIONS = {
    "max": "ReduceMax",
    "mean": "ReduceMean",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
    "logsumexp": "ReduceLogSumExp",
}


def _reduction_writer(kind: str) -> WriteOperation:
    """Return the writer of a reduction that computes in the dtype of its result."""

    def write(b: Builder, operation: Operation) -> list[str]:
        x = b.get(operation.args[0], operation.outputs[0].dtype)
        return [_write_reduce(b, operation, kind, x=x)]

    return write


def _write_reduce(b: Builder, operation: Operation, kind: str, *, x: str) -> str:
    """Reduce an array over the axes of the operation."""
    axes = find_axes(operation)
    inputs = [x, b.integers(axes)] if axes else [x]
    return b.node(kind, inputs, keepdims=_read_keepdims(operation))


def _read_keepdims(operation: Operation) -> int:
    return int(get_option(operation, "keepdims", 2, default=False))


def _write_var(b: Builder, operation: Operation) -> list[str]:
    """Convert var to the corrected mean of squared differences."""
    axes, dtype = find_axes(operation), operation.outputs[0].dtype
    x, correction = b.get(operation.args[0], dtype), operation.options.get("correction", 0)
    rows = [b.integers(axes)] if axes else []
    centred = b.node("Sub", [x, b.node("ReduceMean", [x, *rows], keepdims=1)])
    squares = b.node("Mul", [centred, centred])
    if not correction:
        return [_write_reduce(b, operation, "ReduceMean", x=squares)]
    sizes = b.dimensions(operation.args[0])
    counted = b.integers([sizes[axis] for axis in axes or range(len(sizes))])
    count = b.cast(b.node("ReduceProd", [counted], keepdims=0), dtype)
    less = b.node("Sub", [count, b.constant(correction, dtype)])
    return [b.node("Div", [_write_reduce(b, operation, "ReduceSum", x=squares), less])]


def _any_all_writer(kind: str) -> WriteOperation:
    """Return the writer of ``any`` (a maximum of 0 and 1) or ``all`` (a minimum)."""

    def write(b: Builder, operation: Operation) -> list[str]:
        number = b.cast(b.get(operation.args[0], "bool"), "int32")
        return [b.cast(_write_reduce(b, operation, kind, x=number), "bool")]

    return write


def _argmax_writer(kind: str) -> WriteOperation:
    """Return the writer of argmax or argmin along an axis."""

    def write(b: Builder, operation: Operation) -> list[str]:
        axis, x = get_option(operation, "axis", 1), b.get(operation.args[0])
        if axis is None:
            x, axis = b.node("Reshape", [x, b.integers([-1])]), 0
        return [b.node(kind, [x], axis=axis, keepdims=_read_keepdims(operation))]

    return write


def _write_cumulative_sum(b: Builder, operation: Operation) -> list[str]:
    """Convert cumulative_sum, with a leading 0 if requested."""
    axis = get_option(operation, "axis", 1) or 0
    dtype = operation.outputs[0].dtype
    x = b.get(operation.args[0], dtype)
    found = b.node("CumSum", [x, b.constant(axis, "int64")])
    if not get_option(operation, "include_initial", 3, default=False):
        return [found]
    count = len(operation.outputs[0].shape)
    pads = [int(at == axis % count) for at in range(count)] + [0] * count
    return [b.node("Pad", [found, b.integers(pads), b.constant(0, dtype)])]


def _softmax_writer(kind: str) -> WriteOperation:
    """Return the writer of softmax or log_softmax."""

    def write(b: Builder, operation: Operation) -> list[str]:
        axis = get_option(operation, "axis", 1, default=-1)
        return [b.node(kind, [b.get(operation.args[0])], axis=axis)]

    return write


ELEMENTWISE_WRITERS: dict[str, WriteOperation] = {
    **{name: operator_writer(it.onnx) for name, it in OPERATIONS.items() if it.onnx},
    **{name: _reduction_writer(kind) for name, kind in _ONNX_REDUCTIONS.items()},
    **{name: _formula_writer(formula) for name, formula in _FORMULAS.items()},
    "all": _any_all_writer("ReduceMin"),
    "any": _any_all_writer("ReduceMax"),
    "argmax": _argmax_writer("ArgMax"),
    "argmin": _argmax_writer("ArgMin"),
    "asarray": _write_astype,
    "astype": _write_astype,
    "clip": _write_clip,
    "cumulative_sum": _write_cumulative_sum,
    "gelu": _write_gelu,
    "isfinite": _write_isfinite,
    "log_softmax": _softmax_writer("LogSoftmax"),
    "logaddexp": _write_logaddexp,
    "not_equal": _write_not_equal,
    "softmax": _softmax_writer("Softmax"),
    "var": _write_var,
    "where": _write_where,
}
