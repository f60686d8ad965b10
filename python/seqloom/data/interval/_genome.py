"""The sequences that intervals are parts of."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from seqloom.data._file_index import index_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged


class Genome:
    """Chromosomes by number, read where they lie."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._index = index_of(path)
        self.names: list[str] = self._index.ids
        self.lengths: NDArray[np.int64] = self._index.lengths

    def fetch(
        self,
        chroms: NDArray[np.int64],
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        *,
        num_threads: int,
    ) -> Ragged:
        """Reads parts of chromosomes, all of them inside."""
        return self._index.fetch_intervals(chroms, starts, stops, num_threads=num_threads)

    def digest(self) -> bytes:
        """Names the content, as it was when the file was indexed."""
        content = (self._index.content, len(self._index), self._index.letters)
        return hashlib.blake2b(repr(content).encode(), digest_size=16).digest()
