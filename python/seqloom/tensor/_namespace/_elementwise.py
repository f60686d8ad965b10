"""Functions of the standard that work number by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._dispatch import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._tensor import Tensor


def _of_one(name: str) -> Any:
    """The function of that name of one tensor."""

    def call(x: Tensor, /) -> Tensor:
        return apply(name, x)

    return _named(call, name)


def _of_two(name: str) -> Any:
    """The function of that name of two tensors, or of a tensor and a number."""

    def call(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        return apply(name, x1, x2)

    return _named(call, name)


def _named(call: Callable[..., Tensor], name: str) -> Any:
    """A function under the standard's name."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The Array API standard's ``{name}``."
    return staticmethod(call)


class Elementwise:
    """Functions of one tensor, of two, and choosing."""

    abs = _of_one("abs")
    acos = _of_one("acos")
    acosh = _of_one("acosh")
    asin = _of_one("asin")
    asinh = _of_one("asinh")
    atan = _of_one("atan")
    atanh = _of_one("atanh")
    bitwise_invert = _of_one("bitwise_invert")
    ceil = _of_one("ceil")
    conj = _of_one("conj")
    cos = _of_one("cos")
    cosh = _of_one("cosh")
    exp = _of_one("exp")
    expm1 = _of_one("expm1")
    floor = _of_one("floor")
    imag = _of_one("imag")
    isfinite = _of_one("isfinite")
    isinf = _of_one("isinf")
    isnan = _of_one("isnan")
    log = _of_one("log")
    log10 = _of_one("log10")
    log1p = _of_one("log1p")
    log2 = _of_one("log2")
    logical_not = _of_one("logical_not")
    negative = _of_one("negative")
    positive = _of_one("positive")
    real = _of_one("real")
    reciprocal = _of_one("reciprocal")
    round = _of_one("round")
    sign = _of_one("sign")
    signbit = _of_one("signbit")
    sin = _of_one("sin")
    sinh = _of_one("sinh")
    sqrt = _of_one("sqrt")
    square = _of_one("square")
    tan = _of_one("tan")
    tanh = _of_one("tanh")
    trunc = _of_one("trunc")

    add = _of_two("add")
    atan2 = _of_two("atan2")
    bitwise_and = _of_two("bitwise_and")
    bitwise_left_shift = _of_two("bitwise_left_shift")
    bitwise_or = _of_two("bitwise_or")
    bitwise_right_shift = _of_two("bitwise_right_shift")
    bitwise_xor = _of_two("bitwise_xor")
    copysign = _of_two("copysign")
    divide = _of_two("divide")
    equal = _of_two("equal")
    floor_divide = _of_two("floor_divide")
    greater = _of_two("greater")
    greater_equal = _of_two("greater_equal")
    hypot = _of_two("hypot")
    less = _of_two("less")
    less_equal = _of_two("less_equal")
    logaddexp = _of_two("logaddexp")
    logical_and = _of_two("logical_and")
    logical_or = _of_two("logical_or")
    logical_xor = _of_two("logical_xor")
    maximum = _of_two("maximum")
    minimum = _of_two("minimum")
    multiply = _of_two("multiply")
    nextafter = _of_two("nextafter")
    not_equal = _of_two("not_equal")
    pow = _of_two("pow")
    remainder = _of_two("remainder")
    subtract = _of_two("subtract")

    @staticmethod
    def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002  # the standard's names
        """Values held between two bounds."""
        return apply("clip", x, min, max)

    @staticmethod
    def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
        """`x1` where the condition holds, `x2` elsewhere."""
        return apply("where", condition, x1, x2)
