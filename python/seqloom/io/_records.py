"""Classes for a single sequence record and for a batch of records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io._profile import ZERO_CHARACTERS
from seqloom.io._settings import as_integers, check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.io._settings import Quality


@dataclass(frozen=True, slots=True)
class SequenceRecord:
    """One record of a sequence file.

    Args:
        id: The id, which is the first word of the header.
        description: The rest of the header after the id and its white space.
        sequence: The residues, exactly as in the file but without line breaks.
        quality: The quality characters of FASTQ, one for each residue; None for FASTA.
        header: The whole header as in the file, or None for a record that was not read from
            a file. `write_sequences` writes this header unless id or description were
            changed.

    Examples:
        >>> SequenceRecord("chr1", "human", b"ACGT").sequence
        b'ACGT'
    """

    id: str
    description: str
    sequence: bytes
    quality: bytes | None = None
    header: bytes | None = field(default=None, repr=False, compare=False)


def parse_id(header: bytes) -> bytes:
    """Return the id, which is the header up to the first white space."""
    return header.split(None, 1)[0] if header.strip() else b""


def decode_header(header: bytes) -> str:
    """Decode a header as UTF-8; escape invalid bytes."""
    return header.decode("utf-8", "backslashreplace")


def split_header(header: bytes) -> tuple[str, str]:
    """Split a header into id and description."""
    name, *rest = header.split(None, 1) or [b""]
    return decode_header(name), decode_header(rest[0].strip()) if rest else ""


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBatch:
    """A batch of sequence records, stored as arrays of headers, residues and qualities.

    Args:
        headers: Header lines without ``>`` or ``@``, byte for byte.
        sequences: The residues of each record.
        qualities: The FASTQ quality characters as in the file; None for FASTA.

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
        """Ids of the records; an id is the header up to the first white space."""
        return [decode_header(parse_id(header)) for header in self.headers.to_list()]

    def take(self, rows: ArrayLike) -> SequenceBatch:
        """Copy records in the order of `rows`.

        Args:
            rows: Indices of records in the batch; an index may occur more than once.

        Returns:
            A new batch of these records.

        Raises:
            OutOfRangeError: An index is out of range.
            ArgumentError: ``rows`` contains values that are not integers.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> batch = SequenceBatch(
            ...     Ragged.from_list(["a", "b"]), Ragged.from_list(["AC", "G"])
            ... )
            >>> batch.take([1, 1, 0]).ids
            ['b', 'b', 'a']
        """
        wanted = as_integers(rows)
        qualities = self.qualities
        return SequenceBatch(
            _take_rows(self.headers, wanted),
            _take_rows(self.sequences, wanted),
            None if qualities is None else _take_rows(qualities, wanted),
        )

    def mean_quality(self, encoding: Quality = "phred33") -> NDArray[np.float64]:
        """Compute the mean quality score of each record.

        Args:
            encoding: The quality encoding: ``"phred33"``, ``"phred64"`` or ``"solexa"``.

        Returns:
            The mean score of each record; 0 for an empty sequence.

        Raises:
            ArgumentError: The records have no qualities, or the encoding is unknown.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> letters = Ragged.from_list(["ACGT"])
            >>> batch = SequenceBatch(
            ...     Ragged.from_list(["a"]), letters, Ragged.from_list(["II!!"])
            ... )
            >>> batch.mean_quality().tolist()
            [20.0]
        """
        check_choice("quality", encoding)
        if self.qualities is None:
            raise ArgumentError(
                "the records have no qualities, because they are FASTA: read a FASTQ file"
            )
        data, offsets = self.qualities.data, self.qualities.offsets
        scores = [float(letter - ZERO_CHARACTERS[encoding]) for letter in range(256)]
        return _native.mean_scores(data, offsets, scores)

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> SequenceRecord:
        quality = None if self.qualities is None else self.qualities[index].tobytes()
        return _make_record(
            self.headers[index].tobytes(), self.sequences[index].tobytes(), quality
        )

    def __iter__(self) -> Iterator[SequenceRecord]:
        sequences = self.sequences.to_list()
        qualities = (
            [None] * len(self) if self.qualities is None else self.qualities.to_list()
        )
        return map(_make_record, self.headers.to_list(), sequences, qualities)


def _take_rows(column: Ragged, rows: NDArray[np.int64]) -> Ragged:
    """Copy the selected rows of one array."""
    return Ragged(*_native.take_rows(column.data, column.offsets, rows))


def _make_record(header: bytes, sequence: bytes, quality: bytes | None) -> SequenceRecord:
    """Create a record from its header, residues and qualities."""
    name, description = split_header(header)
    return SequenceRecord(name, description, sequence, quality, header)


def join_batches(batches: Sequence[SequenceBatch]) -> SequenceBatch:
    """Concatenate batches; a single batch is not copied."""
    if len(batches) == 1:
        return batches[0]
    qualities = [batch.qualities for batch in batches if batch.qualities is not None]
    return SequenceBatch(
        _join_columns([batch.headers for batch in batches]),
        _join_columns([batch.sequences for batch in batches]),
        _join_columns(qualities) if len(qualities) == len(batches) else None,
    )


def _join_columns(columns: Sequence[Ragged]) -> Ragged:
    """Concatenate the arrays of one column."""
    data = np.concatenate([column.data for column in columns])
    return Ragged(
        data, lengths_to_offsets(np.concatenate([column.lengths for column in columns]))
    )
