"""The records of one stream batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from seqloom._key import Key
from seqloom.data._batch import (
    BatchShape,
    NativeBatchMaker,
    encode_columns,
    sequence_columns,
    split_batch,
)
from seqloom.data._encoder import add_file_position, apply_augment
from seqloom.data._ids import Ids, headers_to_ids
from seqloom.errors import AlphabetError, FormatError

if TYPE_CHECKING:
    from seqloom.data._encoder import Letters
    from seqloom.data._source import Rows
    from seqloom.data.stream._chunk import Chunk, ChunkSource
    from seqloom.encode._base import SequenceEncoder


class EncodedStream(Protocol):
    """The attributes of a stream that `StreamBatch` uses."""

    encoder: Any
    augment: Any
    seed: int

    @property
    def supports_native_batches(self) -> bool:
        """True if threads can make batches without the interpreter."""
        ...

    def state_at(self, epoch: int, position: int) -> dict[str, Any]:
        """Return the state of the stream after a number of records."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class StreamBatch:
    """Records of a stream from which any thread can make one batch."""

    stream: EncodedStream
    chunk: Chunk
    epoch: int

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def stop(self) -> int:
        """The position in the stream after the records of the batch."""
        return int(self.chunk.positions[-1]) + 1

    @property
    def state(self) -> dict[str, Any]:
        """The state of the stream after the records of the batch."""
        return self.stream.state_at(self.epoch, self.stop)

    def items(self) -> list[dict[str, Any]]:
        """Return the records as items."""
        return split_batch(self.batch(), self.stream.encoder)

    def batch(self, *, num_threads: int = 1, **shape: Any) -> dict[str, Any]:
        """Return the batch as columns."""
        self.check()
        if self.stream.supports_native_batches:
            return self.native_batches(**shape).make(self.chunk.rows, num_threads)
        letters = self._read_letters(num_threads)
        names = headers_to_ids(self.chunk.batch.headers)
        batch: dict[str, Any] = {"id": Ids.of(names)}
        about = _extra_columns(self.chunk.source, self.chunk.rows)
        if self.stream.encoder is None:
            return batch | sequence_columns(letters) | about
        encoded = self._encode(letters, names, num_threads=num_threads, **shape)
        batch["inputs"] = encoded.pop("inputs")
        return batch | about | encoded

    def check(self) -> None:
        """Raise for a record that is too short for the encoder, before augmentation."""
        chunk, encoder = self.chunk, self.stream.encoder
        if encoder is None:
            return
        short = chunk.source.find_too_short(encoder)
        if not short.size:
            return
        here = short[(short >= chunk.start) & (short < chunk.stop)]
        if here.size:
            raise _too_short_error(chunk.source, int(here[0]))

    def native_batches(
        self, *, length: int | None = None, multiple: int = 1
    ) -> NativeBatchMaker:
        """Return a Rust batch maker for the source."""
        source, encoder = self.chunk.source, cast("SequenceEncoder", self.stream.encoder)
        return NativeBatchMaker(
            encoder,
            source.store,
            source.extents(encoder),
            lambda _, rows: _extra_columns(source, rows),
            partial(_locate, source),
            BatchShape(length, multiple),
            is_store_kept=False,
        )

    def _read_letters(self, num_threads: int) -> Letters:
        batch, stream = self.chunk.batch, self.stream
        if stream.augment is None:
            return batch.sequences, batch.qualities
        keys = Key(stream.seed, self.epoch).each(self.chunk.ordinals)
        letters = (batch.sequences, batch.qualities)
        return apply_augment(stream.augment, letters, keys, num_threads=num_threads)

    def _encode(self, letters: Letters, names: list[str], **options: Any) -> dict[str, Any]:
        """Encode sequences; errors report the position of the invalid character."""
        chunk, stream = self.chunk, self.stream
        try:
            return encode_columns(stream.encoder, letters, names, **options)
        except AlphabetError as error:
            is_changed = stream.augment is not None
            raise _locate(chunk.source, chunk.rows, error, is_changed=is_changed) from None


def _extra_columns(source: ChunkSource, rows: Rows) -> dict[str, Any]:
    about: dict[str, Any] = {
        "file": _file_column(source, rows),
        "ordinal": source.ordinals[rows],
    }
    return about if source.labels is None else about | {"label": source.labels[rows]}


def _file_column(source: ChunkSource, rows: Rows) -> list[str]:
    if len(source.paths) == 1:
        return [source.paths[0]] * rows.size
    return [source.paths[file] for file in source.files[rows].tolist()]


def _locate(
    source: ChunkSource, rows: Rows, error: AlphabetError, *, is_changed: bool = False
) -> AlphabetError:
    """Add the file position of the invalid character to an error, if available."""
    if error.record is None:
        return error
    row = int(rows[error.record])
    where, name = source.locate(row), source.name(row)
    return add_file_position(error, where, name, augmented=is_changed)


def _too_short_error(source: ChunkSource, row: int) -> FormatError:
    path, record = source.locate(row)
    letters = int(source.batch.sequences.lengths[row])
    return FormatError(
        f"{path}: record {record} ({source.name(row)}): {letters} residues are too few for "
        "the encoder",
        path=path,
        record=record,
    )
