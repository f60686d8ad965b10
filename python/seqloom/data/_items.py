"""What map-style datasets of sequences have in common: items, batches, epochs."""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data._batched import SequenceBatches
from seqloom.data._columns import items_of
from seqloom.data._subset import Subset

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# The most records and letters that are compared: more would take minutes, and memory.
_MOST_RECORDS = 1 << 20
_MOST_LETTERS = 1 << 30
_AT_ONCE = 1 << 16


class SequenceItems(SequenceBatches):
    """Sequences by number, augmented and encoded when asked for, with their labels.

    Args:
        paths: The files they come from.
        encoder: Encodes letters as numbers.
        augment: Changes letters before, as epoch and ordinal say.
        seed: Seed of the augmentation.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> isinstance(SequenceDataset("a.fa"), SequenceItems)
        True
    """

    def items_at(
        self, rows: NDArray[np.int64], epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """Fetches several items at once.

        Args:
            rows: Their positions, from 0.
            epoch: The epoch they are asked for in; None takes the one that was set last.

        Returns:
            One dict each.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> import numpy as np
            >>> SequenceDataset("a.fa").items_at(np.array([1]))[0]["sequence"]
            b'GG'
        """
        return items_of(self._columns(rows, self._current(epoch)), self.encoder)

    def letters_at(self, rows: NDArray[np.int64]) -> list[bytes]:
        """Fetches the letters of some items, as they stand before augmentation.

        Args:
            rows: Their positions, from 0.

        Returns:
            The letters of each, not encoded.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> import numpy as np
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> data.letters_at(np.array([1]))
            [b'GG']
        """
        plain = self.plain()
        return plain._fetch(rows, 0, 1)[1][0].to_list()  # noqa: SLF001 - same class

    def _groupings(self) -> dict[str, Callable[[], list[Any]]]:
        """Adds the letters in capitals, so that equal sequences are one group."""
        return super()._groupings() | {"sequence": self._capitals}

    def _capitals(self) -> list[bytes]:
        """Fetches the letters of all items, in capitals."""
        return [letters.upper() for letters in self.letters_at(np.arange(len(self)))]

    def plain(self) -> Self:
        """Shows the same items without augmentation.

        Returns:
            A dataset of the same records; this one where nothing is augmented.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").plain()[0]["sequence"]
            b'ACGT'
        """
        if self._epoch is None:
            return self
        other = copy.copy(self)
        other.augment = None
        return other


def letters_of(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Fetches the letters of items of a dataset or a part of one; None without letters."""
    if isinstance(examples, Subset):
        examples, rows = examples.dataset, examples.indices[rows]
    return examples.letters_at(rows) if isinstance(examples, SequenceItems) else None


def hash_letters(examples: Any) -> NDArray[np.uint64] | None:
    """Hashes each record's letters, in capitals; None without letters, or of too many."""
    if letters_of(examples, np.arange(0)) is None or len(examples) > _MOST_RECORDS:
        return None
    if examples.lengths.sum() > _MOST_LETTERS:
        return None
    found = np.empty(len(examples), np.uint64)
    for start in range(0, len(examples), _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, len(examples)))
        digests = map(_hash, letters_of(examples, rows) or ())
        found[rows] = np.frombuffer(b"".join(digests), np.uint64)
    return found


def _hash(letters: bytes) -> bytes:
    """Hashes letters as 64 bits."""
    return hashlib.blake2b(letters.upper(), digest_size=8).digest()
