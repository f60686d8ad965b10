"""Sums and other figures over axes, in ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.export._onnx._arguments import axes_of, option

if TYPE_CHECKING:
    from seqloom.export._onnx._builder import Builder
    from seqloom.export._onnx._elementwise import Write
    from seqloom.tensor._graph import Operation

_REDUCTIONS = {
    "max": "ReduceMax",
    "mean": "ReduceMean",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
    "logsumexp": "ReduceLogSumExp",
}


def _write_reduction(kind: str) -> Write:
    """Makes the function of a reduction."""

    def write(b: Builder, operation: Operation) -> list[str]:
        return [_reduce(b, operation, kind)]

    return write


def _reduce(b: Builder, operation: Operation, kind: str) -> str:
    """Writes a reduction in the type of its result."""
    axes = axes_of(operation)
    inputs = [b.get(operation.args[0], operation.outputs[0].dtype)]
    inputs += [b.integers(axes)] if axes else []
    keep = int(option(operation, "keepdims", 2, default=False))
    return b.node(kind, inputs, keepdims=keep)


def _write_var(b: Builder, operation: Operation) -> list[str]:
    """Writes var: the mean of squared differences, corrected by the number of them."""
    axes, dtype = axes_of(operation), operation.outputs[0].dtype
    x, correction = b.get(operation.args[0], dtype), operation.options.get("correction", 0)
    rows = [b.integers(axes)] if axes else []
    centred = b.node("Sub", [x, b.node("ReduceMean", [x, *rows], keepdims=1)])
    squares = b.node("Mul", [centred, centred])
    keep = int(option(operation, "keepdims", 2, default=False))
    if not correction:
        return [b.node("ReduceMean", [squares, *rows], keepdims=keep)]
    sizes = b.dimensions(operation.args[0])
    counted = b.integers([sizes[axis] for axis in axes or range(len(sizes))])
    count = b.cast(b.node("ReduceProd", [counted], keepdims=0), dtype)
    less = b.node("Sub", [count, b.constant(correction, dtype)])
    return [b.node("Div", [b.node("ReduceSum", [squares, *rows], keepdims=keep), less])]


def _write_test(kind: str) -> Write:
    """Makes the function of any or all: the largest or smallest of 0 and 1."""

    def write(b: Builder, operation: Operation) -> list[str]:
        is_true = b.get(operation.args[0], "bool")
        number = b.cast(is_true, "int32")
        axes = axes_of(operation)
        inputs = [number, *([b.integers(axes)] if axes else [])]
        keep = int(option(operation, "keepdims", 2, default=False))
        return [b.cast(b.node(kind, inputs, keepdims=keep), "bool")]

    return write


def _write_arg(kind: str) -> Write:
    """Makes the function of argmax or argmin along an axis."""

    def write(b: Builder, operation: Operation) -> list[str]:
        axis, x = option(operation, "axis", 1), b.get(operation.args[0])
        if axis is None:
            x, axis = b.node("Reshape", [x, b.integers([-1])]), 0
        keep = int(option(operation, "keepdims", 2, default=False))
        return [b.node(kind, [x], axis=axis, keepdims=keep)]

    return write


def _write_cumulative_sum(b: Builder, operation: Operation) -> list[str]:
    """Writes cumulative_sum, perhaps with a first 0."""
    axis = option(operation, "axis", 1) or 0
    dtype = operation.outputs[0].dtype
    x = b.get(operation.args[0], dtype)
    found = b.node("CumSum", [x, b.constant(axis, "int64")])
    if not option(operation, "include_initial", 3, default=False):
        return [found]
    count = len(operation.outputs[0].shape)
    pads = [int(at == axis % count) for at in range(count)] + [0] * count
    return [b.node("Pad", [found, b.integers(pads), b.constant(0, dtype)])]


def _write_softmax(kind: str) -> Write:
    """Makes the function of a softmax or of its logarithm."""

    def write(b: Builder, operation: Operation) -> list[str]:
        return [
            b.node(
                kind,
                [b.get(operation.args[0])],
                axis=option(operation, "axis", 1, default=-1),
            )
        ]

    return write


TABLE: dict[str, Write] = {
    **{name: _write_reduction(kind) for name, kind in _REDUCTIONS.items()},
    "all": _write_test("ReduceMin"),
    "any": _write_test("ReduceMax"),
    "argmax": _write_arg("ArgMax"),
    "argmin": _write_arg("ArgMin"),
    "cumulative_sum": _write_cumulative_sum,
    "log_softmax": _write_softmax("LogSoftmax"),
    "softmax": _write_softmax("Softmax"),
    "var": _write_var,
}
