"""What a dataset asks of an encoder, and where a bad letter stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError, LetterError
from seqloom.io._record import header_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._columns import Columns


class Encoder(Protocol):
    """Turns sequences into one array, shorter ones followed by zeros.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> encoder: Encoder = OneHot("dna")
        >>> encoder.channels
        'first'
    """

    @property
    def channels(self) -> str:
        """``"first"`` for arrays (sequences, channels, places), ``"last"`` otherwise."""
        ...

    def batch(self, sequences: Ragged, *, length: int | None = None) -> NDArray[Any]:
        """Encodes many sequences at once, as ``OneHot.batch`` does."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """An encoder that can say in advance which letters it would refuse."""

    def refuses(self, letters: bytes) -> bytes:
        """Tells which letters would be an error."""
        ...


def check_encoder(encoder: Any) -> None:
    """Refuses what is no encoder, such as the name of an alphabet."""
    fits = hasattr(encoder, "batch") and hasattr(encoder, "channels")
    if encoder is not None and (isinstance(encoder, type) or not fits):
        name = encoder if isinstance(encoder, str) else "dna"
        raise ArgumentError(
            f'encoder must be one such as sl.encode.OneHot("{name}"), got {encoder!r}'
        )


def check_letters(encoder: Encoder, columns: Columns) -> None:
    """Finds a letter that the encoder would refuse, before any work is done."""
    data = columns.sequences.data
    if not isinstance(encoder, Refusing):
        return
    met = np.flatnonzero(_native.count_letters(data)).astype(np.uint8)
    if bad := encoder.refuses(met.tobytes()):
        place = int(np.isin(data, np.frombuffer(bad, np.uint8)).argmax())
        record = int(np.searchsorted(columns.sequences.offsets, place, side="right")) - 1
        encode(encoder, columns, np.array([record]))


def encode(
    encoder: Encoder,
    columns: Columns,
    indices: NDArray[np.int64],
    *,
    length: int | None = None,
) -> NDArray[Any]:
    """Encodes some records; an error says where in its file the letter stands."""
    try:
        return encoder.batch(columns.sequences.take(indices), length=length)
    except LetterError as error:
        if error.record is None or error.position is None:
            raise
        raise _located(error, columns, int(indices[error.record])) from None


def _located(error: LetterError, columns: Columns, index: int) -> LetterError:
    """Adds file, record, line and byte to what the encoder knows."""
    path, record = columns.place(index)
    line, byte = _native.locate(path, record, error.position or 0)
    name = header_text(columns.headers[index].tobytes()).split(None, 1)[:1]
    found = LetterError(
        f"{path}: record {record} ({''.join(name)}), line {line}, byte {byte}: "
        f"expected {error.expected}, found {error.letter!r}",
        record=record,
        position=error.position,
        letter=error.letter,
        expected=error.expected,
    )
    found.path, found.line, found.byte = path, line, byte
    return found
