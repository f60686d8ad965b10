"""How long sequences are, and how long they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import FormatError, ShapeError
from seqloom.io._record import header_id, header_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seqloom.data._columns import Columns


def check_lengths(columns: Columns, max_length: int | None, *, encoded: bool) -> None:
    """Refuses sequences that are too long, or that have nothing to encode."""
    lengths = columns.sequences.lengths
    if max_length is not None and (lengths > max_length).any():
        index = int((lengths > max_length).argmax())
        raise _fault(
            columns, index, f"{lengths[index]:,} letters, more than {max_length:,}"
        )
    if encoded and not lengths.all():
        raise _fault(columns, int((lengths == 0).argmax()), "the sequence has no letters")


def _fault(columns: Columns, index: int, message: str) -> FormatError:
    """Says which record it is."""
    path, record = columns.place(index)
    name = header_text(header_id(columns.headers[index].tobytes()))
    return FormatError(
        f"{path}: record {record} ({name}): {message}", path=path, record=record
    )


def padded_length(
    columns: Columns, rows: NDArray[np.int64], length: int | None, *, multiple: int
) -> int:
    """Decides how many places a batch has."""
    offsets = columns.sequences.offsets
    lengths = offsets[rows + 1] - offsets[rows]
    longest = int(lengths.max(initial=0))
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        name = columns.headers[int(rows[lengths.argmax()])].tobytes()
        raise ShapeError(
            f"sequence {header_text(name)!r} has {longest:,} letters, more than {length:,}"
        )
    return length
