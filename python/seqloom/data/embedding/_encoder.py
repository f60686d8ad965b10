"""How embeddings were made, so that a model refuses those of another network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._config import JsonConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class EmbeddingEncoder(JsonConfig):
    """Says how embeddings were made: what an encoder is to sequences.

    A model that was trained on embeddings keeps it, and reads no others.

    Args:
        width: Features of each embedding.
        model: Name and checksum of the network that made them, as far as it is known.
        pool: How residues were joined.
        layer: Number of the layer.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> rows = {"x": np.zeros(8), "y": np.ones(8)}
        >>> sl.data.EmbeddingDataset(rows).encoder
        EmbeddingEncoder(width=8, model='', pool='', layer=-1)
    """

    width: int
    model: str = ""
    pool: str = ""
    layer: int = -1

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Returns the number of rows that records take: one each.

        Args:
            lengths: The numbers of letters of the records.

        Returns:
            Ones.

        Examples:
            >>> import seqloom as sl
            >>> sl.data.EmbeddingEncoder(width=8).places([120, 7]).tolist()
            [1, 1]
        """
        return np.ones(len(lengths), np.int64)

    def __str__(self) -> str:
        made = f" of {self.model}, {self.pool}, layer {self.layer}" if self.model else ""
        return f"embeddings of {self.width:,} features{made}"
