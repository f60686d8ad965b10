"""Whether two reads are of one fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from seqloom._rust import _native
from seqloom.errors import FormatError
from seqloom.io._record import header_id, header_text

if TYPE_CHECKING:
    from seqloom.io._batch import SequenceBatch

BatchPair: TypeAlias = "tuple[SequenceBatch, SequenceBatch]"


def check_mates(pair: BatchPair, *, paths: tuple[str, ...], start: int) -> None:
    """Refuses reads of different fragments; the first pair is number ``start``."""
    one, other = (batch.headers for batch in pair)
    row = _native.first_mismatch(one.data, one.offsets, other.data, other.offsets)
    if row is None:
        return
    ids = [header_text(header_id(each[row].tobytes())) for each in (one, other)]
    number = start + row
    raise FormatError(
        f"{' and '.join(paths)}: pair {number}: expected two reads of one fragment, "
        f"found {ids[0]!r} and {ids[1]!r}; both files need the same order",
        kind="names",
        path=paths[-1],
        record=number,
    )
