"""Embeddings as a dataset, with labels that are joined by id."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._config import JsonConfig
from seqloom.data._dataset import Dataset
from seqloom.data._frame import format_id
from seqloom.data._source import FetchOptions, Source
from seqloom.data.label._labels import DEFAULTS, Labels
from seqloom.data.label._record_labels import join_labels
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._source import Rows
    from seqloom.data.label._labels import LabelColumn


class EmbeddingSource(Source):
    """Reads embeddings by record index."""

    kind, title = "embeddings", "EmbeddingDataset"
    has_letters = False
    supports_threads, is_checked = True, False

    def __init__(self, rows: EmbeddedRows, encoder: EmbeddingEncoder) -> None:
        self._rows, self._encoder = rows, encoder
        self.size = len(rows.ordinals)

    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of rows."""
        names = self._rows.ids
        return [names[row] for row in rows.tolist()]

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the number of residues of each record."""
        del encoder
        return np.asarray(self._rows.lengths)[rows]

    def fetch(self, rows: Rows, options: FetchOptions) -> dict[str, Any]:
        """Return the embeddings as an array ``inputs`` of shape ``(records, features)``."""
        del options
        return {"inputs": self._read_features(rows)}

    def _read_features(self, rows: Rows) -> NDArray[Any]:
        """Read embeddings as an array of shape ``(records, features)``."""
        width, layer = self._encoder.width, self._encoder.layer
        ordinals = self.columns(rows, None)["ordinal"].tolist()
        embeddings = [self._rows.get(number, layer=layer) for number in ordinals]
        if not embeddings:
            return np.empty((0, width), np.float32)
        if any(row.shape != (width,) for row in embeddings):
            shapes = ", ".join(map(str, {row.shape for row in embeddings}))
            raise ShapeError(f"all embeddings must have the same length, got {shapes}")
        return np.stack(embeddings)

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return the ordinals of the records in the embedded files."""
        del epoch
        return {"ordinal": np.asarray(self._rows.ordinals)[rows]}

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield the bytes of ids, embeddings and labels, for a hash."""
        del jitter
        yield repr((labels.task, labels.classes)).encode()
        yield repr((encoder, self.ids(rows))).encode()
        for row in rows:
            yield self._read_features(np.array([row])).tobytes()
        yield labels.to_bytes()


def EmbeddingDataset(
    embeddings: Any, labels: Any = None, *, layer: int | None = None, **old: Any
) -> Dataset:
    """Embeddings of records, with labels joined by id.

    An item is a dict with ``id``, ``inputs`` (the features of the record), ``ordinal`` and,
    with labels, ``label``. Each embedding is read from its shard on access.

    Args:
        embeddings: A folder opened by `seqloom.infer.load`, or a dict from id to embedding.
        labels: Tables, a data frame, a dict from id to label, or a list in the order of the
            records. A ``Labels`` object also has options for reading the labels. Without
            labels, pass None.
        layer: The index of the network layer; None selects the last layer in the folder.
        **old: Deprecated: options of ``Labels`` as keywords; write ``labels=Labels(source,
            task=..., classes=...)``.

    Returns:
        The dataset.

    Raises:
        ArgumentError: The embeddings have a row for each residue, or the folder is empty.
        LabelError: Labels are missing or duplicated, or do not fit the task.
        ShapeError: The embeddings have different numbers of features.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> rows = {"x": np.zeros(8), "y": np.ones(8), "z": np.ones(8)}
        >>> _ = Path("t.tsv").write_text("id\\tlabel\\nx\\tno\\ny\\tyes\\nz\\tno\\n")
        >>> data = EmbeddingDataset(rows, labels="t.tsv")
        >>> len(data), data.classes, data.batch([1, 2])["inputs"].shape
        (3, ('no', 'yes'), (2, 8))
    """
    rows = open_embedded_rows(embeddings)
    encoder = make_embedding_encoder(rows, layer)
    labels = Labels.of(labels, DEFAULTS, old, maker=EmbeddingDataset)
    labels.check_unsupported("coding", of="GenotypeDataset")
    labels.check_unsupported("label_from_header", of="SequenceDataset")
    column = join_labels(labels, rows.ids, noun="embeddings")
    return Dataset(EmbeddingSource(rows, encoder), encoder=encoder, labels=column)


@dataclass(frozen=True)
class EmbeddingEncoder(JsonConfig):
    """Describes how the embeddings of an ``EmbeddingDataset`` were computed.

    A model that is trained on embeddings stores this description and rejects embeddings
    that were computed differently.

    Args:
        width: The number of features of an embedding.
        model: Name and checksum of the network that computed the embeddings, if available.
        pool: The method that pooled the vectors of the residues, such as ``"mean"``.
        layer: The index of the network layer.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> rows = {"x": np.zeros(8), "y": np.ones(8)}
        >>> sl.data.EmbeddingDataset(rows).encoder
        EmbeddingEncoder(width=8, model='', pool='', layer=-1)
    """

    supports_threads = True

    width: int
    model: str = ""
    pool: str = ""
    layer: int = -1
    encodes: ClassVar[str] = "embeddings"

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return 1 for each record, because an embedding is one row.

        Args:
            lengths: The number of residues of each record.

        Returns:
            An array of ones.

        Examples:
            >>> import seqloom as sl
            >>> sl.data.EmbeddingEncoder(width=8).places([120, 7]).tolist()
            [1, 1]
        """
        return np.ones(len(lengths), np.int64)

    def __str__(self) -> str:
        origin = f" of {self.model}, {self.pool}, layer {self.layer}" if self.model else ""
        return f"embeddings of {self.width:,} features{origin}"


