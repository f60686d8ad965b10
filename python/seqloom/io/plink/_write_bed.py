"""Write genotypes as a PLINK .bed, .fam and .bim: a whole array, or row by row."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_bool
from seqloom._rust import _native
from seqloom.errors import ArgumentError, ClosedError
from seqloom.io.plink._file_set import name_set_files, write_set_files, write_tables
from seqloom.io.plink._properties import as_count, complete_columns
from seqloom.io.plink._selection import choose_thread_count

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

_EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})
_PACK_BYTES = 8 << 20  # number of bytes of values packed at a time
_AXIS_COUNTS = {"matrix": 2, "vector": 1}
_DTYPE_NAMES = ("int8", "float32", "float64")
_MISSING_GENOTYPE = -127
_INVALID_GENOTYPE = -1  # an invalid value that replaces integers that do not fit in 8 bits


def to_bed(
    filepath: str | os.PathLike[str],
    val: ArrayLike,
    properties: Mapping[str, ArrayLike | None] = _EMPTY_MAPPING,
    count_A1: bool = True,
    fam_filepath: str | os.PathLike[str] | None = None,
    bim_filepath: str | os.PathLike[str] | None = None,
    major: str = "SNP",
    num_threads: int | None = None,
) -> None:
    """Write genotypes as a PLINK .bed, with its .fam and .bim.

    Existing files are replaced only when all three new files are complete.

    Args:
        filepath: The path of the .bed.
        val: An array (individuals, variants) with the values 0, 1, 2 and missing (NaN, or
            -127 for integers).
        properties: A dict from property name to a column of the .fam or .bim. By default,
            ids are ``iid1``, ``iid2`` ... and ``sid1``, ``sid2`` ..., and all other
            properties are missing.
        count_A1: True if the values count allele A1, False if they count A2.
        fam_filepath: The path of the .fam; None replaces the suffix .bed by .fam.
        bim_filepath: The path of the .bim; None replaces the suffix .bed by .bim.
        major: The layout: ``"SNP"`` (each row is a variant) or ``"individual"``.
        num_threads: Number of packing threads; None or 0 uses all cores.

    Raises:
        ArgumentError: ``val`` contains an invalid value, is not two-dimensional or not
            contiguous, or does not match the properties.
        IdError: ``properties`` has an unknown name.
        FileError: A file cannot be written.

    Examples:
        >>> from seqloom.io import open_bed
        >>> to_bed("x.bed", [[0, 1], [2, -127]], properties={"sid": ["rs1", "rs2"]})
        >>> open_bed("x.bed").read()
        array([[ 0.,  1.],
               [ 2., nan]], dtype=float32)
        >>> from pathlib import Path
        >>> Path("x.bim").read_text()
        '0\\trs1\\t0.0\\t0\\tA1\\tA2\\n0\\trs2\\t0.0\\t0\\tA1\\tA2\\n'
    """
    values = _to_genotypes(val, "matrix")
    if not (values.flags.c_contiguous or values.flags.f_contiguous):
        raise ArgumentError("val must be contiguous; pass np.ascontiguousarray(val)")
    threads = choose_thread_count(num_threads, None)
    packer = GenotypePacker(major, count_A1, threads)
    columns = complete_columns(properties, {"fam": len(values), "bim": values.shape[1]})
    with write_set_files(name_set_files(filepath, fam_filepath, bim_filepath)) as parts:
        write_tables(parts, columns)
        with parts[0].open("wb") as file:
            file.write(packer.header)
            for lines in packer.pack_all(values):
                file.write(lines.data)


class create_bed:
    """Writer of a PLINK .bed, row by row, with its .fam and .bim.

    The three files are created, or replaced, when all rows have been written and the writer
    is closed. After an error, no file is written.

    Args:
        location: The path of the .bed.
        iid_count: Number of individuals.
        sid_count: Number of variants.
        properties: A dict from property name to a column of the .fam or .bim, as in
            `to_bed`.
        count_A1: True if the values count allele A1, False if they count A2.
        fam_location: The path of the .fam; None replaces the suffix .bed by .fam.
        bim_location: The path of the .bim; None replaces the suffix .bed by .bim.
        major: The layout: ``"SNP"`` (each row is a variant) or ``"individual"``.

    Raises:
        ArgumentError: ``major`` is unknown, or the properties do not match ``iid_count``
            and ``sid_count``.
        IdError: ``properties`` has an unknown name.
        FileError: A file cannot be written.

    Examples:
        >>> from seqloom.io import open_bed
        >>> with create_bed("x.bed", iid_count=3, sid_count=2) as bed:
        ...     bed.write([0, 1, 2])
        ...     bed.write([2, -127, 0])
        >>> open_bed("x.bed").read(dtype="int8")
        array([[   0,    2],
               [   1, -127],
               [   2,    0]], dtype=int8)
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        iid_count: int,
        sid_count: int,
        properties: Mapping[str, ArrayLike | None] = _EMPTY_MAPPING,
        count_A1: bool = True,
        fam_location: str | os.PathLike[str] | None = None,
        bim_location: str | os.PathLike[str] | None = None,
        major: str = "SNP",
    ) -> None:
        files = name_set_files(location, fam_location, bim_location)
        self._packer = GenotypePacker(major, count_A1)
        iid_count, sid_count = as_count("fam", iid_count), as_count("bim", sid_count)
        columns = complete_columns(properties, {"fam": iid_count, "bim": sid_count})
        self.location, self.count_A1, self.major = files[0], count_A1, major
        self.iid_count, self.sid_count = iid_count, sid_count
        self.write_count = 0
        with ExitStack() as stack:
            parts = stack.enter_context(write_set_files(files))
            write_tables(parts, columns)
            self._file = stack.enter_context(parts[0].open("wb"))
            self._file.write(self._packer.header)
            self._open: ExitStack | None = stack.pop_all()

    def write(self, vector: ArrayLike) -> None:
        """Write the next row: a variant, or an individual in the individual-major layout.

        Args:
            vector: The values of the row: 0, 1, 2 and missing, as in `to_bed`.

        Raises:
            ArgumentError: A value is invalid, the vector has the wrong length, or all rows
                have been written. After an error, no file is written.
            ClosedError: The writer is closed.
            FileError: The file cannot be written.
        """
        if self._open is None:
            raise ClosedError(
                f"{self.location}: Attempt to write after it was closed: make a new "
                "create_bed"
            )
        try:
            self._file.write(self._pack_line(vector).data)
        except BaseException as error:
            self._discard_files(error)
            raise
        self.write_count += 1

    def close(self) -> None:
        """Complete the three files; repeated calls have no effect.

        Raises:
            ArgumentError: Not all rows were written, so no file is created.
            FileError: A file cannot be written.
        """
        if self._open is None:
            return
        if self.write_count < self._row_count:
            error = ArgumentError(
                f"{self.location}: Attempt to write fewer vectors ({self.write_count}) "
                f"than expected ({self._row_count})"
            )
            self._discard_files(error)
            raise error
        closing, self._open = self._open, None
        closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            self.close()
        else:
            self._discard_files(error)

    @property
    def _row_count(self) -> int:
        """Number of rows of the .bed."""
        return self.sid_count if self.major == "SNP" else self.iid_count

    def _pack_line(self, vector: ArrayLike) -> NDArray[np.uint8]:
        """Pack one row after checking its length."""
        values = _to_genotypes(vector, "vector")
        width = self.iid_count if self.major == "SNP" else self.sid_count
        if len(values) != width:
            raise ArgumentError(f"Expected vector of {width} values, got {len(values)}")
        if self.write_count == self._row_count:
            raise ArgumentError(
                f"Attempt to write more vectors ({self._row_count + 1}) than expected "
                f"({self._row_count})"
            )
        return self._packer.pack_lines(values[np.newaxis], self.write_count)

    def _discard_files(self, error: BaseException) -> None:
        """Remove the temporary files without changing existing files."""
        closing, self._open = self._open, None
        if closing:
            closing.__exit__(type(error), error, error.__traceback__)


