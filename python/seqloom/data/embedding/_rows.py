"""Where embeddings come from: a folder that is open, or rows in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.data._frame import key_text
from seqloom.data.embedding._encoder import EmbeddingEncoder
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(Protocol):
    """Embeddings by ordinal: `seqloom.infer.Embeddings`, or rows in memory."""

    ordinals: NDArray[np.int64]

    @property
    def ids(self) -> list[str]:
        """The id of each record, in the order of `ordinals`."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of residues of each record."""
        ...

    def get(self, record: int, *, layer: int | None = None) -> NDArray[Any]:
        """Reads the embedding of a record."""
        ...


class RowsInMemory:
    """Embeddings from a dict, numbered in its order."""

    def __init__(self, rows: Mapping[Any, Any]) -> None:
        self.ids = list(map(key_text, rows))
        self._rows = [np.asarray(row) for row in rows.values()]
        self.ordinals = np.arange(len(self.ids))
        self.lengths = np.ones(len(self.ids), np.int64)

    def get(self, record: int, *, layer: int | None = None) -> NDArray[Any]:
        """Returns a row; there is one layer only."""
        del layer
        return self._rows[record]


def rows_of(embeddings: Any) -> Rows:
    """Takes an open folder of embeddings, or a dict of rows."""
    if isinstance(embeddings, Mapping) and embeddings:
        return RowsInMemory(cast("Mapping[Any, Any]", embeddings))
    found = cast("object", embeddings)
    if all(hasattr(found, name) for name in ("ordinals", "ids", "get")):
        return cast("Rows", found)
    is_path = isinstance(found, (str, os.PathLike))
    place = str(cast("Any", found)) if is_path else "folder"
    raise ArgumentError(
        "embeddings must be a folder that was opened, or a dict from id to row, got "
        f"{quote(found)}; sl.infer.load({place!r}) opens one"
    )


def describe_rows(rows: Any, layer: int | None) -> EmbeddingEncoder:
    """Says how embeddings were made; refuses those that have no single row a record."""
    pool = str(getattr(rows, "pool", ""))
    if pool == "none":
        raise ArgumentError(
            "the embeddings have a row for each residue, but a dataset needs one for each "
            'record: embed the files again with pool="mean" (--pool mean)'
        )
    if not len(rows.ordinals):
        raise ArgumentError("there are no embeddings")
    chosen = int(getattr(rows, "layers", (-1,))[-1]) if layer is None else layer
    shape = rows.get(int(rows.ordinals[0]), layer=chosen).shape
    if len(shape) != 1:
        raise ShapeError(f"an embedding must be one row of features, got shape {shape}")
    return EmbeddingEncoder(shape[0], str(getattr(rows, "model", "")), pool, chosen)
