"""How long sequences may be, and that there is something to encode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom.data._extent import count_positions
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from seqloom.data._records import Records


def check_lengths(records: Records, max_length: int | None, encoder: Any) -> None:
    """Refuses sequences that are too long, or that have nothing to encode."""
    lengths = records.lengths
    if max_length is not None:
        max_length = as_integer("max_length", max_length)
    if max_length is not None and (lengths > max_length).any():
        index = int((lengths > max_length).argmax())
        raise _fault(
            records, index, f"{lengths[index]:,} letters, more than {max_length:,}"
        )
    # Files too large to hold are not read for a stop: there the batch finds it.
    if encoder is not None and records.in_memory:
        lengths = records.encoded_lengths(encoder)
    if encoder is not None and (count_positions(encoder, lengths) < 1).any():
        index = int((count_positions(encoder, lengths) < 1).argmax())
        raise _fault(records, index, _too_short(int(lengths[index])))


def _too_short(letters: int) -> str:
    """Says why there is nothing to encode."""
    if not letters:
        return "the sequence has no letters"
    return f"{letters} letters are too few for the encoder"


def _fault(records: Records, index: int, message: str) -> FormatError:
    """Says which record it is."""
    path, record = records.locate(index)
    name = records.ids(np.array([index]))[0]
    return FormatError(
        f"{path}: record {record} ({name}): {message}", path=path, record=record
    )
