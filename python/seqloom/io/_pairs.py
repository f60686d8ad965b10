"""Two reads of each fragment, in lock-step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, Self

from seqloom.io._mate_ids import check_mates
from seqloom.io._numbers import check_number
from seqloom.io._turn import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from seqloom.io._mate_ids import BatchPair
    from seqloom.io._reader import SequenceReader
    from seqloom.io._record import SequenceRecord
    from seqloom.io._settings import Format


class Mates(Protocol):
    """Gives batches of first and second reads."""

    @property
    def readers(self) -> tuple[SequenceReader, ...]:
        """What is read from."""
        ...

    def read(self, n: int, max_bytes: int) -> BatchPair | None:
        """Reads the next pairs, None at the end; both batches have the same length."""
        ...


class PairedReader:
    """Reads two files, or one that holds pairs, in lock-step; `open_sequences` makes it.

    Args:
        mates: Where first and second reads come from.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import open_sequences
        >>> _ = Path("r1.fq").write_text("@a/1\\nAC\\n+\\nII\\n@b/1\\nGG\\n+\\nII\\n")
        >>> _ = Path("r2.fq").write_text("@a/2\\nTT\\n+\\nII\\n@b/2\\nCA\\n+\\nII\\n")
        >>> with open_sequences(("r1.fq", "r2.fq")) as reader:
        ...     [(one.id, other.sequence) for one, other in reader]
        [('a/1', b'TT'), ('b/1', b'CA')]
    """

    def __init__(self, mates: Mates) -> None:
        self._mates = mates
        self._count = 0
        self._turn = Turn(" and ".join(self.paths))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files: two, or one where it holds pairs."""
        return tuple(reader.path for reader in self._mates.readers)

    @property
    def format(self) -> Format:
        """The format of the first file: ``"fastq"`` or ``"fasta"``."""
        return self._mates.readers[0].format

    def batches(self, n: int, *, max_bytes: int = 4 << 20) -> Iterator[BatchPair]:
        """Reads on as columns, from where the reader stands.

        Args:
            n: At most so many pairs a batch.
            max_bytes: At most about so many letters a batch (one pair at least): whichever
                comes first.

        Returns:
            Pairs of batches of the same number of records, up to the end.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or not below 2**63; or,
                while reading, another thread reads too.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("both.fq").write_text("@a\\nAC\\n+\\nII\\n@a\\nGG\\n+\\nII\\n")
            >>> with open_sequences("both.fq", interleaved=True) as reader:
            ...     [(len(one), len(other)) for one, other in reader.batches(9)]
            [(1, 1)]
        """
        check_number("n", n)
        check_number("max_bytes", max_bytes)
        return self._read(n, max_bytes)

    def _read(self, n: int, max_bytes: int) -> Iterator[BatchPair]:
        """Reads batch after batch."""
        while (pair := self._read_pair(n, max_bytes)) is not None:
            yield pair

    def _read_pair(self, n: int, max_bytes: int) -> BatchPair | None:
        """Reads the next pairs; their ids are checked."""
        with self._turn:
            pair = self._mates.read(n, max_bytes)
            if pair is not None:
                check_mates(pair, paths=self.paths, start=self._count)
                self._count += len(pair[0])
            return pair

    def __iter__(self) -> Iterator[tuple[SequenceRecord, SequenceRecord]]:
        pairs = self.batches(4096)
        return (mates for pair in pairs for mates in zip(*pair, strict=True))

    def close(self) -> None:
        """Lets go of the files; a second call does nothing.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("both.fq").write_text("@a\\nAC\\n+\\nII\\n@a\\nGG\\n+\\nII\\n")
            >>> open_sequences("both.fq", interleaved=True).close()
        """
        with ExitStack() as stack:
            for reader in self._mates.readers:
                stack.callback(reader.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
