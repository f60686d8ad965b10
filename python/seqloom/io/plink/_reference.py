"""Two-bit genotypes by plain NumPy: slow, easy to see through, the measure of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, FileError, FormatError, MissingFileError
from seqloom.io.plink._padding import is_filled_up, look_at_last_places

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.io.plink._index import Positions

MAGIC = b"\x6c\x1b"
MAJORS = {0: "individual", 1: "SNP"}
MISSING = -127
_HEADER = 3
_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


class ReferenceBed:
    """Reads a .bed file as the native class does.

    Args:
        path: The file.

    Raises:
        FormatError: The first three bytes are not those of a .bed file.
        MissingFileError: There is no such file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        header = self._bytes(0, _HEADER)
        if header[:2] != MAGIC or len(header) < _HEADER or header[2] not in MAJORS:
            raise FormatError(
                f"{path}: Not a valid .bed file: expected 6c 1b and then 00 or 01, "
                f"found {header.hex(' ') or 'nothing'}",
                kind="header",
                path=str(path),
            )
        self.major = MAJORS[header[2]]

    def read(
        self,
        shape: tuple[int, int],
        iid: Positions,
        sid: Positions,
        out: NDArray[Any],
        *,
        count_a1: bool,
        check: bool,
        threads: int,
    ) -> None:
        """Fills an array with the genotypes of the chosen individuals and variants."""
        variants_first = self.major == "SNP"
        places, lines = shape if variants_first else shape[::-1]
        stride = -(-places // 4)
        self._check_length(_HEADER + stride * lines)
        packed = np.frombuffer(self._bytes(_HEADER, stride * lines), np.uint8)
        packed = packed.reshape(lines, stride)
        if check:
            self._check_padding(packed, places)
        del threads  # one is enough here
        values = decode(packed, places, out.dtype, count_a1=count_a1)
        whole = values.T if variants_first else values
        out[...] = whole[_all(iid)][:, _all(sid)]

    def _check_length(self, expected: int) -> None:
        """Compares the file's length with what its tables say."""
        found = self._path.stat().st_size
        if found != expected:
            raise FormatError(
                f"{self._path}: Ill-formed .bed file: expected {expected} bytes by its "
                f".fam and .bim, found {found}",
                kind="cut" if found < expected else "length",
                path=str(self._path),
            )

    def _check_padding(self, lines: NDArray[np.uint8], places: int) -> None:
        """Refuses lines whose last byte holds more places than there are."""
        if not lines.size:
            return
        if not is_filled_up(lines[:, -1], places, str(self._path)):
            raise FormatError(
                f"{self._path}: the last byte of a line holds more than {places % 4} "
                "places; the .fam or .bim is short, or belongs to another file",
                path=str(self._path),
            )
        look_at_last_places(lines[:, -1], places, str(self._path))

    def _bytes(self, start: int, count: int) -> bytes:
        """Reads some bytes of the file."""
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                return file.read(count)
        except FileNotFoundError as error:
            raise MissingFileError(f"{self._path}: no such file") from error
        except OSError as error:
            raise FileError(f"{self._path}: cannot be read: {error.strerror}") from error


def decode(
    lines: NDArray[np.uint8], places: int, kind: np.dtype[Any], *, count_a1: bool
) -> NDArray[Any]:
    """Makes numbers of two-bit lines, four codes a byte, the first in the lowest bits."""
    codes = ((lines[:, :, None] >> _SHIFTS) & 3).reshape(len(lines), 4 * lines.shape[1])
    return values_of(kind, count_a1=count_a1)[codes[:, :places]]


def encode(values: NDArray[Any], *, count_a1: bool) -> NDArray[np.uint8]:
    """Makes two-bit lines of rows of numbers."""
    if not legal(values).all():
        raise ArgumentError("Only 0,1,2,missing allowed.")
    table = values_of(values.dtype, count_a1=count_a1)
    codes = np.ones((len(values), -(-values.shape[1] // 4) * 4), np.uint8)
    codes[:, values.shape[1] :] = 0
    for code in (0, 2, 3):
        codes[:, : values.shape[1]][values == table[code]] = code
    fours = codes.reshape(len(values), codes.shape[1] // 4, 4)
    return (fours << _SHIFTS).sum(2, dtype=np.uint8)


def legal(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Says which values a .bed file can hold: 0, 1, 2 and missing."""
    missing = values == MISSING if values.dtype == np.int8 else np.isnan(values)
    return missing | np.isin(values, (0, 1, 2))


def values_of(kind: np.dtype[Any], *, count_a1: bool) -> NDArray[Any]:
    """Gives the number that each of the four codes means."""
    missing = MISSING if kind == np.int8 else np.nan
    return np.array([2, missing, 1, 0] if count_a1 else [0, missing, 1, 2], kind)


def _all(chosen: Positions) -> slice | NDArray[np.int64]:
    """Makes an index of NumPy's of positions."""
    return slice(None) if chosen is None else chosen