class EmbeddedRows(Protocol):
    """An object that returns embeddings by ordinal."""

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
        """Return the embedding of a record."""
        ...


class RowsInMemory:
    """Embeddings from a dict, numbered in the order of the dict."""

    def __init__(self, rows: Mapping[Any, Any]) -> None:
        self.ids = list(map(format_id, rows))
        self._rows = [np.asarray(row) for row in rows.values()]
        self.ordinals = np.arange(len(self.ids))
        self.lengths = np.ones(len(self.ids), np.int64)

    def get(self, record: int, *, layer: int | None = None) -> NDArray[Any]:
        """Return the embedding of a record; the layer is ignored."""
        del layer
        return self._rows[record]


def open_embedded_rows(embeddings: Any) -> EmbeddedRows:
    """Return the embeddings of an open folder or of a dict."""
    if isinstance(embeddings, Mapping) and embeddings:
        return RowsInMemory(cast("Mapping[Any, Any]", embeddings))
    folder = cast("object", embeddings)
    if all(hasattr(folder, name) for name in ("ordinals", "ids", "get")):
        return cast("EmbeddedRows", folder)
    is_path = isinstance(folder, (str, os.PathLike))
    path = str(cast("Any", folder)) if is_path else "folder"
    raise ArgumentError(
        "embeddings must be an opened folder, or a dict from id to row, got "
        f"{quote(folder)}; sl.infer.load({path!r}) opens a folder"
    )


def make_embedding_encoder(rows: Any, layer: int | None) -> EmbeddingEncoder:
    """Return the encoder of the embeddings; raise unless each record has one row."""
    pool = str(getattr(rows, "pool", ""))
    if pool == "none":
        raise ArgumentError(
            "the embeddings have a row for each residue, but a dataset needs one for each "
            'record: embed the files again with pool="mean" (--pool mean)'
        )
    if not len(rows.ordinals):
        raise ArgumentError("embeddings must contain at least one embedding, got none")
    layer = int(getattr(rows, "layers", (-1,))[-1]) if layer is None else layer
    shape = rows.get(int(rows.ordinals[0]), layer=layer).shape
    if len(shape) != 1:
        raise ShapeError(f"an embedding must be one row of features, got shape {shape}")
    return EmbeddingEncoder(shape[0], str(getattr(rows, "model", "")), pool, layer)
