"""Element by element: torch's functions under the standard's names."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from seqloom.errors import DTypeError
from seqloom.tensor.backends._torch._operand import (
    binary,
    comparison,
    fraction,
    like,
    operands,
    strict_binary,
    to_floats,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

_ONE: dict[str, Function] = {
    "acos": torch.acos,
    "acosh": torch.acosh,
    "asin": torch.asin,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "atanh": torch.atanh,
    "bitwise_invert": torch.bitwise_not,
    "ceil": torch.ceil,
    "conj": torch.conj_physical,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "isfinite": torch.isfinite,
    "isinf": torch.isinf,
    "isnan": torch.isnan,
    "log": torch.log,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "logical_not": torch.logical_not,
    "negative": torch.negative,
    "positive": torch.positive,
    "real": torch.real,
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "signbit": torch.signbit,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
_TWO: dict[str, Function] = {
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_left_shift": torch.bitwise_left_shift,
    "bitwise_or": torch.bitwise_or,
    "bitwise_right_shift": torch.bitwise_right_shift,
    "bitwise_xor": torch.bitwise_xor,
    "multiply": torch.multiply,
    "pow": torch.pow,
    "subtract": torch.subtract,
}
_COMPARISONS: dict[str, tuple[Function, Function]] = {
    "equal": (torch.eq, operator.eq),
    "greater": (torch.greater, operator.gt),
    "greater_equal": (torch.greater_equal, operator.ge),
    "less": (torch.less, operator.lt),
    "less_equal": (torch.less_equal, operator.le),
    "not_equal": (torch.not_equal, operator.ne),
}
_TWO_ARRAYS: dict[str, Function] = {
    "atan2": torch.atan2,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}


_FRACTIONS: dict[str, Function] = {
    "copysign": torch.copysign,
    "hypot": torch.hypot,
    "logaddexp": torch.logaddexp,
    "nextafter": torch.nextafter,
}


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """`x` where the condition holds, `y` elsewhere."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        x, y = operands(x, y)
    return torch.where(condition, x, y)


def abs_(x: Tensor) -> Tensor:
    """The size of each value."""
    return torch.abs(x) if x.dtype is not torch.bool else x


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1; of NaN, where torch says 0, NaN."""
    if x.dtype is torch.bool:
        raise DTypeError("sign takes no truths; .astype them first")
    found = torch.sgn(x) if x.is_complex() else torch.sign(x)
    return torch.where(x.isnan(), x, found) if x.is_floating_point() else found


def divide(x: Any, y: Any) -> Tensor:
    """The quotient; of integers, a fraction."""
    if type(x) is int or type(y) is int:
        x, y = (
            to_floats(array) if isinstance(array, Tensor) else array for array in (x, y)
        )
    return _divide(x, y)


def floor_divide(x: Any, y: Any) -> Tensor:
    """The quotient rounded down; of integers by 0 it is 0, as NumPy's."""
    return _whole_by_0(torch.floor_divide, x, y)


def remainder(x: Any, y: Any) -> Tensor:
    """What `floor_divide` leaves, with y's sign; of integers by 0 it is 0."""
    found = _whole_by_0(torch.remainder, x, y)
    # torch's 0 is +0 beside a negative y too; copysign has no slope there.
    plain = found.is_floating_point() and not found.requires_grad
    return torch.copysign(found, y) if plain else found


def round_(x: Tensor) -> Tensor:
    """The nearest integer; of complex numbers, of each part."""
    if not x.is_complex():
        return torch.round(x)
    return torch.complex(torch.round(x.real), torch.round(x.imag))


def imag(x: Tensor) -> Tensor:
    """The imaginary parts; of real numbers, zeros."""
    return torch.imag(x) if x.is_complex() else torch.zeros_like(x)


def clip(
    x: Tensor,
    min: Any = None,  # noqa: A002  # the standard's name
    max: Any = None,  # noqa: A002  # the standard's name
) -> Tensor:
    """Values held between two bounds."""
    bounds = [min, max]
    if isinstance(min, Tensor) != isinstance(max, Tensor):
        bounds = [None if bound is None else like(x, bound) for bound in bounds]
    return x if min is None and max is None else torch.clamp(x, *bounds)


_divide = binary(torch.divide)


def _whole_by_0(function: Function, x: Any, y: Any) -> Tensor:
    """A division that torch refuses where integers are divided by 0."""
    x, y = binary(lambda *both: both)(x, y)
    if any(isinstance(array, float) or _is_float(array) for array in (x, y)):
        return function(x, y)
    if not isinstance(y, Tensor):
        return function(x, y) if y else torch.zeros_like(x)
    none = y == 0
    found = function(x, torch.where(none, 1, y))
    return torch.where(none, 0, found)


def _is_float(x: Any) -> bool:
    """Whether it is an array of floats."""
    return isinstance(x, Tensor) and x.is_floating_point()


LIBRARY = (
    _ONE
    | {name: binary(function) for name, function in _TWO.items()}
    | {name: strict_binary(function) for name, function in _TWO_ARRAYS.items()}
    | {name: fraction(function) for name, function in _FRACTIONS.items()}
    | {name: comparison(*both) for name, both in _COMPARISONS.items()}
)
