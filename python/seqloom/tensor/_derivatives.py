"""Derivatives of functions of tensors, and the levels that record the functions."""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.tensor._autodiff import Autodiff
from seqloom.tensor._state import TrackedArray
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._families import Array, ArrayFunctions


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes the value and the gradient of a function.

    Args:
        function: A function of tensors that returns a scalar tensor.
        argnums: The index of the argument to differentiate, from 0, or a sequence of
            indices.

    Returns:
        A function with the same arguments that returns the value and the gradient. If
        `argnums` is a sequence, the gradient is a tuple. Calls of `value_and_grad` can
        be nested to compute second derivatives.

    Raises:
        ArgumentError: An argument to differentiate is not a tensor.
        GradientError: The value is not a scalar, or does not depend on the argument.

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
    def differentiate(*args: object, **options: object) -> tuple[Any, Any]:
        level, leaves = make_leaves(select_arguments(args, numbers))
        inputs = list(args)
        for number, leaf in zip(numbers, leaves, strict=True):
            inputs[number] = leaf
        with activate_level(level):
            value = function(*inputs, **options)
        found = compute_gradients(level, value)
        grads = tuple(_find_grad(level, found, leaf) for leaf in leaves)
        return lower_result(level, value), grads if several else grads[0]

    return differentiate


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a function, but not its value.

    Args:
        function: A function of tensors that returns a scalar tensor.
        argnums: The index of the argument to differentiate, from 0, or a sequence of
            indices.

    Returns:
        A function with the same arguments that returns the gradient.

    Examples:
        >>> import seqloom as sl
        >>> cube = lambda x: x**3
        >>> x = sl.tensor.backend("numpy").tensor(2.0)
        >>> sl.tensor.grad(cube)(x).item(), sl.tensor.grad(sl.tensor.grad(cube))(x).item()
        (12.0, 12.0)
    """
    both = value_and_grad(function, argnums)

    @wraps(function)
    def differentiate(*args: object, **options: object) -> Any:
        return both(*args, **options)[1]

    return differentiate


def hvp(function: Callable[..., Any], inputs: Any, v: Any) -> tuple[Any, Any]:
    """Compute the product of a Hessian matrix and a vector without computing the matrix.

    Args:
        function: A function of tensors that returns a scalar tensor.
        inputs: The tensor, or tuple of tensors, at which to evaluate the derivatives.
        v: The vector: a tensor, or tuple of tensors, with the shapes of the inputs.

    Returns:
        The value of the function, and the product in the shapes of the inputs.

    Raises:
        ArgumentError: An input is not a tensor.
        ShapeError: The shape of a vector in `v` differs from the shape of the input.

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
    level, leaves = make_leaves(points)
    # Without this check, a vector with a different shape would broadcast.
    shapes = [tuple(getattr(vector, "shape", ())) for vector in vectors]
    if shapes != [leaf.shape for leaf in leaves]:
        raise ShapeError(
            "v must have the shapes of the inputs, "
            f"{[leaf.shape for leaf in leaves]}, got {shapes}"
        )
    with activate_level(level):
        value, grads = value_and_grad(function, range(len(points)))(*leaves)
        total = sum((slope * x).sum() for slope, x in zip(grads, vectors, strict=True))
    by_leaf = compute_gradients(level, total) if is_tracked_by(level, total) else {}
    products = tuple(_find_grad(level, by_leaf, leaf, missing="zero") for leaf in leaves)
    return lower_result(level, value), products if several else products[0]


def _find_grad(
    level: Engine, found: dict[Any, Array], leaf: Tensor, missing: str = "error"
) -> Tensor:
    """Return the gradient with respect to one input; raise if it does not exist."""
    array = found.get(level.leaf_number(leaf.raw))
    if array is None and missing == "error":
        raise GradientError(
            f"the value does not depend on the argument of shape {leaf.shape}"
        )
    if array is None:
        array = level.inner.zeros(leaf.shape, dtype=leaf.raw.dtype)
    return Tensor(array, level.inner)


