"""Numbers as two-bit lines of a .bed, some lines at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_flag
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io.plink._reference import encode, legal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# How many bytes of numbers are packed at a time.
_AT_ONCE = 8 << 20
_DIMENSIONS = {"matrix": 2, "vector": 1}
_KINDS = ("int8", "float32", "float64")
# Stands in for a whole number that 8 bits do not hold: it is as illegal.
_ILLEGAL = -1


@dataclass(frozen=True, slots=True)
class Packer:
    """Says how numbers become lines.

    Args:
        major: What a line is.
        count_a1: Whether the numbers count allele A1, or A2.
        threads: How many threads pack.
        plain: Whether plain NumPy packs.
    """

    major: str
    count_a1: bool
    threads: int = 1
    plain: bool = False

    def __post_init__(self) -> None:
        as_flag("count_A1", self.count_a1)
        if self.major not in ("SNP", "individual"):
            raise ArgumentError(f"major must be 'SNP' or 'individual', not {self.major!r}")

    @property
    def header(self) -> bytes:
        """The bytes before the first line."""
        return b"\x6c\x1b" + bytes([self.major == "SNP"])

    def lines_of(self, values: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
        """Packs an array of individuals by variants, some lines at a time."""
        by_line = values.T if self.major == "SNP" else values
        count, places = by_line.shape
        at_once = max(1, _AT_ONCE // max(places * values.itemsize, 1))
        for first in range(0, count, at_once):
            yield self.pack(by_line[first : first + at_once], first)

    def pack(self, lines: NDArray[Any], first: int) -> NDArray[np.uint8]:
        """Packs lines, the first of which has a number that errors name."""
        small = _narrowed(lines)
        try:
            return self._packed(small)
        except ArgumentError as error:
            raise self._fault(lines, legal(small), first) from error

    def _packed(self, lines: NDArray[Any]) -> NDArray[np.uint8]:
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
        line, place = np.argwhere(~allowed)[0]
        at = (place, first + line) if self.major == "SNP" else (first + line, place)
        return ArgumentError(
            "Attempt to write illegal value to BED file. Only 0,1,2,missing allowed. "
            f"Individual {at[0]}, variant {at[1]} is {lines[line, place]} (missing is NaN, "
            "or -127 in whole numbers)"
        )


def to_values(given: ArrayLike, shape: Literal["matrix", "vector"]) -> NDArray[Any]:
    """Makes an array of what is to be written: of whole numbers, or of floating point."""
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise ArgumentError(
            f"expected a {shape} of 0, 1, 2 and missing values, its rows of one length; "
            f"NumPy says: {error}"
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
            f"expected a {shape}, which has {dimensions} dimensions, got {values.ndim}"
        )
    return values


def _narrowed(lines: NDArray[Any]) -> NDArray[Any]:
    """Makes 8 bits of whole numbers; those that do not fit become an illegal one."""
    if lines.dtype.kind == "f" or lines.dtype == np.int8:
        return lines
    small = lines.astype(np.int8)
    small[small != lines] = _ILLEGAL
    return small
