"""Pooling to a given number of windows, whatever the length of the input."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import require_floats, require_numbers
from seqloom.nn.functional._geometry import as_size, require_axes, with_or_without_batch
from seqloom.nn.functional._operands import as_operand
from seqloom.nn.functional._pooling import max_pool2d
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

OutputSize = int | tuple[int | None, int | None] | None  # None keeps the length of an axis


@with_or_without_batch(3)
def adaptive_avg_pool1d(x: Tensor, output_size: int) -> Tensor:
    """Computes the means of windows that divide a row.

    Window i of m in a row of length l starts at ``floor(i * l / m)`` and ends before
    ``ceil((i + 1) * l / m)``: windows have nearly equal lengths, and may overlap by one.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        output_size: Number of windows m.

    Returns:
        ``(n, c, m)``, without `n` where `x` has none.

    Raises:
        ArgumentError: `output_size` is not an integer of at least 1.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has another number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> adaptive_avg_pool1d(x, 2).numpy().tolist()
        [[[2.0, 4.0]]]
    """
    return _average("adaptive_avg_pool1d", x, output_size)


@with_or_without_batch(4)
def adaptive_avg_pool2d(x: Tensor, output_size: OutputSize) -> Tensor:
    """Computes the means of windows that divide an image.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        output_size: Number of windows along each axis, or along both; None for as many as
            the axis has positions. Where they lie: see `adaptive_avg_pool1d`.

    Returns:
        ``(n, c, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: `output_size` is not made of integers of at least 1.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has another number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> adaptive_avg_pool2d(x, 1).item()
        3.0
    """
    return _average("adaptive_avg_pool2d", x, output_size)


@with_or_without_batch(3)
def adaptive_max_pool1d(x: Tensor, output_size: int, return_indices: bool = False) -> Any:
    """Computes the maxima of windows that divide a row.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        output_size: Number of windows m. Where they lie: see `adaptive_avg_pool1d`.
        return_indices: Whether to return the index of each maximum in its row too.

    Returns:
        ``(n, c, m)``, without `n` where `x` has none; with `return_indices`, a pair of
        that and the indices.

    Raises:
        ArgumentError: `output_size` is not an integer of at least 1.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has another number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 2.0]]])
        >>> adaptive_max_pool1d(x, 2).numpy().tolist()
        [[[3.0, 3.0]]]
    """
    found = _maximise("adaptive_max_pool1d", x, output_size)
    return found if return_indices else found[0]


@with_or_without_batch(4)
def adaptive_max_pool2d(
    x: Tensor, output_size: OutputSize, return_indices: bool = False
) -> Any:
    """Computes the maxima of windows that divide an image.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        output_size: Number of windows along each axis, or along both; None for as many as
            the axis has positions. Where they lie: see `adaptive_avg_pool1d`.
        return_indices: Whether to return the index of each maximum in the flattened image
            too.

    Returns:
        ``(n, c, h', w')``, without `n` where `x` has none; with `return_indices`, a pair
        of that and the indices.

    Raises:
        ArgumentError: `output_size` is not made of integers of at least 1.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has another number of axes, or no positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> adaptive_max_pool2d(x, (1, None)).numpy().tolist()
        [[[[2.0, 5.0]]]]
    """
    found = _maximise("adaptive_max_pool2d", x, output_size)
    return found if return_indices else found[0]


def _average(name: str, x: Tensor, output_size: Any) -> Tensor:
    """Computes the mean of each window."""
    require_floats(name, x)
    counts, windows = _divide(name, x, output_size)
    if windows is not None:  # a reshape puts each window on axes of its own
        pairs = [size for pair in zip(counts, windows, strict=True) for size in pair]
        parts = apply("reshape", x, (*x.shape[:2], *pairs))
        return parts.mean(axis=tuple(range(3, parts.ndim, 2)))
    places, inside = _list_places(x.shape[2:], counts)
    seen, shape = _look_up(x, places), (*x.shape[:2], *counts)
    share = as_operand(x, 1.0 / inside.sum(axis=1), x.dtype)
    if not inside.all():  # some windows are longer than others
        seen = apply("where", as_operand(x, inside), seen, 0.0)
    return apply("reshape", seen.sum(axis=-1) * share, shape)


def _maximise(name: str, x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Finds the maximum of each window, and its index in the flattened input."""
    require_numbers(name, x)
    counts, windows = _divide(name, x, output_size)
    if windows is not None and len(counts) > 1 and prod(counts) > 1:
        return max_pool2d(x, windows, return_indices=True)
    shape, plain = (*x.shape[:2], *counts), apply("stop_gradient", x)
    if prod(counts) == 1:  # an exported graph has it for any length
        indices = apply("argmax", _to_rows(plain), axis=-1, keepdims=True)
    else:
        indices = _find_winners(x, plain, counts, is_even=windows is not None)
    found = apply("take_along_axis", _to_rows(x), indices, axis=-1)
    return apply("reshape", found, shape), apply("reshape", indices, shape)


