"""Pooling to a given number of windows, for any input length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ShapeError
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    as_operand,
    as_size,
    require_axes,
    require_floats,
    require_numbers,
    with_or_without_batch,
)
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from numpy.typing import NDArray


@with_or_without_batch(3)
def adaptive_avg_pool1d(x: Tensor, output_size: int) -> Tensor:
    """Divide the positions into a given number of windows, and compute each mean.

    If a row of length l is divided into m windows, window i starts at
    ``floor(i * l / m)`` and ends before ``ceil((i + 1) * l / m)``. Window lengths
    differ by at most one, and neighbouring windows may overlap by one position.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        output_size: Number of windows m.

    Returns:
        Output ``(n, c, m)``, or ``(c, m)`` if `x` has no batch axis.

    Raises:
        ArgumentError: `output_size` is not an integer of at least 1.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has a wrong number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> adaptive_avg_pool1d(x, 2).numpy().tolist()
        [[[2.0, 4.0]]]
    """
    require_floats("adaptive_avg_pool1d", x)
    count = _count_windows("adaptive_avg_pool1d", x, output_size)
    length = x.shape[2]
    if length % count == 0:  # all windows have the same length
        return apply("reshape", x, (*x.shape[:2], count, length // count)).mean(axis=-1)
    positions, inside = _list_positions(length, count)
    values = _gather_windows(x, positions)
    if not inside.all():  # the lengths of the windows differ
        values = apply("where", as_operand(x, inside), values, 0.0)
    share = as_operand(x, 1.0 / inside.sum(axis=1), x.dtype)
    return values.sum(axis=-1) * share


@with_or_without_batch(3)
def adaptive_max_pool1d(x: Tensor, output_size: int, return_indices: bool = False) -> Any:
    """Divide the positions into a given number of windows, and compute each maximum.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        output_size: Number of windows m, with the same boundaries as in
            `adaptive_avg_pool1d`.
        return_indices: If True, also return the index of each maximum in its row.

    Returns:
        Output ``(n, c, m)``, or ``(c, m)`` if `x` has no batch axis; with
        `return_indices`, a pair of the maxima and their indices.

    Raises:
        ArgumentError: `output_size` is not an integer of at least 1.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has a wrong number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 2.0]]])
        >>> adaptive_max_pool1d(x, 2).numpy().tolist()
        [[[3.0, 3.0]]]
    """
    require_numbers("adaptive_max_pool1d", x)
    count = _count_windows("adaptive_max_pool1d", x, output_size)
    indices = _find_maxima(apply("stop_gradient", x), count)
    maxima = apply("take_along_axis", x, indices, axis=-1)
    return (maxima, indices) if return_indices else maxima


def _count_windows(name: str, x: Tensor, output_size: Any) -> int:
    """Return the number of windows; raise if the input has no positions."""
    require_axes(name, 3, x)
    if not x.shape[2]:
        raise ShapeError(f"{name}: expected positions along each axis, got shape {x.shape}")
    return as_size("output_size", output_size, 1)


def _find_maxima(x: Tensor, count: int) -> Tensor:
    """Return the index of the maximum of each window, ``(n, c, count)``."""
    if count == 1:  # keeps exported graphs valid for any length
        return apply("argmax", x, axis=-1, keepdims=True)
    positions, _ = _list_positions(x.shape[2], count)
    if x.shape[2] % count == 0:
        windows = apply("reshape", x, (*x.shape[:2], *positions.shape))
    else:
        windows = _gather_windows(x, positions)
    starts = as_operand(x, np.arange(count) * positions.shape[1])
    flat = apply("reshape", apply("argmax", windows, axis=-1) + starts, (-1,))
    indices = apply("take", as_operand(x, positions.ravel()), flat, axis=0)
    return apply("reshape", indices, (*x.shape[:2], count))


def _list_positions(length: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the positions of each window, and a mask of positions inside the window."""
    # One row for each window, padded by repeating the last position.
    steps: NDArray[Any] = np.arange(count)
    starts, ends = steps * length // count, -(-(steps + 1) * length // count)
    longest = int((ends - starts).max())
    positions: NDArray[Any] = np.add.outer(starts, np.arange(longest))
    inside = positions < ends[:, None]
    return np.minimum(positions, ends[:, None] - 1).astype(np.int32), inside


def _gather_windows(x: Tensor, positions: NDArray[np.int32]) -> Tensor:
    """Gather the values of each window: ``(n, c, windows, longest)``."""
    values = apply("take", x, as_operand(x, positions.ravel()), axis=-1)
    return apply("reshape", values, (*x.shape[:2], *positions.shape))


class AdaptiveAvgPool1d(Module):
    """Average pooling to a fixed number of windows; see `functional.adaptive_avg_pool1d`.

    Args:
        output_size: Number of windows.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> sl.nn.AdaptiveAvgPool1d(2)(x).numpy().tolist()
        [[[2.0, 4.0]]]
    """

    output_size: int

    def __init__(self, output_size: int) -> None:
        self.output_size = output_size

    def __call__(self, x: Tensor) -> Tensor:
        """Pool ``(n, c, l)`` to ``(n, c, output_size)``."""
        return adaptive_avg_pool1d(x, self.output_size)


class AdaptiveMaxPool1d(Module):
    """Max pooling to a fixed number of windows; see `functional.adaptive_max_pool1d`.

    Args:
        output_size: Number of windows.
        return_indices: If True, also return the index of each maximum.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> sl.nn.AdaptiveMaxPool1d(2)(x).numpy().tolist()
        [[[3.0, 5.0]]]
    """

    output_size: int
    return_indices: bool

    def __init__(self, output_size: int, return_indices: bool = False) -> None:
        self.output_size, self.return_indices = output_size, return_indices

    def __call__(self, x: Tensor) -> Any:
        """Pool ``(n, c, l)`` to ``(n, c, output_size)``, with the indices if requested."""
        return adaptive_max_pool1d(x, self.output_size, self.return_indices)
