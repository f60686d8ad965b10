"""Writing genotypes line by line as a PLINK .bed with its tables."""

from __future__ import annotations

from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, ClosedError
from seqloom.io.plink._file_set import write_set
from seqloom.io.plink._pack import Packer, to_values
from seqloom.io.plink._properties import check_count, complete
from seqloom.io.plink._read import threads_of
from seqloom.io.plink._to_bed import names_of_set, write_tables

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class create_bed:
    """Writes genotypes as a PLINK .bed, line by line, with its .fam and .bim.

    The three files appear together when the last line is written and the object is closed;
    until then those that were there before stay as they are. If anything fails, no file is
    made.

    Args:
        location: The .bed.
        iid_count: How many individuals there will be.
        sid_count: How many variants there will be.
        properties: Columns of the tables, as `to_bed` takes them.
        count_A1: Whether the values count allele A1, or A2.
        fam_location: The .fam, where it shall not be beside the .bed under the same name.
        bim_location: The .bim, likewise.
        major: What a line of the file is: ``"SNP"`` or ``"individual"``.
        force_python_only: Whether plain NumPy packs the values, which is slow.
        num_threads: Not used: a line is packed by one thread.

    Raises:
        ArgumentError: ``major`` is none of these, or properties do not fit the counts.
        IdError: ``properties`` names one that does not exist.
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
        properties: Mapping[str, ArrayLike | None] = _NOTHING,
        count_A1: bool = True,
        fam_location: str | os.PathLike[str] | None = None,
        bim_location: str | os.PathLike[str] | None = None,
        major: str = "SNP",
        force_python_only: bool = False,
        num_threads: int | None = None,
    ) -> None:
        files = names_of_set(location, fam_location, bim_location)
        self._packer = Packer(major, count_A1, plain=force_python_only)
        threads_of(num_threads, None)
        iid_count, sid_count = check_count("fam", iid_count), check_count("bim", sid_count)
        columns = complete(properties, {"fam": iid_count, "bim": sid_count})
        self.location, self.count_A1, self.major = files[0], count_A1, major
        self.iid_count, self.sid_count = iid_count, sid_count
        self.write_count = 0
        with ExitStack() as stack:
            parts = stack.enter_context(write_set(files))
            write_tables(parts, columns)
            self._file = stack.enter_context(parts[0].open("wb"))
            self._file.write(self._packer.header)
            self._open: ExitStack | None = stack.pop_all()

    def write(self, vector: ArrayLike) -> None:
        """Writes the next line: all individuals of a variant (or all variants of one).

        Args:
            vector: 0, 1, 2 and missing values, as `to_bed` takes them.

        Raises:
            ArgumentError: A value is none of these, the vector has another length, or all
                lines are written. Nothing more can be written then, and no file is made.
            ClosedError: The object is closed.
            FileError: The file cannot be written.
        """
        if self._open is None:
            raise ClosedError(f"{self.location}: Attempt to write after it was closed")
        try:
            self._file.write(self._line(vector).data)
        except BaseException as error:
            self._give_up(error)
            raise
        self.write_count += 1

    def close(self) -> None:
        """Gives the three files their names; a second time it does nothing.

        Raises:
            ArgumentError: There are fewer lines than was said. No file is made.
            FileError: A file cannot be written.
        """
        if self._open is None:
            return
        if self.write_count < self._lines:
            error = ArgumentError(
                f"{self.location}: Attempt to write fewer vectors ({self.write_count}) "
                f"than expected ({self._lines})"
            )
            self._give_up(error)
            raise error
        closing, self._open = self._open, None
        closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            self.close()
        else:
            self._give_up(error)

    @property
    def _lines(self) -> int:
        """How many lines there will be."""
        return self.sid_count if self.major == "SNP" else self.iid_count

    def _line(self, vector: ArrayLike) -> NDArray[np.uint8]:
        """Packs one line, which must be of the right length."""
        values = to_values(vector, "vector")
        places = self.iid_count if self.major == "SNP" else self.sid_count
        if len(values) != places:
            raise ArgumentError(f"Expected vector of {places} values, got {len(values)}")
        if self.write_count == self._lines:
            raise ArgumentError(
                f"Attempt to write more vectors ({self._lines + 1}) than expected "
                f"({self._lines})"
            )
        return self._packer.pack(values[np.newaxis], self.write_count)

    def _give_up(self, error: BaseException) -> None:
        """Removes what was written; the files that were there before stay."""
        closing, self._open = self._open, None
        if closing:
            closing.__exit__(type(error), error, error.__traceback__)