def _find_winners(
    x: Tensor, plain: Tensor, counts: tuple[int, ...], *, is_even: bool
) -> Tensor:
    """Finds the index of the maximum of each window: ``(n, c, windows)``."""
    places, _ = _list_places(x.shape[2:], counts)
    if is_even:  # the windows of a row: they lie side by side
        seen = apply("reshape", plain, (*x.shape[:2], *places.shape))
    else:
        seen = _look_up(plain, places)
    winners = apply("argmax", seen, axis=-1)
    starts = as_operand(x, np.arange(len(places)) * places.shape[1])
    table = as_operand(x, places.ravel())
    indices = apply("take", table, apply("reshape", winners + starts, (-1,)), axis=0)
    return apply("reshape", indices, (*x.shape[:2], len(places)))


def _divide(
    name: str, x: Tensor, output_size: Any
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Returns the number of windows along each axis, and their lengths if all are equal."""
    axes = int(name[-2])
    require_axes(name, axes + 2, x)
    lengths = x.shape[2:]
    if 0 in lengths:
        raise ShapeError(f"{name}: expected positions along each axis, got shape {x.shape}")
    wanted: Any = output_size
    if output_size is None or not hasattr(output_size, "__len__"):
        wanted = (output_size,) * axes
    if len(wanted) != axes:
        raise ArgumentError(
            f"output_size must be an integer, or one for each of {axes} axes, got "
            f"{output_size!r}"
        )
    counts = tuple(
        length if count is None else as_size("output_size", count, 1)
        for count, length in zip(wanted, lengths, strict=True)
    )
    if any(length % count for length, count in zip(lengths, counts, strict=True)):
        return counts, None
    return counts, tuple(n // count for n, count in zip(lengths, counts, strict=True))


def _list_places(
    lengths: Sequence[int], counts: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Lists the places in the flattened input that each window sees.

    Returns:
        Places ``(windows, most)``, the last one repeated in a shorter window; and whether
        each is inside of its window.
    """
    ranges = [_list_axis(*sizes) for sizes in zip(lengths, counts, strict=True)]
    places, inside = ranges[0]
    for length, (more, within) in zip(lengths[1:], ranges[1:], strict=True):
        windows = len(places) * len(more)
        places = places[:, None, :, None] * length + more[None, :, None, :]
        inside = inside[:, None, :, None] & within[None, :, None, :]
        places, inside = places.reshape(windows, -1), inside.reshape(windows, -1)
    return places.astype(np.int32), inside


def _list_axis(length: int, count: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Lists the positions of one axis that each window sees."""
    steps: NDArray[Any] = np.arange(count)
    starts, ends = steps * length // count, -(-(steps + 1) * length // count)
    most = int((ends - starts).max())
    positions: NDArray[Any] = np.add.outer(starts, np.arange(most))
    return np.minimum(positions, ends[:, None] - 1), positions < ends[:, None]


def _look_up(x: Tensor, places: NDArray[np.int32]) -> Tensor:
    """Takes what each window sees: ``(n, c, windows, most)``."""
    seen = apply("take", _to_rows(x), as_operand(x, places.ravel()), axis=-1)
    return apply("reshape", seen, (*x.shape[:2], *places.shape))


def _to_rows(x: Tensor) -> Tensor:
    """Reshapes ``(n, c, ...)`` to ``(n, c, positions)``."""
    return apply("reshape", x, (*x.shape[:2], prod(x.shape[2:])))
