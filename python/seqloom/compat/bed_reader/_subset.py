"""Part of an array of three axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_AXES = 3


def subset_f64_f64(
    val_in: NDArray[np.float64],
    iid_index: ArrayLike,
    sid_index: ArrayLike,
    val_out: NDArray[np.float64],
    num_threads: int,
) -> None:
    """Copies some individuals and variants of one array into another.

    Args:
        val_in: An array of individuals by variants by values.
        iid_index: Positions of individuals.
        sid_index: Positions of variants.
        val_out: The array to fill, of the selected individuals by the selected variants.
        num_threads: Not used; it is bed_reader's argument.

    Raises:
        ArgumentError: An array is not of three axes of float64.
        OutOfRangeError: A position lies beyond the array.
        ShapeError: ``val_out`` does not have the selected shape.

    Examples:
        >>> import numpy as np
        >>> values, part = np.arange(6.0).reshape(2, 3, 1), np.empty((1, 2, 1))
        >>> subset_f64_f64(values, [1], [2, 0], part, 1)
        >>> part.ravel()
        array([5., 3.])
    """
    del num_threads  # NumPy copies by one
    _check_array("val_in", val_in)
    _check_array("val_out", val_out)
    rows = _positions(iid_index, val_in.shape[0])
    columns = _positions(sid_index, val_in.shape[1])
    expected = len(rows), len(columns), val_in.shape[2]
    if val_out.shape != expected:
        raise ShapeError(f"val_out must be of the shape {expected}, got {val_out.shape}")
    val_out[...] = val_in[rows[:, None], columns]


def _check_array(name: str, array: object) -> None:
    """Refuses anything but an array of three axes of float64."""
    values = cast("NDArray[Any]", array)
    is_array = isinstance(array, np.ndarray)
    if not (is_array and values.dtype == np.float64 and values.ndim == _AXES):
        raise ArgumentError(
            f"{name} must be an array of three axes of float64, got {quote(values)}"
        )


def _positions(index: ArrayLike, count: int) -> NDArray[np.intp]:
    """Converts positions to an array; refuses a position outside."""
    positions = np.asarray(index, np.intp)
    if len(positions) and not 0 <= positions.min() <= positions.max() < count:
        raise OutOfRangeError(f"an index is out of bounds for an axis of size {count}")
    return positions
