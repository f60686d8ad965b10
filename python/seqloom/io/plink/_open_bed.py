"""Genotypes of a PLINK .bed file, as arrays."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from seqloom._arguments import as_flag
from seqloom._rust import _native
from seqloom.errors import ArgumentError, MissingFileError
from seqloom.io.plink._bed_properties import BedProperties
from seqloom.io.plink._file_set import check_same, finish_set, identify
from seqloom.io.plink._index import length, part_of, positions, split_index
from seqloom.io.plink._location import absolute, chosen, parse_location, with_suffix
from seqloom.io.plink._read import array_for, kind_of, threads_of
from seqloom.io.plink._read_remote import RemoteReader, Requests
from seqloom.io.plink._reference import ReferenceBed
from seqloom.io.plink._remote import RemoteBed
from seqloom.io.plink._sparse import check_sparse, to_sparse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, Self
    from urllib.parse import ParseResult

    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from scipy.sparse import csc_matrix, csr_matrix

    from seqloom.io.plink._file_set import Identity
    from seqloom.io.plink._index import Positions

_NOTHING: Mapping[str, Any] = MappingProxyType({})
# What belongs to one process, and is made anew in another.
_OF_PROCESS = {"_handle": None, "_process": 0, "_identity": None}


class open_bed(BedProperties):
    """Reads genotypes of a PLINK .bed file by individual and variant.

    The signatures and their meaning are those of bed_reader. What bed_reader reads without
    a word and wrongly is an error here: tables that do not fit the .bed (even where the
    number of bytes is the same, as far as the padding of the last byte shows it), a .bed
    that is cut or that changes while it is read.

    The .bed stays open until the object is closed by a ``with`` block or is gone; another
    read opens it again. The tables are read as their columns are asked for. An object may
    be used by many threads, pickled, and used in forked processes.

    Args:
        location: The .bed: a path, or a URL such as ``"s3://bucket/x.bed"``.
        iid_count: How many individuals there are; None counts the lines of the .fam.
        sid_count: How many variants there are; None counts the lines of the .bim.
        properties: Columns that stand in for those of the tables, by property; None hides
            a property, and NaN becomes the property's missing value.
        count_A1: Whether allele A1 is counted, or A2.
        num_threads: How many threads decode; None or 0: as many as the machine allows.
        skip_format_check: Whether the .bed is opened at the first read instead of now, and
            its padding is not looked at.
        fam_location: The .fam, where it is not beside the .bed under the same name.
        bim_location: The .bim, likewise.
        cloud_options: How to reach a URL, such as ``{"timeout": "10s"}``.
        max_concurrent_requests: How many requests to the cloud run at once; None: 10.
        max_chunk_bytes: How much a request asks for at most; None: 8,000,000 bytes.
        filepath: An old name of ``location``.
        fam_filepath: An old name of ``fam_location``.
        bim_filepath: An old name of ``bim_location``.

    Raises:
        MissingFileError: There is no such .bed.
        FormatError: It is no .bed.
        IdError: ``properties`` names one that does not exist.
        ArgumentError: Properties do not fit each other or the counts.

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
    count_A1: bool  # noqa: N815 - bed_reader's name
    skip_format_check: bool

    _place: Path | ParseResult
    _handle: _native.BedFile | RemoteBed | None
    _process: int
    _identity: Identity | None

    def __init__(
        self,
        location: str | os.PathLike[str] | ParseResult | None,
        iid_count: int | None = None,
        sid_count: int | None = None,
        properties: Mapping[str, ArrayLike | None] = _NOTHING,
        count_A1: bool = True,
        num_threads: int | None = None,
        skip_format_check: bool = False,
        fam_location: str | os.PathLike[str] | ParseResult | None = None,
        bim_location: str | os.PathLike[str] | ParseResult | None = None,
        cloud_options: Mapping[str, str] = _NOTHING,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
        filepath: str | os.PathLike[str] | None = None,
        fam_filepath: str | os.PathLike[str] | None = None,
        bim_filepath: str | os.PathLike[str] | None = None,
    ) -> None:
        bed = parse_location(chosen(location, filepath, ("location", "filepath")))
        fam = chosen(fam_location, fam_filepath, ("fam_location", "fam_filepath"))
        bim = chosen(bim_location, bim_filepath, ("bim_location", "bim_filepath"))
        super().__init__(
            {
                "fam": absolute(
                    with_suffix(bed, "fam") if fam is None else parse_location(fam)
                ),
                "bim": absolute(
                    with_suffix(bed, "bim") if bim is None else parse_location(bim)
                ),
            },
            {"fam": iid_count, "bim": sid_count},
            properties,
            cloud_options=cloud_options,
        )
        self.location, self._place, self.count_A1 = (
            bed,
            absolute(bed),
            as_flag("count_A1", count_A1),
        )
        self.skip_format_check = as_flag("skip_format_check", skip_format_check)
        self._num_threads = num_threads
        self._requests = Requests().changed(max_concurrent_requests, max_chunk_bytes)
        vars(self).update(_OF_PROCESS)
        if not skip_format_check:
            self._open()

    def read(
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
        """Reads genotypes of some individuals and variants.

        Args:
            index: Which: None is all; a tuple holds an index of individuals and one of
                variants; anything else is one of variants. Each may be None, a number, a
                slice, a list or an array of numbers (negative ones count from the end), or
                a mask. The two are independent: the result has all pairs.
            dtype: ``"int8"`` (missing is -127), ``"float32"`` or ``"float64"`` (NaN).
            order: How the result lies in memory: ``"F"``, individuals of a variant side by
                side, or ``"C"``, variants of an individual.
            force_python_only: Whether plain NumPy decodes, which is slow. Files only.
            num_threads: How many threads decode; None: as the object says.
            max_concurrent_requests: How many requests to the cloud run at once.
            max_chunk_bytes: How much a request asks for at most.
            out: The array to fill, of the result's shape, dtype and order.

        Returns:
            How many copies of the counted allele each individual has of each variant, in an
            array of individuals by variants: ``out``, or a new one.

        Raises:
            ArgumentError: The dtype or the order is none of these, or ``out`` does not fit.
            OutOfRangeError: An index lies beyond the file.
            MemoryLimitError: The result does not fit into memory.
            FormatError: The .bed is no such file, or does not fit its tables.
            FileError: The file cannot be read, or changed since it was opened.
        """
        kind = kind_of(dtype)
        shape = self.shape
        iid, sid = self._positions(index)
        size = length(iid, shape[0]), length(sid, shape[1])
        result = array_for(size, kind, order, out=out)
        threads = threads_of(num_threads, self._num_threads)
        reader = self._open()
        if isinstance(reader, RemoteBed):
            requests = self._requests.changed(max_concurrent_requests, max_chunk_bytes)
            reader = RemoteReader(reader, requests)
        elif force_python_only and isinstance(self._place, Path):
            reader = ReferenceBed(self._place)
        reader.read(
            shape,
            iid,
            sid,
            result,
            count_a1=self.count_A1,
            check=not self.skip_format_check,
            threads=threads,
        )
        return result

    def read_sparse(
        self,
        index: Any = None,
        dtype: DTypeLike = "float32",
        batch_size: int | None = None,
        format: Literal["csc", "csr"] = "csc",  # noqa: A002 - bed_reader's word for it
        num_threads: int | None = None,
        max_concurrent_requests: int | None = None,
        max_chunk_bytes: int | None = None,
    ) -> csc_matrix | csr_matrix:
        """Reads genotypes into a sparse matrix, which holds no zeros.

        Args:
            index: Which, as `read` takes it.
            dtype: The kind of numbers, as `read` takes it; missing values are stored.
            batch_size: How many variants (csr: individuals) are dense at a time; None: as
                many as take some MB.
            format: ``"csc"``, by variant, or ``"csr"``, by individual.
            num_threads: As `read` takes it.
            max_concurrent_requests: As `read` takes it.
            max_chunk_bytes: As `read` takes it.

        Returns:
            A matrix of scipy's, of individuals by variants.

        Raises:
            MissingExtraError: scipy is not installed.
            ArgumentError: The format, the dtype or the batch size is none of these.
            OutOfRangeError: An index lies beyond the file.
            FormatError: The .bed is no such file, or does not fit its tables.
            FileError: The file cannot be read, or changed since it was opened.

        Examples:
            >>> from seqloom.io import to_bed
            >>> to_bed("small.bed", [[1, 0, -127, 0], [2, 0, -127, 2], [0, 1, 2, 0]])
            >>> print(open_bed("small.bed").read_sparse([0, -1], dtype="int8").data)
            [1 2 2]
        """
        check_sparse(format, batch_size)
        kind = kind_of(dtype)
        iid, sid = self._positions(index)
        by_variant = format == "csc"
        shape = length(iid, self.iid_count), length(sid, self.sid_count)

        def lines(some: slice) -> NDArray[Any]:
            index = (iid, part_of(sid, some)) if by_variant else (part_of(iid, some), sid)
            options = num_threads, max_concurrent_requests, max_chunk_bytes
            piece = self.read(index, kind, "F" if by_variant else "C", False, *options)
            return piece.T if by_variant else piece

        return to_sparse(lines, shape, kind, form=format, at_once=batch_size)

    @property
    def major(self) -> str:
        """What a line of the .bed is: ``"SNP"`` or ``"individual"``."""
        return self._open().major

    def __len__(self) -> int:
        raise ArgumentError(
            f"{self} has two axes: .iid_count individuals and .sid_count variants"
        )

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: object) -> NoReturn:
        raise ArgumentError(
            f"{self}: genotypes are read by .read(index), such as .read(np.s_[0, :]) for "
            "the first individual; sl.data.GenotypeDataset gives samples one by one"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        vars(self).update(_OF_PROCESS)

    def __str__(self) -> str:
        where = self.location
        name = str(where) if isinstance(where, Path) else where.geturl()
        return f"{type(self).__name__}({name!r},...)"

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        """Gives what another process needs: everything but the open file."""
        return vars(self) | _OF_PROCESS

    def _positions(self, index: Any) -> tuple[Positions, Positions]:
        """Gives the positions of individuals and of variants that an index means."""
        iid, sid = split_index(index)
        shape = self.shape
        return positions(iid, shape[0]), positions(sid, shape[1])

    def _native(self) -> _native.BedFile:
        """Gives the native file of this process."""
        handle = self._open()
        if isinstance(handle, RemoteBed):
            raise ArgumentError(f"{self}: expected a file, got a location in the cloud")
        return handle

    def _open(self) -> _native.BedFile | RemoteBed:
        """Gives the file or the object in the cloud, opened by this process."""
        if self._handle is None or self._process != os.getpid():
            self._handle = self._opened()
            self._process = os.getpid()
        return self._handle

    def _opened(self) -> _native.BedFile | RemoteBed:
        """Opens the .bed; in a forked process it must be the parent's file still."""
        if not isinstance(self._place, Path):
            return RemoteBed(self._place, self.cloud_options, check=True)
        finish_set(self._place)
        known = self._identity or identify(self._place)
        handle = _open_file(self._place)
        self._identity = known
        self._check_set()
        return handle

    def _check_set(self) -> None:
        """Refuses a .bed, or tables, of another set than what is open."""
        if isinstance(self._place, Path) and self._identity:
            check_same(self._place, self._identity)


def _open_file(path: Path) -> _native.BedFile:
    """Opens a .bed, if need be behind a writer that is about to name a new one."""
    try:
        return _native.BedFile(path, check=True)
    except MissingFileError:
        finish_set(path)
        if not path.exists():
            raise
        return _native.BedFile(path, check=True)
