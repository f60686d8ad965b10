"""Packing values into lines of a .bed, some lines at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_flag
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io.plink._codes import encode, find_legal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

_AT_ONCE = 8 << 20  # bytes of values that are packed at the same time
_DIMENSIONS = {"matrix": 2, "vector": 1}
_KINDS = ("int8", "float32", "float64")
_ILLEGAL = -1  # replaces an integer that does not fit 8 bits


@dataclass(frozen=True, slots=True)
class Packer:
    """Packs values into lines of two-bit codes."""

    major: str  # what a line is: "SNP" or "individual"
    count_a1: bool  # whether values count allele A1, or A2
    threads: int = 1
    plain: bool = False  # whether plain NumPy packs

    def __post_init__(self) -> None:
        as_flag("count_A1", self.count_a1)
        if self.major not in ("SNP", "individual"):
            raise ArgumentError(f"major must be 'SNP' or 'individual', not {self.major!r}")

    @property
    def header(self) -> bytes:
        """The bytes before the first line."""
        return b"\x6c\x1b" + bytes([self.major == "SNP"])

    def pack_all(self, values: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
        """Packs an array of individuals by variants, some lines at a time."""
        by_line = values.T if self.major == "SNP" else values
        count, positions = by_line.shape
        at_once = max(1, _AT_ONCE // max(positions * values.itemsize, 1))
        for first in range(0, count, at_once):
            yield self.pack(by_line[first : first + at_once], first)

    def pack(self, lines: NDArray[Any], first: int) -> NDArray[np.uint8]:
        """Packs lines; `first` is the number of the first one, for errors."""
        small = _narrow(lines)
        try:
            return self._pack_legal(small)
        except ArgumentError as error:
            raise self._fault(lines, find_legal(small), first) from error

    def _pack_legal(self, lines: NDArray[Any]) -> NDArray[np.uint8]:
        """Packs lines of legal values."""
        if self.plain:
            return encode(lines, count_a1=self.count_a1)
        if not (lines.flags.c_contiguous or lines.flags.f_contiguous):
            lines = lines.copy(order="K")
        packed = np.empty((len(lines), -(-lines.shape[1] // 4)), np.uint8)
        _native.pack_codes(
            lines, packed, transposed=False, count_a1=self.count_a1, threads=self.threads
        )
        return packed

    def _fault(
        self, lines: NDArray[Any], allowed: NDArray[np.bool_], first: int
    ) -> ArgumentError:
        """Makes the error that names the first value which a .bed cannot hold."""
        line, i = np.argwhere(~allowed)[0]
        at = (i, first + line) if self.major == "SNP" else (first + line, i)
        return ArgumentError(
            "Attempt to write illegal value to BED file. Only 0,1,2,missing allowed. "
            f"Individual {at[0]}, variant {at[1]} is {lines[line, i]} (missing is NaN, "
            "or -127 for integers)"
        )


def to_values(data: ArrayLike, shape: Literal["matrix", "vector"]) -> NDArray[Any]:
    """Converts values to an array of integers or of floating point."""
    try:
        values = np.asarray(data)
    except ValueError as error:
        raise ArgumentError(
            f"the values must be a {shape} of 0, 1, 2 and missing values, with rows of one "
            f"length; NumPy says: {error}"
        ) from error
    if values.dtype.kind == "f" and values.dtype not in _KINDS:
        values = values.astype(np.float32)
    if values.dtype.kind not in "iu" and values.dtype not in _KINDS:
        raise ArgumentError(
            f"dtype '{values.dtype}' not known, only 'int8', 'float32', and 'float64' are "
            "allowed."
        )
    dimensions = _DIMENSIONS[shape]
    if values.ndim != dimensions:
        raise ArgumentError(
            f"the values must be a {shape} (dimensions: {dimensions}), got {values.ndim} "
            "dimensions"
        )
    return values


def _narrow(lines: NDArray[Any]) -> NDArray[Any]:
    """Converts integers to 8 bits; those that do not fit become illegal values."""
    if lines.dtype.kind == "f" or lines.dtype == np.int8:
        return lines
    small = lines.astype(np.int8)
    small[small != lines] = _ILLEGAL
    return small
