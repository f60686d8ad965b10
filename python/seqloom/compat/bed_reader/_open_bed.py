"""Reader and writers of `seqloom.io` that accept all arguments of bed_reader."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from seqloom import io
from seqloom._arguments import quote
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, FormatError, OutOfRangeError, ShapeError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from urllib.parse import ParseResult

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    Location: TypeAlias = str | os.PathLike[str] | ParseResult

__all__ = ["create_bed", "get_num_threads", "open_bed", "subset_f64_f64", "to_bed"]
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
_SUBSET_AXES = 3


class open_bed(io.open_bed):
    """Reader of genotypes, like `seqloom.io.open_bed`.

    Args:
        location: The path or URL of the .bed.
        iid_count: Number of individuals.
        sid_count: Number of variants.
        properties: A dict from property name, such as ``"iid"``, to values that replace
            those of the .fam or .bim.
        count_A1: True to count allele A1, False to count A2.
        num_threads: Number of decoding threads.
        skip_format_check: If True, open the .bed only at the first read, and do not check
            its padding.
        fam_location: The path or URL of the .fam.
        bim_location: The path or URL of the .bim.
        cloud_options: Options of the object store, if a location is a URL.
        max_concurrent_requests: Maximum number of simultaneous requests to the object
            store.
        max_chunk_bytes: Maximum number of bytes of one request.
        filepath: Old name of ``location``.
        fam_filepath: Old name of ``fam_location``.
        bim_filepath: Old name of ``bim_location``.

    Raises:
        ArgumentError: A location is passed under both its old and its current argument
            name.

    Examples:
        >>> to_bed("small.bed", [[1, 0], [2, -127]])
        >>> open_bed(None, filepath="small.bed").read(None, "int8", "F", True)
        array([[   1,    0],
               [   2, -127]], dtype=int8)
    """

    def __init__(
        self,
        location: Location | None,
        iid_count: int | None = None,
        sid_count: int | None = None,
        properties: Mapping[str, ArrayLike | None] = _NO_OPTIONS,
        count_A1: bool = True,
        num_threads: int | None = None,
        skip_format_check: bool = False,
        fam_location: Location | None = None,
        bim_location: Location | None = None,
        cloud_options: Mapping[str, str] = _NO_OPTIONS,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
        filepath: str | os.PathLike[str] | None = None,
        fam_filepath: str | os.PathLike[str] | None = None,
        bim_filepath: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            _choose_location("", location, filepath),
            iid_count,
            sid_count,
            properties,
            count_A1,
            num_threads,
            skip_format_check,
            _choose_location("fam_", fam_location, fam_filepath),
            _choose_location("bim_", bim_location, bim_filepath),
            cloud_options,
            max_concurrent_requests,
            max_chunk_bytes,
        )

    def read(  # pyright: ignore[reportIncompatibleMethodOverride] - argument order of bed_reader
        self,
        index: Any = None,
        dtype: DTypeLike = "float32",
        order: str = "F",
        force_python_only: bool = False,
        num_threads: int | None = None,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
        *,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Read genotypes like `seqloom.io.open_bed.read`.

        Args:
            index: The individuals and variants to read, as in `seqloom.io.open_bed.read`.
            dtype: ``"int8"``, ``"float32"`` or ``"float64"``.
            order: Memory order of the result: ``"F"`` or ``"C"``.
            force_python_only: Accepted and ignored.
            num_threads: Number of decoding threads.
            max_concurrent_requests: Maximum number of simultaneous requests to the object
                store.
            max_chunk_bytes: Maximum number of bytes of one request.
            out: The array to fill, or None for a new array.

        Returns:
            An array of shape (individuals, variants).
        """
        del force_python_only
        return super().read(
            index,
            dtype,
            order,
            num_threads=num_threads,
            max_concurrent_requests=max_concurrent_requests,
            max_chunk_bytes=max_chunk_bytes,
            out=out,
        )


def _choose_location(
    table: str, location: Location | None, old: Location | None
) -> Location | None:
    """Return a location that was passed under its current or its old argument name."""
    if location is not None and old is not None:
        raise ArgumentError(f"Cannot set both {table}location and {table}filepath")
    return old if location is None else location


def to_bed(
    filepath: str | os.PathLike[str],
    val: ArrayLike,
    properties: Mapping[str, ArrayLike | None] = _NO_OPTIONS,
    count_A1: bool = True,
    fam_filepath: str | os.PathLike[str] | None = None,
    bim_filepath: str | os.PathLike[str] | None = None,
    major: str = "SNP",
    force_python_only: bool = False,
    num_threads: int | None = None,
) -> None:
    """Write genotypes to a .bed, like `seqloom.io.to_bed`.

    Args:
        filepath: The path of the .bed.
        val: An array of shape (individuals, variants).
        properties: A dict from property name to a column of the .fam or .bim.
        count_A1: True if the values count allele A1, False if they count A2.
        fam_filepath: The path of the .fam.
        bim_filepath: The path of the .bim.
        major: The rows of the .bed: ``"SNP"`` (each row is a variant) or ``"individual"``.
        force_python_only: Accepted and ignored.
        num_threads: Number of packing threads.

    Examples:
        >>> to_bed("small.bed", [[1, 0], [2, -127]], force_python_only=True)
    """
    del force_python_only
    paths = fam_filepath, bim_filepath
    io.to_bed(filepath, val, properties, count_A1, *paths, major, num_threads)


