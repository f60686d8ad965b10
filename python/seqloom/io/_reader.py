"""Opening a sequence file and reading it from start to end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.errors import ArgumentError, FormatError
from seqloom.io._batch import SequenceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from seqloom.io._record import SequenceRecord

_FORMATS = ("fasta",)


def open_sequences(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word that everybody uses for it
) -> SequenceReader:
    """Opens a sequence file: FASTA, plain, gzip or bgzip.

    Format and compression are told from the content, not from the name.

    Args:
        path: The file.
        format: What the file must be (``"fasta"``); None takes what it is.

    Returns:
        A reader, at the first record.

    Raises:
        MissingFileError: There is no such file.
        FileError: It is a folder or may not be read.
        FormatError: It is empty, no sequence file, or not of the wanted format.
        ArgumentError: The format has an unknown name.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
        >>> with open_sequences("two.fa") as reader:
        ...     [(record.id, record.sequence) for record in reader]
        [('a', b'ACGTAC'), ('b', b'GG')]
    """
    if format is not None and format not in _FORMATS:
        raise ArgumentError(f"format must be one of {', '.join(_FORMATS)}; got {format!r}")
    reader = SequenceReader(path)
    if format not in {None, reader.format}:
        raise FormatError(f"{reader.path}: expected {format}, found {reader.format}")
    return reader


class SequenceReader:
    """Reads a sequence file once, from start to end, as records or as columns.

    Args:
        path: The file.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> with SequenceReader("two.fa") as reader:
        ...     [batch.sequences.lengths.tolist() for batch in reader.batches(1)]
        [[4], [2]]
    """

    path: str
    format: str
    compression: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._native: _native.SequenceReader | None = _native.SequenceReader(self.path)
        self.format = self._native.format
        self.compression = self._native.compression

    def batches(self, n: int, *, max_bytes: int = 64 << 20) -> Iterator[SequenceBatch]:
        """Reads on as columns, from where the reader stands.

        Args:
            n: At most so many records a batch.
            max_bytes: At most so many letters a batch (one record at least): whichever
                comes first.

        Returns:
            Batches up to the end of the file.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nG\\n>c\\nT\\n")
            >>> with open_sequences("a.fa") as reader:
            ...     [batch.ids for batch in reader.batches(2)]
            [['a', 'b'], ['c']]
        """
        if n < 1 or max_bytes < 1:
            raise ArgumentError(f"a batch needs a record, got n={n}, max_bytes={max_bytes}")
        return self._read(n, max_bytes)

    def _read(self, n: int, max_bytes: int) -> Iterator[SequenceBatch]:
        """Reads batch after batch."""
        while (columns := self._open().read(n, max_bytes)) is not None:
            data, offsets, headers, header_offsets = columns
            yield SequenceBatch(Ragged(headers, header_offsets), Ragged(data, offsets))

    def _open(self) -> _native.SequenceReader:
        """Gives the native reader as long as it has one."""
        if self._native is None:
            raise ArgumentError(f"{self.path}: the reader is closed")
        return self._native

    def __iter__(self) -> Iterator[SequenceRecord]:
        return (
            record for batch in self.batches(4096, max_bytes=1 << 22) for record in batch
        )

    def close(self) -> None:
        """Lets go of the file; a second call does nothing.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n")
            >>> open_sequences("a.fa").close()
        """
        self._native = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
