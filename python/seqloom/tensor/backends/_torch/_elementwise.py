"""Elementwise functions, with the type promotion of the Array API standard."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.errors import DTypeError
from seqloom.tensor._backend import Backend
from seqloom.tensor._elements import is_out_of_range, require_in_dtype
from seqloom.tensor._families._products import require_bias
from seqloom.tensor.backends._torch._creation import to_numpy_type, to_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor.backends._torch._creation import Number

    Function = Callable[..., Tensor]
    Operand = Tensor | Number


_T = TypeVar("_T")
aten = torch.ops.aten
# Above this value, softplus(x) equals x to the last digit of float64.
_MIN_LINEAR_SOFTPLUS = 50.0
_MAX_INT8 = 127  # every dtype can represent 0 to 127

# fmt: off
_UNARY_FUNCTIONS = (
    torch.acos, torch.acosh, torch.asin, torch.asinh, torch.atan, torch.atanh, torch.ceil,
    torch.cos, torch.cosh, torch.erf, torch.erfc, torch.exp, torch.expm1, torch.floor,
    torch.isfinite, torch.isinf, torch.isnan, torch.log, torch.log10, torch.log1p,
    torch.log2, torch.logical_not, torch.negative, torch.positive, torch.real,
    torch.reciprocal, torch.relu, torch.rsqrt, torch.sigmoid, torch.signbit, torch.sin,
    torch.sinh, torch.sqrt, torch.square, torch.tan,
    torch.tanh, torch.trunc,
)
_BINARY_FUNCTIONS = (
    torch.add, torch.bitwise_and, torch.bitwise_left_shift, torch.bitwise_or,
    torch.bitwise_right_shift, torch.bitwise_xor, torch.multiply, torch.pow, torch.subtract,
)
# Functions that do not accept Python numbers.
_ARRAY_FUNCTIONS = (
    torch.atan2, torch.logical_and, torch.logical_or, torch.logical_xor, torch.maximum,
    torch.minimum,
)
# fmt: on
_FLOAT_FUNCTIONS = (torch.copysign, torch.hypot, torch.logaddexp, torch.nextafter)
_COMPARISON_FUNCTIONS = {
    "equal": (torch.eq, operator.eq),
    "greater": (torch.greater, operator.gt),
    "greater_equal": (torch.greater_equal, operator.ge),
    "less": (torch.less, operator.lt),
    "less_equal": (torch.less_equal, operator.le),
    "not_equal": (torch.not_equal, operator.ne),
}


def where(condition: Tensor, x: Operand, y: Operand) -> Tensor:
    """Return `x` where the condition is true, and `y` elsewhere."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        x, y = convert_operands(x, y)
    return torch.where(condition, x, y)


def abs_(x: Tensor) -> Tensor:
    """Return the absolute values."""
    return torch.abs(x) if x.dtype is not torch.bool else x


def sign(x: Tensor) -> Tensor:
    """Return the sign: -1, 0 or 1; for NaN, return NaN (torch would return 0)."""
    if x.dtype is torch.bool:
        raise DTypeError("sign does not accept booleans; convert them first with .astype")
    found = torch.sgn(x) if x.is_complex() else torch.sign(x)
    return torch.where(x.isnan(), x, found) if x.is_floating_point() else found


def divide(x: Operand, y: Operand) -> Tensor:
    """Return the quotient; integers are converted to floats."""
    if type(x) is int or type(y) is int:
        x, y = (
            to_floats(array) if isinstance(array, Tensor) else array for array in (x, y)
        )
    return _divide(x, y)


def floor_divide(x: Operand, y: Operand) -> Tensor:
    """Return the quotient rounded down; an integer divided by 0 is 0, as in NumPy."""
    return _divide_by_zero_safely(torch.floor_divide, x, y)


def remainder(x: Operand, y: Operand) -> Tensor:
    """Return the remainder of the floor division: 0 for an integer divided by 0."""
    found = _divide_by_zero_safely(torch.remainder, x, y)
    # torch returns +0 even for a negative y. copysign would break the gradient of x.
    plain = found.is_floating_point() and not found.requires_grad
    return torch.copysign(found, y) if plain else found


def round_(x: Tensor) -> Tensor:
    """Round to integers; for complex numbers, round the real and the imaginary part."""
    if not x.is_complex():
        return torch.round(x)
    return torch.complex(torch.round(x.real), torch.round(x.imag))


def imag(x: Tensor) -> Tensor:
    """Return the imaginary parts, which are zeros for real numbers."""
    return torch.imag(x) if x.is_complex() else torch.zeros_like(x)


def clip(
    x: Tensor,
    min: Operand | None = None,  # noqa: A002  # the standard's name
    max: Operand | None = None,  # noqa: A002  # the standard's name
) -> Tensor:
    """Limit the values to a range."""
    bounds: list[Any] = [min, max]
    if isinstance(min, Tensor) != isinstance(max, Tensor):
        bounds = [None if bound is None else to_array_like(x, bound) for bound in bounds]
    return x if min is None and max is None else torch.clamp(x, *bounds)


def _divide_by_zero_safely(function: Function, x: Any, y: Any) -> Tensor:
    """Divide two arrays; an integer divided by 0 is 0, where torch would raise an error."""
    x, y = wrap_binary(lambda *both: both)(x, y)
    if any(
        isinstance(it, float) or (isinstance(it, Tensor) and it.is_floating_point())
        for it in (x, y)
    ):
        return function(x, y)
    if not isinstance(y, Tensor):
        return function(x, y) if y else torch.zeros_like(x)
    none = y == 0
    found = function(x, torch.where(none, 1, y))
    return torch.where(none, 0, found)


def relu_grad(grad: Tensor, out: Tensor) -> Tensor:
    """Return the gradient of ``relu``, given the output of ``relu``."""
    return aten.threshold_backward(grad, out, 0)


