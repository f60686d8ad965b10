"""All first derivatives of a function, one row for each element of its result."""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any

from seqloom.errors import GradientError
from seqloom.tensor._derivatives._levels import active, is_on, leaves_over, select
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._derivatives._levels import Engine
    from seqloom.tensor._families import Array


def jacobian(function: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Makes a function that returns all first derivatives of a function of tensors.

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
            out = _one_tensor(function(*inputs, **options))
        return Tensor(_stack(level, out, leaf), level.inner)

    return call


def _one_tensor(out: object) -> Tensor:
    """Returns a function's result, which must be a tensor."""
    if not isinstance(out, Tensor):
        raise GradientError(
            f"the function of jacobian must return one tensor, got {type(out).__name__}"
        )
    return out


def _stack(level: Engine, out: Tensor, leaf: Tensor) -> Array:
    """Returns the gradients of each element of a result by a leaf, as one array."""
    b, number = level.inner, level.leaf_number(leaf.raw)
    blank = b.zeros(leaf.shape, dtype=leaf.raw.dtype)
    found = [rows.get(number) for rows in _rows(level, out)]
    filled = [blank if row is None else row for row in found]
    shape = *out.shape, *leaf.shape
    if not filled:
        return b.zeros(shape, dtype=leaf.raw.dtype)
    return b.reshape(b.stack(filled, axis=0), shape)


def _rows(level: Engine, out: Tensor) -> list[dict[Any, Array]]:
    """Computes the gradients of each element of a result; the last pass frees the tape."""
    size = math.prod(out.shape)
    if size == 0 or not is_on(level, out):
        return [{} for _ in range(size)]
    b = level.inner
    seeds = b.reshape(b.eye(size, dtype=out.raw.dtype), (size, *out.shape))
    return [
        level.gradients(out.raw, b.index(seeds, row), retain=row < size - 1)
        for row in range(size)
    ]
