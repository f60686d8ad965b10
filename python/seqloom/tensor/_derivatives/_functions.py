"""Derivatives of functions of tensors."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import GradientError, ShapeError
from seqloom.tensor._derivatives._levels import (
    active,
    gradients_of,
    is_on,
    leaves_over,
    lower_result,
    select,
)
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._derivatives._levels import Engine
    from seqloom.tensor._families import Array


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """Makes a function of tensors also return its gradient.

    Args:
        function: A function of tensors that returns a scalar tensor.
        argnums: The argument to differentiate by, counted from 0, or several.

    Returns:
        A function of the same arguments that returns the value and the gradient; a tuple of
        gradients if `argnums` are several. Inside another such function, the outer one
        records its results, which gives second derivatives.

    Raises:
        ArgumentError: An argument to differentiate by is no tensor.
        GradientError: The value is no scalar, or does not depend on such an argument.

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
    def call(*args: object, **options: object) -> tuple[Any, Any]:
        level, leaves = leaves_over(select(args, numbers))
        inputs = list(args)
        for number, leaf in zip(numbers, leaves, strict=True):
            inputs[number] = leaf
        with active(level):
            value = function(*inputs, **options)
        found = gradients_of(level, value)
        grads = tuple(_gradient(level, found, leaf) for leaf in leaves)
        return lower_result(level, value), grads if several else grads[0]

    return call


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """Makes the gradient of a function of tensors: `value_and_grad` without the value.

    Args:
        function: A function of tensors that returns a scalar tensor.
        argnums: The argument to differentiate by, counted from 0, or several.

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
    def call(*args: object, **options: object) -> Any:
        return both(*args, **options)[1]

    return call


def hvp(function: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """Computes the product of a function's Hessian matrix with a vector, not the matrix.

    Args:
        function: A function of tensors that returns a scalar tensor.
        inputs: The tensor, or tuple of tensors, to evaluate the derivatives at.
        v: The vector: a tensor, or tuple of tensors, of the shapes of the inputs.

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
    vectors = list(v) if several else [v]
    level, leaves = leaves_over(points)
    _require_shapes(vectors, leaves)
    with active(level):
        value, grads = value_and_grad(function, range(len(points)))(*leaves)
        pairs = zip(grads, vectors, strict=True)
        total = sum((gradient * vector).sum() for gradient, vector in pairs)
    found = gradients_of(level, total) if is_on(level, total) else {}
    products = tuple(_gradient(level, found, leaf, missing="zero") for leaf in leaves)
    return lower_result(level, value), products if several else products[0]


def _require_shapes(vectors: list[object], leaves: list[Tensor]) -> None:
    """Refuses a vector that would broadcast, or has too many parts."""
    found = [tuple(getattr(vector, "shape", ())) for vector in vectors]
    expected = [leaf.shape for leaf in leaves]
    if found != expected:
        raise ShapeError(f"v must have the shapes of the inputs, {expected}, got {found}")


def _gradient(
    level: Engine, found: dict[Any, Array], leaf: Tensor, missing: str = "error"
) -> Tensor:
    """Returns the gradient by one leaf."""
    array = found.get(level.leaf_number(leaf.raw))
    if array is None and missing == "error":
        raise GradientError(
            f"the value does not depend on the argument of shape {leaf.shape}"
        )
    if array is None:
        array = level.inner.zeros(leaf.shape, dtype=leaf.raw.dtype)
    return Tensor(array, level.inner)
