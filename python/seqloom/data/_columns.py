"""Whole sequence files in memory, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged, offsets_of
from seqloom.io import open_sequences
from seqloom.io._record import header_id
from seqloom.io._regular import check_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom.io import SequenceBatch

_RECORDS = 1 << 20
_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Sequence records of several files.

    Args:
        paths: The files.
        starts: The ordinal of each file's first record, and the number of all records.
        ordinals: Where each record stands among all files' records.
        headers: Header lines without their mark.
        sequences: Letters.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nGGG\\n")
        >>> columns = read_columns(("a.fa",))
        >>> columns.sequences.lengths.tolist(), columns.starts.tolist()
        ([2, 3], [0, 2])
    """

    paths: tuple[str, ...]
    starts: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    headers: Ragged
    sequences: Ragged

    def take(self, indices: NDArray[np.int64]) -> Columns:
        """Copies some records."""
        return Columns(
            self.paths,
            self.starts,
            self.ordinals[indices],
            self.headers.take(indices),
            self.sequences.take(indices),
        )

    def ids(self) -> Ragged:
        """Takes the ids out of the headers."""
        return Ragged.from_list(map(header_id, self.headers.to_list()))

    def place(self, index: int) -> tuple[str, int]:
        """Finds where a record comes from."""
        ordinal = int(self.ordinals[index])
        file = int(self.files(np.array([index]))[0])
        return self.paths[file], ordinal - int(self.starts[file])

    def files(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Finds which files records come from."""
        return np.searchsorted(self.starts, self.ordinals[indices], side="right") - 1


def read_columns(paths: tuple[str, ...]) -> Columns:
    """Reads files into memory, one after the other."""
    for path in paths:
        check_regular(path)
    files = [_read(path) for path in paths]
    counts = np.array([sum(map(len, batches)) for batches in files], np.int64)
    batches = [batch for file in files for batch in file]
    return Columns(
        paths,
        offsets_of(counts),
        np.arange(int(counts.sum())),
        _joined(batch.headers for batch in batches),
        _joined(batch.sequences for batch in batches),
    )


def _read(path: str) -> list[SequenceBatch]:
    """Reads one file."""
    with open_sequences(path) as reader:
        return list(reader.batches(_RECORDS, max_bytes=_BYTES))


def _joined(parts: Iterable[Ragged]) -> Ragged:
    """Puts rows end to end."""
    several = list(parts)
    if len(several) == 1:
        return several[0]
    lengths = np.concatenate([part.lengths for part in several])
    return Ragged(np.concatenate([part.data for part in several]), offsets_of(lengths))
