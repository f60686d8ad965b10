"""Which operations a fused program can do, and in which type it computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from seqloom.tensor._graph import Operation

# fmt: off
# Named as the program's own operations are.
_FLOATS = frozenset({
    "negative", "abs", "sign", "square", "sqrt", "rsqrt", "reciprocal", "floor", "ceil",
    "round", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf", "sigmoid",
    "relu", "gelu", "silu", "softplus", "add", "subtract", "multiply", "divide", "pow",
    "remainder", "atan2", "maximum", "minimum", "relu_grad", "sigmoid_grad", "gelu_grad",
    "where", "clip", "astype",
})
_TRUTHS = frozenset({
    "isfinite", "isnan", "logical_not", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "logical_and", "logical_or",
})
_KNOWN = _FLOATS | _TRUTHS
_FOLDS = {"sum": "sum", "mean": "mean", "max": "max", "min": "min", "prod": "prod",
          "any": "max", "all": "min"}
# fmt: on
# In the machine's order of bytes. To ask a type for its name takes longer than to compare.
_TYPES = {np.dtype(name): name for name in ("float32", "float64")}
_FOLDABLE = frozenset(map(np.dtype, ("float32", "float64", "bool")))  # not many digits
_READABLE = _FOLDABLE | frozenset(map(np.dtype, ("int64", "int32", "uint32", "uint8")))

# A fold may keep so many places where it does not run along the last axes.
_KEPT = 65_536


def computed_in(operation: Operation) -> str | None:
    """The type in which a program does an elementwise operation; ``None``: it does not."""
    if operation.name not in _KNOWN or not _is_plain(operation):
        return None
    operands = [arg for arg in operation.args if isinstance(arg, Value)]
    if not all(value.dtype in _READABLE for value in operands):
        return None
    if operation.name in _FLOATS:
        return _if_float(operation.outputs[0].dtype)
    arrays = [value for value in operands if not value.weak and value.dtype != np.bool_]
    found = {value.dtype for value in arrays} or {np.dtype("float32")}
    return _if_float(found.pop()) if len(found) == 1 else None


def _is_plain(operation: Operation) -> bool:
    """Whether all arguments are arrays of numbers, or numbers, and nothing else is said."""
    if operation.name == "astype":
        return set(operation.options) <= {"copy"} and operation.args[0].dtype.kind in "fiub"
    kinds = (Value, int, float, np.integer, np.floating)
    if operation.name == "clip" and len(operation.args) != 3:  # noqa: PLR2004
        return False
    if operation.name == "where" and not _is_truth(operation.args[0]):
        return False
    return not operation.options and all(isinstance(arg, kinds) for arg in operation.args)


def _is_truth(arg: Any) -> bool:
    """Whether an argument is an array of truths."""
    return isinstance(arg, Value) and arg.dtype == np.bool_


def _if_float(dtype: np.dtype[Any]) -> str | None:
    """The name of a type in which programs compute."""
    return _TYPES.get(dtype)


def folded_as(operation: Operation) -> str | None:
    """The fold that a reduction is, where a program can do it beside its values."""
    if operation.name not in _FOLDS or not set(operation.options) <= {"axis", "keepdims"}:
        return None
    x = operation.args[0]
    if not isinstance(x, Value) or len(operation.args) > 1 or 0 in x.shape:
        return None
    foldable = _is_foldable(operation, x) and _is_cheap(operation)
    return _FOLDS[operation.name] if foldable else None


def _is_foldable(operation: Operation, x: Value) -> bool:
    """Whether a program computes in the type of what is folded, and of the result."""
    if x.dtype != operation.outputs[0].dtype:
        return False
    is_truth = operation.name in ("any", "all")
    return x.dtype in _FOLDABLE and (x.dtype == np.bool_) == is_truth


def _is_cheap(operation: Operation) -> bool:
    """Whether a fold runs along the last axes, or keeps few places."""
    x: Value = operation.args[0]
    axes = folded_axes(operation)
    outer = len(x.shape) - len(axes)
    kept = int(np.prod([size for at, size in enumerate(x.shape) if at not in axes]))
    size = int(np.prod(x.shape))
    return axes == tuple(range(outer, len(x.shape))) or (kept <= _KEPT and 4 * kept <= size)


def folded_axes(operation: Operation) -> tuple[int, ...]:
    """The axes that a reduction takes away, in order, from the first on."""
    rank = len(operation.args[0].shape)
    axis = operation.options.get("axis")
    if axis is None:
        return tuple(range(rank))
    axes = cast("tuple[int, ...]", axis if isinstance(axis, (tuple, list)) else (axis,))
    # A single number may be folded over the axis that it has not.
    return tuple(sorted(each % rank for each in axes)) if rank else ()
