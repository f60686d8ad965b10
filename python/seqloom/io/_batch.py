"""Many sequence records as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.io._record import SequenceRecord, header_id, header_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._ragged import Ragged


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBatch:
    """Sequence records as columns: no Python object for each of them.

    Args:
        headers: Header lines without their mark, byte for byte.
        sequences: The letters.
        qualities: FASTQ's quality letters, None for FASTA.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> batch = SequenceBatch(
        ...     Ragged.from_list(["a one", "b"]), Ragged.from_list(["AC", "G"])
        ... )
        >>> batch.ids, batch.sequences.lengths.tolist(), batch[0].description
        (['a', 'b'], [2, 1], 'one')
    """

    headers: Ragged
    sequences: Ragged
    qualities: Ragged | None = None

    @property
    def ids(self) -> list[str]:
        """The headers up to their first blanks, made on demand."""
        return [header_text(header_id(header)) for header in self.headers.to_list()]

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> SequenceRecord:
        quality = None if self.qualities is None else self.qualities[index].tobytes()
        return _record(
            self.headers[index].tobytes(), self.sequences[index].tobytes(), quality
        )

    def __iter__(self) -> Iterator[SequenceRecord]:
        sequences = self.sequences.to_list()
        qualities = (
            [None] * len(self) if self.qualities is None else self.qualities.to_list()
        )
        return map(_record, self.headers.to_list(), sequences, qualities)


def _record(header: bytes, sequence: bytes, quality: bytes | None) -> SequenceRecord:
    """Splits the header and wraps one record."""
    name, *rest = header.split(None, 1) or [b""]
    description = header_text(rest[0].strip()) if rest else ""
    return SequenceRecord(header_text(name), description, sequence, quality)
