"""Many sequence records as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.io._numbers import whole_numbers
from seqloom.io._quality import score_table
from seqloom.io._record import SequenceRecord, header_id, header_text, split_header
from seqloom.io._settings import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from seqloom.io._settings import Quality


@dataclass(frozen=True, slots=True, eq=False)
class SequenceBatch:
    """Sequence records as columns: no Python object for each of them.

    Args:
        headers: Header lines without their mark, byte for byte.
        sequences: The letters.
        qualities: FASTQ's quality letters as in the file, None for FASTA.

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

    def take(self, rows: ArrayLike) -> SequenceBatch:
        """Copies some records, in the order asked for.

        Args:
            rows: Which records; one may stand there twice.

        Returns:
            A batch of them.

        Raises:
            OutOfRangeError: There is no such record.
            ArgumentError: They are no whole numbers.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> batch = SequenceBatch(
            ...     Ragged.from_list(["a", "b"]), Ragged.from_list(["AC", "G"])
            ... )
            >>> batch.take([1, 1, 0]).ids
            ['b', 'b', 'a']
        """
        wanted = whole_numbers(rows)
        qualities = self.qualities
        return SequenceBatch(
            _take(self.headers, wanted),
            _take(self.sequences, wanted),
            None if qualities is None else _take(qualities, wanted),
        )

    def mean_quality(self, encoding: Quality = "phred33") -> NDArray[np.float64]:
        """Computes the mean score of each record's qualities.

        Args:
            encoding: How they are written: ``"phred33"``, ``"phred64"`` or ``"solexa"``.

        Returns:
            One mean for each record, 0 for one without letters.

        Raises:
            ArgumentError: There are no qualities, or the encoding has an unknown name.

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
            raise ArgumentError("the records have no qualities: they are FASTA")
        data, offsets = self.qualities.data, self.qualities.offsets
        return _native.mean_scores(data, offsets, score_table(encoding))

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


def _take(column: Ragged, rows: NDArray[np.int64]) -> Ragged:
    """Copies some rows of a column."""
    return Ragged(*_native.take_rows(column.data, column.offsets, rows))


def _record(header: bytes, sequence: bytes, quality: bytes | None) -> SequenceRecord:
    """Splits the header and wraps one record."""
    name, description = split_header(header)
    return SequenceRecord(name, description, sequence, quality, header)
