"""All first derivatives of a function, one row for each number of its result."""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any

from seqloom.errors import GradientError
from seqloom.tensor._derivatives._levels import active, chosen, is_on, leaves_over
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def jacobian(function: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Makes a function of tensors all its first derivatives.

    The function runs once; each number of its result costs one backward pass.

    Args:
        function: Returns a tensor.
        argnum: By which of its arguments, counted from 0.

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
    def call(*args: Any, **options: Any) -> Tensor:
        level, (leaf,) = leaves_over(chosen(args, [argnum]))
        given = [*args]
        given[argnum] = leaf
        with active(level):
            out = _one_tensor(function(*given, **options))
        return Tensor(_stacked(level, out, leaf), level.inner)

    return call


def _one_tensor(out: Any) -> Tensor:
    """A function's result, which must be a tensor."""
    if not isinstance(out, Tensor):
        raise GradientError(
            "jacobian is of a function that returns one tensor; this one returned "
            f"{type(out).__name__}"
        )
    return out


def _stacked(level: Any, out: Tensor, leaf: Tensor) -> Any:
    """The gradients of each number of a result by a leaf, as one array."""
    b, number = level.inner, level.leaf_number(leaf.raw)
    blank = b.zeros(leaf.shape, dtype=leaf.raw.dtype)
    found = [rows.get(number) for rows in _rows(level, out)]
    filled = [blank if row is None else row for row in found]
    shape = *out.shape, *leaf.shape
    if not filled:
        return b.zeros(shape, dtype=leaf.raw.dtype)
    return b.reshape(b.stack(filled, axis=0), shape)


def _rows(level: Any, out: Tensor) -> list[dict[int, Any]]:
    """The gradients of each number of a result; what was recorded stays till the last."""
    size = math.prod(out.shape)
    if size == 0 or not is_on(level, out):
        return [{} for _ in range(size)]
    b = level.inner
    seeds = b.reshape(b.eye(size, dtype=out.raw.dtype), (size, *out.shape))
    return [
        level.gradients(out.raw, b.index(seeds, place), retain=place < size - 1)
        for place in range(size)
    ]