def jacobian(function: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Return a function that computes the Jacobian matrix of a function of tensors.

    The function runs once; each element of its result needs one backward pass.

    Args:
        function: A function of tensors that returns a tensor.
        argnum: The index of the argument to differentiate, from 0.

    Returns:
        A function with the same arguments that returns a tensor. Its shape is the shape of
        the result, followed by the shape of the argument.

    Raises:
        ArgumentError: The argument to differentiate is not a tensor.
        GradientError: The function does not return one tensor.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 3.0])
        >>> sl.tensor.jacobian(lambda x: x * x)(x).numpy().tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """

    @wraps(function)
    def differentiate(*args: object, **options: object) -> Tensor:
        level, (leaf,) = make_leaves(select_arguments(args, [argnum]))
        inputs = [*args]
        inputs[argnum] = leaf
        with activate_level(level):
            out = function(*inputs, **options)
        if not isinstance(out, Tensor):
            raise GradientError(
                f"the function of jacobian must return one tensor, got {type(out).__name__}"
            )
        return Tensor(_stack_gradients(level, out, leaf), level.inner)

    return differentiate


def _stack_gradients(level: Engine, out: Tensor, leaf: Tensor) -> Array:
    """Return the gradients of all elements of a result with respect to a leaf, stacked."""
    b, number = level.inner, level.leaf_number(leaf.raw)
    size, shape = math.prod(out.shape), (*out.shape, *leaf.shape)
    if size == 0 or not is_tracked_by(level, out):
        return b.zeros(shape, dtype=leaf.raw.dtype)
    seeds = b.reshape(b.eye(size, dtype=out.raw.dtype), (size, *out.shape))
    blank = b.zeros(leaf.shape, dtype=leaf.raw.dtype)
    rows: list[Array] = []
    for row in range(size):  # the last backward pass frees the recorded nodes
        seed, retain = b.index(seeds, row), row < size - 1
        found: dict[Any, Array] = level.gradients(out.raw, seed, retain=retain)
        rows.append(found.get(number, blank))
    return b.reshape(b.stack(rows, axis=0), shape)


_T = TypeVar("_T")


class CustomEngine(Protocol):
    """A backend with its own automatic differentiation and the methods of `Autodiff`.

    Instances have an attribute ``is_engine``, and the constructor's argument is the
    inner backend.
    """

    inner: ArrayFunctions

    def leaf(self, value: Array) -> Any:
        """Create a tracked array from an array, so that operations on it are recorded."""
        ...

    def gradients(self, raw: Any, seed: Array, *, retain: bool = False) -> dict[int, Array]:
        """Compute the gradients of a result with respect to all leaves."""
        ...

    def lower(self, raw: Any) -> Array:
        """Return the array of the inner backend that an array of this engine wraps."""
        ...

    def leaf_number(self, raw: Any) -> int | None:
        """Return the number that identifies the gradient of an array."""
        ...


# A backend that records operations for derivatives.
Engine: TypeAlias = Autodiff | CustomEngine

# The level of the innermost derivative that this thread computes.
_active_level: ContextVar[Engine | None] = ContextVar("active", default=None)


def find_level(backend: Backend) -> Engine:
    """Return a level for a new derivative, which wraps the active level if possible."""
    current = _active_level.get()
    inner = backend
    if current is not None and _wraps_backend(current, backend):
        inner = current
    if is_custom_engine(inner) and inner is not current:
        return inner  # the backend needs no `Autodiff`
    state: dict[str, Engine] = vars(inner)
    if "differentiable" not in state:
        kind: type = type(inner) if is_custom_engine(inner) else Autodiff
        state["differentiable"] = kind(inner)
    return state["differentiable"]


def is_custom_engine(backend: object) -> TypeGuard[CustomEngine]:
    """Return whether a backend records gradients itself, without `Autodiff`."""
    # `hasattr` does not work, because wrapper backends forward unknown names to
    # their inner backend.
    return "is_engine" in vars(backend)


def _wraps_backend(outer: object, inner: object) -> bool:
    """Return whether `outer` is `inner` or wraps it."""
    if outer is None or outer is inner:
        return outer is not None
    return _wraps_backend(getattr(outer, "inner", None), inner)


def count_levels(backend: object) -> int:
    """Return the number of backends that a backend wraps, directly or indirectly."""
    below = getattr(backend, "inner", None)
    return 0 if below is None else 1 + count_levels(below)


@contextmanager
def activate_level(level: Engine) -> Generator[None]:
    """Make a level the active level within a ``with`` block."""
    token = _active_level.set(level)
    try:
        yield
    finally:
        _active_level.reset(token)


def select_arguments(args: Sequence[_T], numbers: Sequence[int]) -> list[_T]:
    """Return the arguments with the given indices."""
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"there is no argument {number} (counted from 0) to differentiate; "
                f"the function was called with {len(args)} arguments"
            )
    return [args[number] for number in numbers]


def make_leaves(points: Sequence[object]) -> tuple[Engine, list[Tensor]]:
    """Return a level for a new derivative, and the arguments as tracked tensors on it."""
    tensors: list[Tensor] = []
    for point in points:
        if not isinstance(point, Tensor):
            raise ArgumentError(
                "gradients are computed with respect to tensors only; this argument is "
                f"{type(point).__name__}"
            )
        tensors.append(point)
    level = find_level(tensors[0].backend)
    return level, [Tensor(level.leaf(tensor.raw), level) for tensor in tensors]


def is_tracked_by(level: Engine, value: object) -> bool:
    """Return whether a level tracks a tensor."""
    return (
        isinstance(value, Tensor)
        and level.leaf_number(value.raw) is not None
        and (not isinstance(value.raw, TrackedArray) or value.raw.level is level)
    )


def lower_result(level: Engine, value: Any) -> Any:
    """Return a result as a tensor of the inner backend; return other values unchanged."""
    if not is_tracked_by(level, value):
        return value
    return Tensor(level.lower(value.raw), level.inner)


def compute_gradients(level: Engine, loss: Any) -> dict[int, Array]:
    """Return the gradients of a scalar loss, by the number of each leaf."""
    if not is_tracked_by(level, loss):
        raise GradientError(
            "the loss does not depend on any trainable parameter, nor on an input to "
            "differentiate"
        )
    if loss.shape != ():
        raise GradientError(f"the loss must be a scalar, got shape {loss.shape}")
    return level.gradients(loss.raw, level.inner.ones((), dtype=loss.raw.dtype))


def list_tracked(level: Engine, values: Sequence[object]) -> list[Tensor]:
    """Return the tensors that a level tracks."""
    return [
        value
        for value in values
        if isinstance(value, Tensor) and isinstance(value.raw, TrackedArray)
        if value.raw.level is level
    ]


def find_outermost_level(values: Sequence[object]) -> Any:
    """Return the outermost level that tracks one of the values, or None."""
    raws = [value.raw for value in values if isinstance(value, Tensor)]
    levels = [raw.level for raw in raws if isinstance(raw, TrackedArray)]
    return max(levels, key=count_levels, default=None)