class create_bed(io.create_bed):
    """Writer of genotypes, one row at a time, like `seqloom.io.create_bed`.

    Args:
        location: The path of the .bed.
        iid_count: Number of individuals.
        sid_count: Number of variants.
        properties: A dict from property name to a column of the .fam or .bim.
        count_A1: True if the values count allele A1, False if they count A2.
        fam_location: The path of the .fam.
        bim_location: The path of the .bim.
        major: The rows of the .bed: ``"SNP"`` (each row is a variant) or ``"individual"``.
        force_python_only: Accepted and ignored.
        num_threads: Accepted and ignored, because each row is packed by one thread.

    Examples:
        >>> with create_bed("small.bed", 2, 1, force_python_only=True) as bed:
        ...     bed.write([0, 1])
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        iid_count: int,
        sid_count: int,
        properties: Mapping[str, ArrayLike | None] = _NO_OPTIONS,
        count_A1: bool = True,
        fam_location: str | os.PathLike[str] | None = None,
        bim_location: str | os.PathLike[str] | None = None,
        major: str = "SNP",
        force_python_only: bool = False,
        num_threads: int | None = None,
    ) -> None:
        del force_python_only, num_threads
        tables = fam_location, bim_location
        counts = iid_count, sid_count
        super().__init__(location, *counts, properties, count_A1, *tables, major)


def get_num_threads(num_threads: int | None = None) -> int:
    """Return the number of threads that the argument ``num_threads`` selects.

    Args:
        num_threads: Number of threads; None selects the default.

    Returns:
        The argument ``num_threads``, if it is not None. If ``num_threads`` is None,
        these environment variables are tried in order: SEQLOOM_NUM_THREADS,
        PST_NUM_THREADS, NUM_THREADS, MKL_NUM_THREADS, OMP_NUM_THREADS and
        SLURM_CPUS_PER_TASK. If no variable is set, the number of cores is returned.

    Raises:
        ArgumentError: The value of the environment variable is not a number.

    Examples:
        >>> get_num_threads(3)
        3
    """
    return count_threads() if num_threads is None else num_threads


def _convert_to_dtype(  # pyright: ignore[reportUnusedFunction] - used by the tests of bed_reader
    texts: NDArray[np.str_], dtype: type[Any]
) -> NDArray[Any]:
    """Convert strings to numbers; for integers, ``"1.0"`` is valid but ``"1.5"`` is not."""
    if dtype is np.str_:
        return texts
    numbers = texts.astype(np.float64)
    converted = numbers.astype(dtype)
    if dtype is np.int32 and (converted != numbers).any():
        wrong = texts[converted != numbers][0]
        raise FormatError(f"expected integers, found {str(wrong)!r}")
    return converted


def subset_f64_f64(
    val_in: NDArray[np.float64],
    iid_index: ArrayLike,
    sid_index: ArrayLike,
    val_out: NDArray[np.float64],
    num_threads: int,
) -> None:
    """Copy selected individuals and variants of one array into another.

    Args:
        val_in: An array of shape (individuals, variants, values).
        iid_index: Indices of individuals.
        sid_index: Indices of variants.
        val_out: The array to fill, of shape (selected individuals, selected variants,
            values).
        num_threads: Accepted and ignored.

    Raises:
        ArgumentError: An array is not a float64 array with three axes.
        OutOfRangeError: An index is out of range.
        ShapeError: The shape of ``val_out`` does not match the selection.

    Examples:
        >>> import numpy as np
        >>> values, part = np.arange(6.0).reshape(2, 3, 1), np.empty((1, 2, 1))
        >>> subset_f64_f64(values, [1], [2, 0], part, 1)
        >>> part.ravel()
        array([5., 3.])
    """
    del num_threads  # unused, because NumPy copies with one thread
    _check_array("val_in", val_in)
    _check_array("val_out", val_out)
    rows = _to_positions(iid_index, val_in.shape[0])
    columns = _to_positions(sid_index, val_in.shape[1])
    expected = len(rows), len(columns), val_in.shape[2]
    if val_out.shape != expected:
        raise ShapeError(f"val_out must be of the shape {expected}, got {val_out.shape}")
    val_out[...] = val_in[rows[:, None], columns]


def _check_array(name: str, array: object) -> None:
    values = cast("NDArray[Any]", array)
    is_array = isinstance(array, np.ndarray)
    if not (is_array and values.dtype == np.float64 and values.ndim == _SUBSET_AXES):
        raise ArgumentError(
            f"{name} must be a float64 array with three axes, got {quote(values)}"
        )


def _to_positions(index: ArrayLike, count: int) -> NDArray[np.intp]:
    positions = np.asarray(index, np.intp)
    if len(positions) and not 0 <= positions.min() <= positions.max() < count:
        raise OutOfRangeError(f"an index is out of bounds for an axis of size {count}")
    return positions
