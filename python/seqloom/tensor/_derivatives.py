"""Derivatives of functions of tensors, and the level that each is computed on."""

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
    """Make a function of tensors also return its gradient.

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
    """Make the gradient of a function of tensors: `value_and_grad` without the value.

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
    """Compute the product of a function's Hessian matrix with a vector, not the matrix.

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
    # A vector of another shape would broadcast.
    shapes = [tuple(getattr(vector, "shape", ())) for vector in vectors]
    if shapes != [leaf.shape for leaf in leaves]:
        raise ShapeError(
            "v must have the shapes of the inputs, "
            f"{[leaf.shape for leaf in leaves]}, got {shapes}"
        )
    with active(level):
        value, grads = value_and_grad(function, range(len(points)))(*leaves)
        total = sum((slope * x).sum() for slope, x in zip(grads, vectors, strict=True))
    by_leaf = gradients_of(level, total) if is_on(level, total) else {}
    products = tuple(_gradient(level, by_leaf, leaf, missing="zero") for leaf in leaves)
    return lower_result(level, value), products if several else products[0]


def _gradient(
    level: Engine, found: dict[Any, Array], leaf: Tensor, missing: str = "error"
) -> Tensor:
    """Return the gradient by one leaf."""
    array = found.get(level.leaf_number(leaf.raw))
    if array is None and missing == "error":
        raise GradientError(
            f"the value does not depend on the argument of shape {leaf.shape}"
        )
    if array is None:
        array = level.inner.zeros(leaf.shape, dtype=leaf.raw.dtype)
    return Tensor(array, level.inner)


def jacobian(function: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Make a function that returns all first derivatives of a function of tensors.

    The function runs once; each element of its result costs one backward pass.

    Args:
        function: A function of tensors that returns a tensor.
        argnum: The argument to differentiate by, counted from 0.

    Returns:
        A function of the same arguments that returns a tensor whose shape is the result's
        followed by the argument's.

    Raises:
        ArgumentError: The argument to differentiate by is no tensor.
        GradientError: The function does not return one tensor.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 3.0])
        >>> sl.tensor.jacobian(lambda x: x * x)(x).numpy().tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """

    @wraps(function)
    def call(*args: object, **options: object) -> Tensor:
        level, (leaf,) = leaves_over(select(args, [argnum]))
        inputs = [*args]
        inputs[argnum] = leaf
        with active(level):
            out = function(*inputs, **options)
        if not isinstance(out, Tensor):
            raise GradientError(
                f"the function of jacobian must return one tensor, got {type(out).__name__}"
            )
        return Tensor(_stack(level, out, leaf), level.inner)

    return call


def _stack(level: Engine, out: Tensor, leaf: Tensor) -> Array:
    """Return the gradients of each element of a result by a leaf, as one array."""
    b, number = level.inner, level.leaf_number(leaf.raw)
    size, shape = math.prod(out.shape), (*out.shape, *leaf.shape)
    if size == 0 or not is_on(level, out):
        return b.zeros(shape, dtype=leaf.raw.dtype)
    seeds = b.reshape(b.eye(size, dtype=out.raw.dtype), (size, *out.shape))
    blank = b.zeros(leaf.shape, dtype=leaf.raw.dtype)
    rows: list[Array] = []
    for row in range(size):  # the last pass frees the tape
        seed, retain = b.index(seeds, row), row < size - 1
        found: dict[Any, Array] = level.gradients(out.raw, seed, retain=retain)
        rows.append(found.get(number, blank))
    return b.reshape(b.stack(rows, axis=0), shape)


_T = TypeVar("_T")


class OwnEngine(Protocol):
    """A backend that records on a tape of its own, with the methods of `Autodiff`.

    It has an attribute ``is_engine``, and is made with the backend to compute on.
    """

    inner: ArrayFunctions

    def leaf(self, value: Array) -> Any:
        """Make a leaf: operations on it are recorded."""
        ...

    def gradients(self, raw: Any, seed: Array, *, retain: bool = False) -> dict[int, Array]:
        """Compute the gradients of a result by all leaves."""
        ...

    def lower(self, raw: Any) -> Array:
        """Return the inner array of an array of this engine."""
        ...

    def leaf_number(self, raw: Any) -> int | None:
        """Return the number by which the gradient by an array is found."""
        ...


