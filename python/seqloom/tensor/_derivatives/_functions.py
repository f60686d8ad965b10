"""Derivatives of plain functions of tensors."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError, ShapeError
from seqloom.tensor._derivatives._levels import (
    active,
    chosen,
    gradients_of,
    is_on,
    leaves_over,
    plain,
)
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """Makes a function of tensors also give its gradient.

    Args:
        function: Returns a scalar tensor.
        argnums: By which of its arguments, counted from 0.

    Returns:
        A function of the same arguments that returns the value and the gradient, a tuple of
        them where `argnums` are several. Called inside another one, its results are
        followed by the outer, which gives second derivatives.

    Raises:
        ArgumentError: An argument to differentiate by is no tensor.
        GradientError: The value is no scalar, or does not depend on an argument.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 3.0])
        >>> value, slope = sl.tensor.value_and_grad(lambda x: (x * x).sum())(x)
        >>> value.item(), slope.numpy().tolist()
        (10.0, [2.0, 6.0])
    """
    several = not isinstance(argnums, int)
    numbers = tuple(argnums) if not isinstance(argnums, int) else (argnums,)

    @wraps(function)
    def call(*args: Any, **options: Any) -> tuple[Any, Any]:
        level, leaves = leaves_over(chosen(args, numbers))
        given = list(args)
        for number, leaf in zip(numbers, leaves, strict=True):
            given[number] = leaf
        with active(level):
            value = function(*given, **options)
        found = gradients_of(level, value)
        grads = tuple(_gradient(level, found, leaf) for leaf in leaves)
        return plain(level, value), grads if several else grads[0]

    return call


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """Makes a function of tensors its gradient; as `value_and_grad`, without the value.

    Args:
        function: Returns a scalar tensor.
        argnums: By which of its arguments, counted from 0.

    Returns:
        A function of the same arguments that returns the gradient.

    Examples:
        >>> import seqloom as sl
        >>> cube = lambda x: x**3
        >>> x = sl.tensor.backend("numpy").tensor(2.0)
        >>> sl.tensor.grad(cube)(x).item(), sl.tensor.grad(sl.tensor.grad(cube))(x).item()
        (12.0, 12.0)
    """
    both = value_and_grad(function, argnums)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return both(*args, **options)[1]

    return call


def hvp(function: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """The product of a function's second derivatives with a vector, without the matrix.

    Args:
        function: Takes tensors, returns a scalar tensor.
        inputs: The tensor, or tuple of tensors, to take it at.
        v: The vector: of the shape, or tuple of the shapes, of the inputs.

    Returns:
        The function's value, and the product in the shapes of the inputs.

    Raises:
        ArgumentError: An input is no tensor.
        ShapeError: The vector has other shapes than the inputs.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, v = B.tensor([1.0, 2.0]), B.tensor([1.0, 0.0])
        >>> value, product = sl.tensor.hvp(lambda x: (x**3).sum(), x, v)
        >>> value.item(), product.numpy().tolist()
        (9.0, [6.0, 0.0])
    """
    several = isinstance(inputs, (tuple, list))
    points = list(cast("Sequence[Any]", inputs)) if several else [inputs]
    ways = list(v) if several else [v]
    level, leaves = leaves_over(points)
    _check_shapes(ways, leaves)
    with active(level):
        value, grads = value_and_grad(function, range(len(points)))(*leaves)
        total = sum((slope * way).sum() for slope, way in zip(grads, ways, strict=True))
    found = gradients_of(level, total) if is_on(level, total) else {}
    products = tuple(_gradient(level, found, leaf, missing="zero") for leaf in leaves)
    return plain(level, value), products if several else products[0]


def _check_shapes(ways: list[Any], leaves: list[Tensor]) -> None:
    """Refuses a vector that would broadcast, or have parts left over."""
    found = [tuple(getattr(each, "shape", ())) for each in ways]
    expected = [each.shape for each in leaves]
    if found != expected:
        raise ShapeError(f"v has the shapes {found}; expected are those of {expected}")


def _gradient(
    level: Any, found: dict[int, Any], leaf: Tensor, missing: str = "error"
) -> Tensor:
    """The gradient by one leaf."""
    array = found.get(level.leaf_number(leaf.raw))
    if array is None and missing == "error":
        raise GradientError(
            f"the value does not depend on the argument of shape {leaf.shape}"
        )
    if array is None:
        array = level.inner.zeros(leaf.shape, dtype=leaf.raw.dtype)
    return Tensor(array, level.inner)
