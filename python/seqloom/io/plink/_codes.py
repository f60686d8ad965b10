"""Two-bit genotypes by plain NumPy (slow, simple, the reference of tests), and padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._warning import warn_user
from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    MissingFileError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from seqloom.io.plink._selection import Positions

# A code other than 0 in the padding is no genotype if at least so many lines agree.
_FILLED = 8
# Last values of 0 may be padding if at least so many lines agree.
_LINES = 64
_HINT = "skip_format_check=True (--skip-format-check) reads without this warning"


def is_padding(last: NDArray[np.uint8], values: int, name: str) -> bool:
    """Says whether the bits after a line's last value are padding; may warn."""
    used = values % 4
    padding = last >> 2 * used if used else last[:0]
    if not padding.any():
        return True
    code = padding[0] & 3
    one = sum(int(code) << 2 * i for i in range(4 - used))
    if len(last) < _FILLED or (padding != one).any():
        return False
    warn_user(
        f"{name}: behind the last of {values} genotypes the bits are {code:02b} in every "
        "line, where PLINK writes 00; they are ignored, because some tools write them so, "
        f"but the .fam or .bim may be too short ({_HINT})"
    )
    return True


def check_last_values(last: NDArray[np.uint8], values: int, name: str) -> None:
    """Warns where the last genotype of every line is homozygous A1, as padding is."""
    shift = 2 * ((values - 1) % 4)
    if shift and len(last) >= _LINES and not (last >> shift).any():
        warn_user(
            f"{name}: the last genotype is homozygous A1 in every one of {len(last)} "
            "lines, as padding is: check that the .fam or .bim is not too long and does "
            f"not belong to another file ({_HINT})"
        )


MAGIC = b"\x6c\x1b"
MAJORS = {0: "individual", 1: "SNP"}
MISSING = -127
HEADER = 3
_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


class ReferenceBed:
    """Reads a .bed file as the native class does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        header = self._bytes(0, HEADER)
        if header[:2] != MAGIC or len(header) < HEADER or header[2] not in MAJORS:
            raise FormatError(
                f"{path}: Not a valid .bed file: expected the bytes 6c 1b and 00 or 01, "
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
        width, lines = shape if variants_first else shape[::-1]
        stride = -(-width // 4)
        self._check_length(HEADER + stride * lines)
        packed = np.frombuffer(self._bytes(HEADER, stride * lines), np.uint8)
        packed = packed.reshape(lines, stride)
        if check:
            self._check_padding(packed, width)
        del threads  # NumPy decodes by one
        values = decode(packed, width, out.dtype, count_a1=count_a1)
        whole = values.T if variants_first else values
        out[...] = whole[_to_index(iid)][:, _to_index(sid)]

    def _check_length(self, expected: int) -> None:
        """Compares the length of the file with that of its tables."""
        found = self._path.stat().st_size
        if found != expected:
            raise FormatError(
                f"{self._path}: Ill-formed .bed file: its .fam and .bim need {expected} "
                f"bytes, found {found}",
                kind="cut" if found < expected else "length",
                path=str(self._path),
            )

    def _check_padding(self, lines: NDArray[np.uint8], width: int) -> None:
        """Refuses lines with more genotypes in the last byte than the tables say."""
        if not lines.size:
            return
        if not is_padding(lines[:, -1], width, str(self._path)):
            raise FormatError(
                f"{self._path}: the last byte of a line has more than {width % 4} "
                "genotypes; the .fam or .bim is too short, or belongs to another file",
                path=str(self._path),
            )
        check_last_values(lines[:, -1], width, str(self._path))

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
    lines: NDArray[np.uint8], width: int, kind: np.dtype[Any], *, count_a1: bool
) -> NDArray[Any]:
    """Decodes lines, four codes in a byte, the first in the lowest bits."""
    codes = ((lines[:, :, None] >> _SHIFTS) & 3).reshape(len(lines), 4 * lines.shape[1])
    return list_values(kind, count_a1=count_a1)[codes[:, :width]]


def encode(values: NDArray[Any], *, count_a1: bool) -> NDArray[np.uint8]:
    """Encodes rows of values as lines of two-bit codes."""
    if not find_legal(values).all():
        raise ArgumentError("Only 0,1,2,missing allowed.")
    table = list_values(values.dtype, count_a1=count_a1)
    codes = np.ones((len(values), -(-values.shape[1] // 4) * 4), np.uint8)
    codes[:, values.shape[1] :] = 0
    for code in (0, 2, 3):
        codes[:, : values.shape[1]][values == table[code]] = code
    fours = codes.reshape(len(values), codes.shape[1] // 4, 4)
    return (fours << _SHIFTS).sum(2, dtype=np.uint8)


def find_legal(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns a mask of the values that a .bed can hold: 0, 1, 2 and missing."""
    missing = values == MISSING if values.dtype == np.int8 else np.isnan(values)
    return missing | np.isin(values, (0, 1, 2))


def list_values(kind: np.dtype[Any], *, count_a1: bool) -> NDArray[Any]:
    """Returns the values of the four codes."""
    missing = MISSING if kind == np.int8 else np.nan
    return np.array([2, missing, 1, 0] if count_a1 else [0, missing, 1, 2], kind)


def _to_index(chosen: Positions) -> slice | NDArray[np.int64]:
    """Converts positions to an index of NumPy."""
    return slice(None) if chosen is None else chosen
