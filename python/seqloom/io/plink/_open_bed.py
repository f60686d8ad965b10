"""Read genotypes of a PLINK .bed file as arrays."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from seqloom._arguments import as_bool
from seqloom.errors import ArgumentError, MissingExtraError
from seqloom.io.plink._bed_properties import BedProperties
from seqloom.io.plink._cloud_bed import RemoteBed
from seqloom.io.plink._cloud_reader import RemoteReader, RequestLimits
from seqloom.io.plink._file_set import (
    absolute_location,
    check_not_replaced,
    locate_table,
    open_bed_file,
    parse_location,
)
from seqloom.io.plink._selection import (
    as_genotype_dtype,
    choose_thread_count,
    count_positions,
    find_positions,
    prepare_genotypes,
    slice_positions,
    split_index,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, Self
    from urllib.parse import ParseResult

    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from scipy.sparse import csc_matrix, csr_matrix

    from seqloom._rust import _native
    from seqloom.io.plink._file_set import Identity
    from seqloom.io.plink._selection import Positions

_EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})
# Number of values decoded at a time for a sparse matrix; each nonzero value also needs
# an 8-byte index.
_MAX_DENSE_VALUES = 1 << 21
_MAX_SPARSE_LINES = np.iinfo(np.int32).max
# Attributes that are not pickled, because another process opens the file again.
_UNOPENED_STATE = {"_handle": None, "_process": 0, "_identity": None}


class open_bed(BedProperties):
    """Reader of the genotypes of a PLINK .bed file.

    Methods have the same arguments and results as in bed_reader. Unlike bed_reader,
    `open_bed` raises an error if the .bed is truncated, changes while it is read, or does
    not match the .fam and .bim. A mismatch is detected from the file size, or from the
    padding in the last byte of each row.

    The .bed remains open until the ``with`` block ends or the `open_bed` is deleted; a
    later read opens the file again. A .fam or .bim is read when one of its columns is first
    used. Threads can share an `open_bed`; an `open_bed` can also be pickled, and used in
    forked processes.

    Args:
        location: The .bed: a path, or a URL such as ``"s3://bucket/x.bed"``.
        iid_count: Number of individuals; None uses the number of lines of the .fam.
        sid_count: Number of variants; None uses the number of lines of the .bim.
        properties: A dict from property name to a column that replaces the column of
            the .fam or .bim. The value None hides a property; NaN becomes the missing
            value of the property.
        count_A1: True to count allele A1, False to count A2.
        num_threads: Number of decoding threads; None or 0 uses all cores.
        skip_format_check: If True, open the .bed only at the first read, and do not check
            its padding.
        fam_location: The path or URL of the .fam; None replaces the suffix .bed by .fam.
        bim_location: The path or URL of the .bim; None replaces the suffix .bed by .bim.
        cloud_options: Options of the object store for a URL, such as ``{"timeout":
            "10s"}``.
        max_concurrent_requests: Maximum number of simultaneous requests to the object
            store; None means 10.
        max_chunk_bytes: Maximum number of bytes of one request; None means 8,000,000.

    Raises:
        MissingFileError: The .bed does not exist.
        FormatError: The file is not a PLINK .bed.
        IdError: ``properties`` has an unknown name.
        ArgumentError: The properties do not match each other or the counts.

    Examples:
        >>> import numpy as np
        >>> from seqloom.io import to_bed
        >>> to_bed("small.bed", [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]])
        >>> with open_bed("small.bed") as bed:
        ...     print(bed.read())
        [[ 1.  0. nan  0.]
         [ 2.  0. nan  2.]
         [ 0.  1.  2.  0.]]
        >>> bed.iid, bed.shape
        (array(['iid1', 'iid2', 'iid3'], dtype='<U4'), (3, 4))
        >>> bed.read(np.s_[1:, [-1, 0]], dtype="int8")
        array([[2, 2],
               [0, 0]], dtype=int8)
    """

    location: Path | ParseResult
    count_A1: bool
    skip_format_check: bool

    _path: Path | ParseResult
    _handle: _native.BedFile | RemoteBed | None
    _process: int
    _identity: Identity | None

    def __init__(
        self,
        location: str | os.PathLike[str] | ParseResult | None,
        iid_count: int | None = None,
        sid_count: int | None = None,
        properties: Mapping[str, ArrayLike | None] = _EMPTY_MAPPING,
        count_A1: bool = True,
        num_threads: int | None = None,
        skip_format_check: bool = False,
        fam_location: str | os.PathLike[str] | ParseResult | None = None,
        bim_location: str | os.PathLike[str] | ParseResult | None = None,
        cloud_options: Mapping[str, str] = _EMPTY_MAPPING,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
    ) -> None:
        bed = parse_location(location)
        super().__init__(
            {
                "fam": absolute_location(locate_table(bed, "fam", fam_location)),
                "bim": absolute_location(locate_table(bed, "bim", bim_location)),
            },
            {"fam": iid_count, "bim": sid_count},
            properties,
            cloud_options=cloud_options,
        )
        self.location, self._path = bed, absolute_location(bed)
        self.count_A1 = as_bool("count_A1", count_A1)
        self.skip_format_check = as_bool("skip_format_check", skip_format_check)
        self._num_threads = num_threads
        self._requests = RequestLimits().with_overrides(
            max_concurrent_requests, max_chunk_bytes
        )
        vars(self).update(_UNOPENED_STATE)
        if not skip_format_check:
            self._open_in_process()

    def read(
        self,
        index: Any = None,
        dtype: DTypeLike = "float32",
        order: str = "F",
        *,
        num_threads: int | None = None,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Read genotypes of selected individuals and variants.

        Args:
            index: The individuals and variants to read. None reads all genotypes. A
                tuple contains an index of individuals and an index of variants. Any
                other value is an index of variants. An index is None, an integer, a
                slice, a list or array of integers (negative ones count from the end),
                or a boolean mask. The result has a value for each pair of a selected
                individual and a selected variant.
            dtype: ``"int8"`` (missing is -127), ``"float32"`` or ``"float64"`` (missing is
                NaN).
            order: Memory order of the result: ``"F"`` (Fortran: the individuals of a
                variant are contiguous) or ``"C"`` (the variants of an individual are
                contiguous).
            num_threads: Number of decoding threads; None uses the number of the `open_bed`.
            max_concurrent_requests: Maximum number of simultaneous requests to the object
                store.
            max_chunk_bytes: Maximum number of bytes of one request.
            out: The array to fill, with the shape, dtype and order of the result.

        Returns:
            The number of copies of the counted allele, as an array (individuals, variants).
            The array is ``out`` if it was given.

        Raises:
            ArgumentError: The dtype or the order is unknown, or ``out`` does not match the
                result.
            OutOfRangeError: An index is out of range.
            MemoryLimitError: The result does not fit into memory.
            FormatError: The file is not a .bed, or does not match its tables.
            FileError: The file cannot be read, or has changed since it was opened.
        """
        kind = as_genotype_dtype(dtype)
        shape = self.shape
        iid, sid = self._find_positions(index)
        size = count_positions(iid, shape[0]), count_positions(sid, shape[1])
        result = prepare_genotypes(size, kind, order, out=out)
        threads = choose_thread_count(num_threads, self._num_threads)
        reader = self._open_in_process()
        if isinstance(reader, RemoteBed):
            requests = self._requests.with_overrides(
                max_concurrent_requests, max_chunk_bytes
            )
            reader = RemoteReader(reader, requests)
        check = not self.skip_format_check
        reader.read(
            shape, iid, sid, result, count_a1=self.count_A1, check=check, threads=threads
        )
        return result

    def read_sparse(
        self,
        index: Any = None,
        dtype: DTypeLike = "float32",
        batch_size: int | None = None,
        format: Literal["csc", "csr"] = "csc",  # noqa: A002 - the name in bed_reader
        num_threads: int | None = None,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
    ) -> csc_matrix | csr_matrix:
        """Read genotypes into a sparse matrix, which does not store zeros.

        Args:
            index: The individuals and variants, as in `read`.
            dtype: The dtype of the values, as in `read`; missing values are stored
                explicitly.
            batch_size: Number of variants (individuals for csr) that are decoded at a time;
                None chooses a number that needs a few MB.
            format: ``"csc"`` (by variant) or ``"csr"`` (by individual).
            num_threads: Number of decoding threads, as in `read`.
            max_concurrent_requests: Maximum number of simultaneous requests, as in `read`.
            max_chunk_bytes: Maximum number of bytes of one request, as in `read`.

        Returns:
            A scipy sparse matrix (individuals, variants).

        Raises:
            MissingExtraError: scipy is not installed.
            ArgumentError: The format or dtype is unknown, or the batch size is below 1.
            OutOfRangeError: An index is out of range.
            FormatError: The file is not a .bed, or does not match its tables.
            FileError: The file cannot be read, or has changed since it was opened.

        Examples:
            >>> from seqloom.io import to_bed
            >>> to_bed("small.bed", [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]])
            >>> print(open_bed("small.bed").read_sparse([0, -1], dtype="int8").data)
            [1 2 2]
        """
        _check_sparse_options(format, batch_size)
        kind = as_genotype_dtype(dtype)
        iid, sid = self._find_positions(index)
        by_variant = format == "csc"
        chosen, order = (sid, "F") if by_variant else (iid, "C")
        shape = count_positions(iid, self.iid_count), count_positions(sid, self.sid_count)

        def read_lines(some: slice) -> NDArray[Any]:
            part = slice_positions(chosen, some)
            piece = self.read(
                (iid, part) if by_variant else (part, sid),
                kind,
                order,
                num_threads=num_threads,
                max_concurrent_requests=max_concurrent_requests,
                max_chunk_bytes=max_chunk_bytes,
            )
            return piece.T if by_variant else piece

        return _read_sparse_matrix(read_lines, shape, kind, form=format, at_once=batch_size)

    @property
    def major(self) -> str:
        """Layout of the .bed: ``"SNP"`` (each row is a variant) or ``"individual"``."""
        return self._open_in_process().major

    def __len__(self) -> int:
        raise ArgumentError(
            f"{self} has two axes and no length: use .iid_count (individuals) or "
            ".sid_count (variants)"
        )

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: object) -> NoReturn:
        raise ArgumentError(
            f"{self}: use .read(index), such as .read(np.s_[0, :]) for the first "
            "individual, or sl.data.GenotypeDataset for single samples"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        vars(self).update(_UNOPENED_STATE)

    def __str__(self) -> str:
        where = self.location
        name = str(where) if isinstance(where, Path) else where.geturl()
        return f"{type(self).__name__}({name!r},...)"

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without the open file."""
        return vars(self) | _UNOPENED_STATE

    def _find_positions(self, index: Any) -> tuple[Positions, Positions]:
        """Return the indices of the selected individuals and variants."""
        iid, sid = split_index(index)
        shape = self.shape
        return find_positions(iid, shape[0]), find_positions(sid, shape[1])

    def _native(self) -> _native.BedFile:
        """Return the Rust object of the file that this process has opened."""
        handle = self._open_in_process()
        if isinstance(handle, RemoteBed):
            raise ArgumentError(
                f"{self}: expected a local file, got a URL: download it first"
            )
        return handle

    def _open_in_process(self) -> _native.BedFile | RemoteBed:
        """Return the file or cloud object that this process has opened."""
        if self._handle is not None and self._process == os.getpid():
            return self._handle
        if isinstance(self._path, Path):
            # In a forked process, the file must not have changed since the parent
            # opened it.
            handle, self._identity = open_bed_file(self._path, self._identity)
            self._check_not_replaced()
        else:
            handle = RemoteBed(self._path, self.cloud_options, check=True)
        self._handle, self._process = handle, os.getpid()
        return handle

    def _check_not_replaced(self) -> None:
        """Raise if the .bed or its tables have been replaced since they were opened."""
        if isinstance(self._path, Path) and self._identity:
            check_not_replaced(self._path, self._identity)


def _check_sparse_options(form: str, batch_size: int | None) -> None:
    """Raise if the format is unknown, the batch size is invalid or scipy is missing."""
    if form not in {"csc", "csr"}:
        raise ArgumentError(f"format {form!r} not known. Expected 'csc' or 'csr'.")
    if batch_size is not None and batch_size < 1:
        raise ArgumentError(f"batch_size must be at least 1, got {batch_size}")
    try:
        import_module("scipy.sparse")
    except ImportError as error:
        raise MissingExtraError("a sparse matrix needs scipy: pip install scipy") from error


def _read_sparse_matrix(
    read: Callable[[slice], NDArray[Any]],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    *,
    form: str,
    at_once: int | None,
) -> csc_matrix | csr_matrix:
    """Build a sparse matrix from batches of its columns (for csc) or rows (for csr)."""
    import scipy.sparse

    count, width = shape[::-1] if form == "csc" else shape
    if max(shape) > _MAX_SPARSE_LINES:
        raise ArgumentError(
            f"a sparse matrix has at most {_MAX_SPARSE_LINES} rows and columns, got {shape}"
        )
    at_once = at_once or max(1, _MAX_DENSE_VALUES // max(width, 1))
    pieces = [(np.empty(0, dtype), np.empty(0, np.int32), np.zeros(1, np.int64))]
    pieces += [
        _compress_sparse_lines(read(slice(first, min(first + at_once, count))))
        for first in range(0, count, at_once)
    ]
    data, indices, counts = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    ends = np.cumsum(counts)
    kind = np.int32 if ends[-1] <= _MAX_SPARSE_LINES else np.int64
    make = scipy.sparse.csc_matrix if form == "csc" else scipy.sparse.csr_matrix
    return make((data, indices, ends.astype(kind)), shape)


def _compress_sparse_lines(
    lines: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
    """Return nonzero values, their indices within a line, and their number in each line."""
    flat = lines.reshape(-1)
    stored = np.flatnonzero(flat)
    counts = np.count_nonzero(lines, axis=1)
    # `stored` counts from the first line; subtract the beginning of each line.
    begins = np.repeat(np.arange(len(lines)) * lines.shape[1], counts)
    return flat[stored], (stored - begins).astype(np.int32), counts
