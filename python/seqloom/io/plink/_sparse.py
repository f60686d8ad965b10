"""Genotypes as a sparse matrix, made of dense pieces."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from seqloom.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csc_matrix, csr_matrix

    Lines: TypeAlias = Callable[[slice], NDArray[Any]]
    """Reads some lines: columns of a csc matrix, rows of a csr matrix."""

FORMATS = ("csc", "csr")
# Values that are dense at the same time. The position of each that is not 0 takes 8 bytes.
_AT_ONCE = 1 << 21
_MOST = np.iinfo(np.int32).max


def check_sparse(form: str, batch_size: int | None) -> None:
    """Refuses an unknown format and an empty batch; requires scipy."""
    if form not in FORMATS:
        raise ArgumentError(f"format {form!r} not known. Expected 'csc' or 'csr'.")
    if batch_size is not None and batch_size < 1:
        raise ArgumentError(f"batch_size must be at least 1, got {batch_size}")
    try:
        import_module("scipy.sparse")
    except ImportError as error:
        raise MissingExtraError("a sparse matrix needs scipy: pip install scipy") from error


def to_sparse(
    read: Lines,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    *,
    form: str,
    at_once: int | None,
) -> csc_matrix | csr_matrix:
    """Makes a matrix from its lines, which are read some at a time."""
    import scipy.sparse

    count, width = shape[::-1] if form == "csc" else shape
    if max(shape) > _MOST:
        raise ArgumentError(
            f"a sparse matrix has at most {_MOST} rows and columns, got {shape}"
        )
    at_once = at_once or max(1, _AT_ONCE // max(width, 1))
    pieces = [(np.empty(0, dtype), np.empty(0, np.int32), np.zeros(1, np.int64))]
    pieces += [_compress(read(lines)) for lines in _slices(count, at_once)]
    data, indices, counts = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    ends = np.cumsum(counts)
    kind = np.int32 if ends[-1] <= _MOST else np.int64
    make = scipy.sparse.csc_matrix if form == "csc" else scipy.sparse.csr_matrix
    return make((data, indices, ends.astype(kind)), shape)


def _slices(count: int, at_once: int) -> Iterator[slice]:
    """Cuts lines into pieces."""
    return (slice(first, min(first + at_once, count)) for first in range(0, count, at_once))


def _compress(
    lines: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
    """Returns the values that are not 0, their positions, and their number in each line."""
    flat = lines.reshape(-1)
    stored = np.flatnonzero(flat)
    counts = np.count_nonzero(lines, axis=1)
    # Lines are contiguous; positions are counted from the beginning of the line.
    begins = np.repeat(np.arange(len(lines)) * lines.shape[1], counts)
    return flat[stored], (stored - begins).astype(np.int32), counts