# A backend that records, on which derivatives are computed.
Engine: TypeAlias = Autodiff | OwnEngine

# The level of the innermost derivative that is being computed in this thread.
_active: ContextVar[Engine | None] = ContextVar("active", default=None)


def level_over(backend: Backend) -> Engine:
    """Return the level of a new derivative, over the active one if that fits."""
    current = _active.get()
    inner = backend
    if current is not None and _lies_over(current, backend):
        inner = current
    if is_own_engine(inner) and inner is not current:
        return inner  # which is its own level
    state: dict[str, Engine] = vars(inner)
    if "differentiable" not in state:
        kind: type = type(inner) if is_own_engine(inner) else Autodiff
        state["differentiable"] = kind(inner)
    return state["differentiable"]


def is_own_engine(backend: object) -> TypeGuard[OwnEngine]:
    """Return whether a backend records gradients on a tape of its own.

    Not by `Autodiff`.
    """
    # Not getattr: backends over another one pass unknown names on to it.
    return "is_engine" in vars(backend)


def _lies_over(outer: object, inner: object) -> bool:
    """Return whether a backend is another one, or lies over it."""
    if outer is None or outer is inner:
        return outer is not None
    return _lies_over(getattr(outer, "inner", None), inner)


def depth(backend: object) -> int:
    """Return how many backends one lies over."""
    below = getattr(backend, "inner", None)
    return 0 if below is None else 1 + depth(below)


@contextmanager
def active(level: Engine) -> Generator[None]:
    """Compute derivatives inside this block over a level."""
    token = _active.set(level)
    try:
        yield
    finally:
        _active.reset(token)


def select(args: Sequence[_T], numbers: Sequence[int]) -> list[_T]:
    """Return the arguments to differentiate by."""
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"there is no argument {number} (counted from 0) to compute a gradient by; "
                f"the function was called with {len(args)} arguments"
            )
    return [args[number] for number in numbers]


def leaves_over(points: Sequence[object]) -> tuple[Engine, list[Tensor]]:
    """Return a level for a new derivative, and the arguments as its leaves."""
    tensors: list[Tensor] = []
    for point in points:
        if not isinstance(point, Tensor):
            raise ArgumentError(
                "a gradient is computed by tensors only; this argument is "
                f"{type(point).__name__}"
            )
        tensors.append(point)
    level = level_over(tensors[0].backend)
    return level, [Tensor(level.leaf(tensor.raw), level) for tensor in tensors]


def is_on(level: Engine, value: object) -> bool:
    """Return whether a level tracks a tensor."""
    return (
        isinstance(value, Tensor)
        and level.leaf_number(value.raw) is not None
        and (not isinstance(value.raw, TrackedArray) or value.raw.level is level)
    )


def lower_result(level: Engine, value: Any) -> Any:
    """Return a result as the level below has it; other values stay as they are."""
    if not is_on(level, value):
        return value
    return Tensor(level.lower(value.raw), level.inner)


def gradients_of(level: Engine, loss: Any) -> dict[int, Array]:
    """Return the gradients of a scalar by the number of each leaf of a level."""
    if not is_on(level, loss):
        raise GradientError(
            "the loss does not depend on any trainable parameter, nor on an input that "
            "gradients are computed by"
        )
    if loss.shape != ():
        raise GradientError(f"the loss must be a scalar, got shape {loss.shape}")
    return level.gradients(loss.raw, level.inner.ones((), dtype=loss.raw.dtype))


def tensors_on(level: Engine, values: Sequence[object]) -> list[Tensor]:
    """Return the tensors among values whose arrays a level tracks."""
    return [
        value
        for value in values
        if isinstance(value, Tensor) and isinstance(value.raw, TrackedArray)
        if value.raw.level is level
    ]


def outermost_level(values: Sequence[object]) -> Any:
    """Return the outermost level that tracks one of the values, or None."""
    raws = [value.raw for value in values if isinstance(value, Tensor)]
    levels = [raw.level for raw in raws if isinstance(raw, TrackedArray)]
    return max(levels, key=depth, default=None)
