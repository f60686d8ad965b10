"""Elementwise functions that have no operator, by the standard's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor._tensor import Tensor


def exp(x: Tensor) -> Tensor:
    """``e**x``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> exp(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [1.0]
    """
    return apply("exp", x)


def log(x: Tensor) -> Tensor:
    """The natural logarithm.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> log(sl.tensor.backend("numpy").tensor([1.0])).tolist()
        [0.0]
    """
    return apply("log", x)


def log1p(x: Tensor) -> Tensor:
    """``log(1 + x)``, exact where x is small.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> log1p(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [0.0]
    """
    return apply("log1p", x)


def sqrt(x: Tensor) -> Tensor:
    """The square root.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> sqrt(sl.tensor.backend("numpy").tensor([9.0])).tolist()
        [3.0]
    """
    return apply("sqrt", x)


def sin(x: Tensor) -> Tensor:
    """The sine of radians.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> sin(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [0.0]
    """
    return apply("sin", x)


def cos(x: Tensor) -> Tensor:
    """The cosine of radians.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> cos(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [1.0]
    """
    return apply("cos", x)


def maximum(x: Tensor, other: Tensor | float) -> Tensor:
    """The larger of two values, place by place; NaN where one is.

    Args:
        x: A tensor of any shape.
        other: A tensor whose shape goes with it, or a number.

    Returns:
        A tensor of the common shape.

    Examples:
        >>> import seqloom as sl
        >>> maximum(sl.tensor.backend("numpy").tensor([1.0, 3.0]), 2.0).tolist()
        [2.0, 3.0]
    """
    return apply("maximum", x, other)


def minimum(x: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of two values, place by place; NaN where one is.

    Args:
        x: A tensor of any shape.
        other: A tensor whose shape goes with it, or a number.

    Returns:
        A tensor of the common shape.

    Examples:
        >>> import seqloom as sl
        >>> minimum(sl.tensor.backend("numpy").tensor([1.0, 3.0]), 2.0).tolist()
        [1.0, 2.0]
    """
    return apply("minimum", x, other)


def clip(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    """The values, moved to the nearer bound where they lie outside.

    Args:
        x: A tensor of any shape.
        low: The least value; None for no bound.
        high: The largest value; None for no bound.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> clip(sl.tensor.backend("numpy").tensor([-1.0, 0.5, 2.0]), 0.0, 1.0).tolist()
        [0.0, 0.5, 1.0]
    """
    return apply("clip", x, low, high)


def where(condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; one of them at least is a tensor.

    Args:
        condition: Truth values.
        x: A tensor whose shape goes with it, or a number.
        y: A tensor whose shape goes with it, or a number.

    Returns:
        A tensor of the common shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> where(x > 0, x, 0.0).tolist()
        [0.0, 2.0]
    """
    return apply("where", condition, x, y)