def softplus(x: Tensor) -> Tensor:
    """Return ``log(1 + exp(x))``, without overflow."""
    return functional.softplus(x, threshold=_MIN_LINEAR_SOFTPLUS)


def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Return the softmax along an axis: exponentials, divided by their sum."""
    return torch.softmax(x, axis)


def softmax_grad(grad: Tensor, out: Tensor, *, axis: int = -1) -> Tensor:
    """Return the gradient of ``softmax``, given the output of ``softmax``."""
    return aten._softmax_backward_data(grad, out, axis, out.dtype)  # noqa: SLF001


def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Return the logarithm of ``softmax``."""
    return torch.log_softmax(x, axis)


def log_softmax_grad(grad: Tensor, out: Tensor, *, axis: int = -1) -> Tensor:
    """Return the gradient of ``log_softmax``, given the output of ``log_softmax``."""
    return aten._log_softmax_backward_data(grad, out, axis, out.dtype)  # noqa: SLF001


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x @ weight.T + bias``."""
    require_bias(weight, bias)
    return functional.linear(x, weight, bias)


# Type promotion of the Array API standard for binary functions
# ---------------------------


def convert_operands(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Convert two operands to arrays; Python numbers get the other operand's dtype."""
    if not isinstance(y, Tensor):
        return x, to_array_like(x, y)
    if not isinstance(x, Tensor):
        return to_array_like(y, x), y
    if x.dtype is not y.dtype and (x.ndim == 0) != (y.ndim == 0):
        common = torch.promote_types(x.dtype, y.dtype)
        return x.to(common), y.to(common)
    return x, y


def to_array_like(x: Tensor, value: Operand) -> Tensor:
    """Convert a number or another library's array to an array on the device of `x`."""
    if isinstance(value, complex):
        kind = x.dtype if x.is_complex() else to_floats(x.new_empty(0)).dtype.to_complex()
        return torch.full((), value, dtype=kind, device=x.device)
    if not isinstance(value, (int, float)):
        return torch.as_tensor(value, device=x.device)
    if _needs_range_check(value):
        require_in_dtype(value, to_numpy_type(x.dtype))
    strong = isinstance(value, float) and not x.dtype.is_floating_point
    dtype = torch.get_default_dtype() if strong else x.dtype
    return torch.full((), value, dtype=dtype, device=x.device)


def promote_arrays(arrays: Sequence[Tensor]) -> list[Tensor]:
    """Convert arrays to their common dtype."""
    dtype = arrays[0].dtype
    for array in arrays[1:]:
        dtype = torch.promote_types(dtype, array.dtype)
    return [array.to(dtype) for array in arrays]


def to_floats(x: Tensor) -> Tensor:
    """Convert integers and booleans to floats; return other arrays unchanged."""
    is_float = x.is_floating_point() or x.is_complex()
    return x if is_float else x.to(to_torch(Backend.float_dtype))


def wrap_binary(function: Callable[..., _T]) -> Callable[..., _T]:
    """Wrap a binary function to accept a Python number, whose range is checked."""

    def compute(x: Operand, y: Operand) -> _T:
        if isinstance(x, Tensor) and isinstance(y, (int, float)):
            if _needs_range_check(y):
                require_in_dtype(y, to_numpy_type(x.dtype))
            return function(x, y)
        return function(*convert_operands(x, y))

    return compute


def compare_any_number(function: Function, of_numbers: Callable[..., bool]) -> Function:
    """Wrap a comparison so that it accepts integers outside the range of the dtype."""
    plain = wrap_binary(function)

    def compute(x: Any, y: Any) -> Tensor:
        if _needs_range_check(y) and is_out_of_range(y, to_numpy_type(x.dtype)):
            return x.new_full(x.shape, of_numbers(0, y), dtype=torch.bool)
        if _needs_range_check(x) and is_out_of_range(x, to_numpy_type(y.dtype)):
            return y.new_full(y.shape, of_numbers(x, 0), dtype=torch.bool)
        return plain(x, y)

    return compute


def _needs_range_check(number: Operand) -> bool:
    """Return whether a number is an integer that some integer dtypes cannot represent."""
    return type(number) is int and not 0 <= number <= _MAX_INT8


def wrap_float_binary(function: Function) -> Function:
    """Wrap a binary function to convert integers to floats, and numbers to arrays."""

    def compute(x: Operand, y: Operand) -> Tensor:
        x, y = (
            to_floats(array) if isinstance(array, Tensor) else array for array in (x, y)
        )
        return function(*convert_operands(x, y))

    return compute


def wrap_array_binary(function: Function) -> Function:
    """Wrap a binary function to convert Python numbers to arrays."""

    def compute(x: Operand, y: Operand) -> Tensor:
        return function(*convert_operands(x, y))

    return compute


_divide = wrap_binary(torch.divide)
LIBRARY_FUNCTIONS = (
    {function.__name__: function for function in _UNARY_FUNCTIONS}
    | {"bitwise_invert": torch.bitwise_not, "conj": torch.conj_physical}
    | {"gelu": functional.gelu, "silu": functional.silu}
    | {"gelu_grad": aten.gelu_backward, "sigmoid_grad": aten.sigmoid_backward}
    | {"accumulate": Tensor.add_, "stop_gradient": Tensor.detach}
    | {function.__name__: wrap_binary(function) for function in _BINARY_FUNCTIONS}
    | {function.__name__: wrap_array_binary(function) for function in _ARRAY_FUNCTIONS}
    | {function.__name__: wrap_float_binary(function) for function in _FLOAT_FUNCTIONS}
    | {name: compare_any_number(*both) for name, both in _COMPARISON_FUNCTIONS.items()}
)