@dataclass(frozen=True, slots=True)
class GenotypePacker:
    """Packer of values into rows of two-bit codes."""

    major: str  # layout: "SNP" or "individual"
    count_a1: bool  # True if values count allele A1, False if A2
    threads: int = 1

    def __post_init__(self) -> None:
        as_bool("count_A1", self.count_a1)
        if self.major not in ("SNP", "individual"):
            raise ArgumentError(f"major must be 'SNP' or 'individual', not {self.major!r}")

    @property
    def header(self) -> bytes:
        """The first bytes of the .bed, before its first row."""
        return b"\x6c\x1b" + bytes([self.major == "SNP"])

    def pack_all(self, values: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
        """Yield packed rows of an array of individuals by variants, in blocks."""
        by_line = values.T if self.major == "SNP" else values
        count, positions = by_line.shape
        at_once = max(1, _PACK_BYTES // max(positions * values.itemsize, 1))
        for first in range(0, count, at_once):
            yield self.pack_lines(by_line[first : first + at_once], first)

    def pack_lines(self, lines: NDArray[Any], first: int) -> NDArray[np.uint8]:
        """Pack rows; `first` is the index of the first row for error messages."""
        small = lines
        if lines.dtype.kind != "f" and lines.dtype != np.int8:
            small = lines.astype(np.int8)
            small[small != lines] = _INVALID_GENOTYPE
        if not (small.flags.c_contiguous or small.flags.f_contiguous):
            small = small.copy(order="K")
        packed = np.empty((len(small), -(-small.shape[1] // 4)), np.uint8)
        count_a1, threads = self.count_a1, self.threads
        try:
            _native.pack_codes(
                small, packed, transposed=False, count_a1=count_a1, threads=threads
            )
        except ArgumentError as error:
            raise self._make_error(lines, small, first) from error
        return packed

    def _make_error(
        self, lines: NDArray[Any], small: NDArray[Any], first: int
    ) -> ArgumentError:
        """Return an error about the first value that a .bed cannot store."""
        missing = small == _MISSING_GENOTYPE if small.dtype == np.int8 else np.isnan(small)
        line, i = np.argwhere(~(missing | np.isin(small, (0, 1, 2))))[0]
        at = (i, first + line) if self.major == "SNP" else (first + line, i)
        return ArgumentError(
            "Attempt to write illegal value to BED file. Only 0,1,2,missing allowed. "
            f"Individual {at[0]}, variant {at[1]} is {lines[line, i]} (missing is NaN, "
            "or -127 for integers)"
        )


def _to_genotypes(data: ArrayLike, shape: Literal["matrix", "vector"]) -> NDArray[Any]:
    """Convert values to an array of integers or floats."""
    try:
        values = np.asarray(data)
    except ValueError as error:
        raise ArgumentError(
            f"the values must be a {shape} of 0, 1, 2 and missing values, with rows of "
            f"equal length; NumPy reports: {error}"
        ) from error
    if values.dtype.kind == "f" and values.dtype not in _DTYPE_NAMES:
        values = values.astype(np.float32)
    if values.dtype.kind not in "iu" and values.dtype not in _DTYPE_NAMES:
        raise ArgumentError(
            f"dtype '{values.dtype}' not known, only 'int8', 'float32', and 'float64' are "
            "allowed."
        )
    dimensions = _AXIS_COUNTS[shape]
    if values.ndim != dimensions:
        raise ArgumentError(
            f"the values must be a {shape} (dimensions: {dimensions}), got {values.ndim} "
            "dimensions"
        )
    return values
