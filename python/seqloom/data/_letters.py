"""Letters of sequences in memory, checked as those of files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from seqloom._arguments import quote
from seqloom._ragged import Ragged, offsets_of
from seqloom.data.label._cells import is_nothing
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Array: Any = np.ndarray
_BLANKS = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
# What a reader of FASTA takes for a letter: what can be seen, but for its mark.
_LETTERS = np.isin(np.arange(256), [byte for byte in range(33, 127) if byte != ord(">")])


def letters_of_rows(
    name: str, ids: list[str], rows: list[Any], *, whitespace: str
) -> Ragged:
    """Joins sequences, and refuses what no file could hold as letters."""
    parts = [_bytes(row, _Position(name, ids[i], i)) for i, row in enumerate(rows)]
    letters = Ragged.from_list(parts)
    if whitespace == "strip":
        letters = _without(letters, _BLANKS[letters.data])
    foreign = ~_LETTERS[letters.data]
    if foreign.any():
        at = int(foreign.argmax())
        record = int(np.searchsorted(letters.offsets, at, side="right")) - 1
        position = _Position(name, ids[record], record)
        raise position.fault(_foreign(letters, record, at))
    return letters


class _Position(NamedTuple):
    """Where a sequence stands."""

    name: str
    id: str
    record: int

    def fault(self, message: str) -> FormatError:
        """Says what is wrong with it."""
        where = f"{self.name}: record {self.record} ({self.id})"
        return FormatError(f"{where}{message}", path=self.name, record=self.record)


def _bytes(row: Any, position: _Position) -> bytes:
    """Takes one sequence: a text, bytes, an array of bytes, or what can be either."""
    if isinstance(row, str):
        return row.encode("utf-8", "surrogatepass")  # refused as no letter, later
    if isinstance(row, (bytes, bytearray)):
        return bytes(row)
    if isinstance(row, _Array) and row.dtype.kind in "SuV" and row.dtype.itemsize == 1:
        return row.tobytes()
    if is_nothing(row):
        raise position.fault(": expected a sequence, found nothing; leave the record out")
    if type(row).__name__ not in {"Seq", "MutableSeq"}:
        raise position.fault(f": expected a sequence, found {quote(row)}")
    return str(row).encode()


def _without(letters: Ragged, dropped: NDArray[np.bool_]) -> Ragged:
    """Leaves some letters out."""
    if not dropped.any():
        return letters
    before = offsets_of(dropped.astype(np.int64))
    return Ragged(letters.data[~dropped], letters.offsets - before[letters.offsets])


def _foreign(letters: Ragged, record: int, at: int) -> str:
    """Says which character is no letter."""
    byte = int(letters.data[at])
    hint = '; whitespace="strip" (--whitespace strip) leaves blanks out'
    return (
        f", letter {at - int(letters.offsets[record])}: expected a letter, found "
        f"{bytes([byte])!r}{hint if _BLANKS[byte] else ''}"
    )
