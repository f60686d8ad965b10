"""Operators of ONNX that compute element by element."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import OperationError
from seqloom.models._onnx._values import RowPlaces, as_tensor, is_known
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.models._onnx._call import Call

# The numbers that ONNX has for element types.
DTYPES = {
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
}
_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Reciprocal": "reciprocal",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
_BINARY = {
    "And": "logical_and",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "multiply",
    "Or": "logical_or",
    "Sub": "subtract",
    "Xor": "logical_xor",
}
_SEVERAL = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _make_unary(name: str) -> Callable[[Call], Any]:
    """Makes an operator of one tensor."""
    return lambda call: apply(name, call.tensor(0))


def _make_binary(name: str) -> Callable[[Call], Any]:
    """Makes an operator of two operands."""
    return lambda call: apply(name, call.operand(0), call.operand(1))


def _make_several(name: str) -> Callable[[Call], Any]:
    """Makes an operator of any number of operands."""

    def operate(call: Call) -> Any:
        operands = [call.operand(place) for place in range(len(call))]
        return call.tensor(0) if len(operands) == 1 else reduce(_by(name), operands)

    return operate


def _by(name: str) -> Callable[[Any, Any], Any]:
    """Makes a function of two, of which one may be a number."""
    return lambda one, other: apply(name, one, other)


def add(call: Call) -> Any:
    """Adds; positions plus the beginnings of records stay apart."""
    return _row_places(call) or apply("add", call.operand(0), call.operand(1))


def _row_places(call: Call) -> RowPlaces | None:
    """Finds the sum of a position for each record and of where the records begin."""
    # torch exports ``x[arange(n), positions]`` as positions among all rows of all records.
    for one, other in ((0, 1), (1, 0)):
        begins, positions = call.value(one), call.value(other)
        if not is_known(begins) or not isinstance(positions, Tensor):
            continue
        is_whole = positions.ndim == 1 and positions.dtype.kind == "i"
        if is_whole and _is_regular(begins, positions.shape):
            return RowPlaces(positions, begins)
    return None


def _is_regular(begins: NDArray[Any], shape: tuple[int, ...]) -> bool:
    """Whether known numbers are 0, n, 2n ..."""
    if begins.shape != shape or not len(begins):
        return False
    step = begins[-1] // max(len(begins) - 1, 1)
    return bool((begins == np.arange(len(begins)) * step).all())


def divide(call: Call) -> Any:
    """Divides; integers are rounded towards 0."""
    one, other = call.operand(0), call.operand(1)
    if not _are_whole(one, other):
        return apply("divide", one, other)
    sign = apply("sign", call.tensor(0)) * apply("sign", call.tensor(1))
    return sign * apply("floor_divide", abs(call.tensor(0)), abs(call.tensor(1)))


def remainder(call: Call) -> Any:
    """Computes the remainder, with the sign of the divisor, or of the dividend (fmod)."""
    if not call.attribute("fmod", 0):
        return apply("remainder", call.operand(0), call.operand(1))
    x = call.tensor(0)
    return apply("remainder", abs(x), abs(call.tensor(1))) * apply("sign", x)


def _are_whole(*operands: Any) -> bool:
    """Whether operands are integers."""
    return all(
        it.dtype.kind in "iu" if isinstance(it, Tensor) else isinstance(it, int)
        for it in operands
    )


def power(call: Call) -> Any:
    """Raises to a power, in the type of the base."""
    x, exponent = call.tensor(0), call.operand(1)
    if isinstance(exponent, Tensor):
        exponent = exponent if exponent.dtype == x.dtype else exponent.astype(x.dtype)
        return apply("pow", x, exponent)
    if exponent == 2:  # noqa: PLR2004 - a square
        return apply("square", x)
    return apply("sqrt", x) if exponent == 0.5 else apply("pow", x, exponent)  # noqa: PLR2004


def mean(call: Call) -> Any:
    """Computes the mean of several tensors."""
    return _make_several("add")(call) / len(call)


def clip(call: Call) -> Any:
    """Limits values; older files have the limits as attributes."""
    x = call.tensor(0)
    low = call.operand(1) if call.has(1) else call.attribute("min")
    high = call.operand(2) if call.has(2) else call.attribute("max")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        x = x if low is None else apply("maximum", x, low)
        return x if high is None else apply("minimum", x, high)
    return x if low is None and high is None else apply("clip", x, low, high)


def choose(call: Call) -> Any:
    """Chooses from two operands."""
    x, y = call.operand(1), call.operand(2)
    x = x if isinstance(y, Tensor) else call.tensor(1)
    return apply("where", call.tensor(0), x, y)


def cast(call: Call) -> Any:
    """Changes the element type."""
    number = call.attribute("to")
    if number not in DTYPES:
        raise OperationError(f"makes the element type {number}, which is not supported")
    return _as_type(call.tensor(0), DTYPES[number])


def cast_like(call: Call) -> Any:
    """Changes the element type to that of another tensor."""
    return _as_type(call.tensor(0), call.value(1).dtype.name)


def _as_type(x: Tensor, dtype: str) -> Tensor:
    """Changes the element type; a truth says whether a number is not 0."""
    if x.dtype.name == dtype:
        return x
    return apply("not_equal", x, 0) if dtype == "bool" else x.astype(dtype)


def is_infinite(call: Call) -> Any:
    """Says which values are infinite, of one sign or of both."""
    x = call.tensor(0)
    found = apply("isinf", x)
    if not call.attribute("detect_negative", 1):
        found = apply("logical_and", found, x > 0)
    if not call.attribute("detect_positive", 1):
        found = apply("logical_and", found, x < 0)
    return found


def identity(call: Call) -> Any:
    """Gives the value as it is."""
    return call.value(0)


def dropout(call: Call) -> Any:
    """Gives the value as it is, as in evaluation; the mask is all true."""
    value = call.value(0)
    if not any(call.node.outputs[1:]):
        return value
    x = as_tensor(value, call.first)
    return value, apply("equal", x, x)


OPERATORS: dict[str, Callable[[Call], Any]] = {
    **{operator: _make_unary(name) for operator, name in _UNARY.items()},
    **{operator: _make_binary(name) for operator, name in _BINARY.items()},
    **{operator: _make_several(name) for operator, name in _SEVERAL.items()},
    "Add": add,
    "Cast": cast,
    "CastLike": cast_like,
    "Clip": clip,
    "Div": divide,
    "Dropout": dropout,
    "Identity": identity,
    "IsInf": is_infinite,
    "Mean": mean,
    "Mod": remainder,
    "Pow": power,
    "Where": choose,
}
