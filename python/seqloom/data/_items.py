"""What map-style datasets of sequences have in common: items, batches, epochs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

from seqloom.data._batched import SequenceBatches
from seqloom.data._columns import items_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
