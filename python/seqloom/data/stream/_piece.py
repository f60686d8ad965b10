"""What becomes a batch of a stream, in any thread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from seqloom._key import Key
from seqloom.data._columns import encoded_columns, items_of, plain
from seqloom.data._drafter import Drafter, Shape
from seqloom.data._encoded import augmented, in_file
from seqloom.data._ids import Ids, ids_of
from seqloom.errors import FormatError, LetterError

if TYPE_CHECKING:
    from seqloom.data._drafter import Rows
    from seqloom.data._store import Letters
    from seqloom.data.stream._chunk import Chunk, Source
    from seqloom.data.stream._stream import SequenceStream
    from seqloom.encode._base import SequenceEncoder


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Records of a stream that will be one batch.

    Args:
        stream: What is done to them.
        chunk: The records.
        epoch: The epoch they are handed out in.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceStream
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> [len(piece) for piece in SequenceStream("a.fa").pieces(1)]
        [1, 1]
    """

    stream: SequenceStream
    chunk: Chunk
    epoch: int

    def __len__(self) -> int:
        return len(self.chunk)

    @property
    def stop(self) -> int:
        """The place in the stream behind the last of these records."""
        return int(self.chunk.places[-1]) + 1

    @property
    def state(self) -> dict[str, Any]:
        """The state of the stream once these records are handed out."""
        return self.stream.state_at(self.epoch, self.stop)

    def items(self) -> list[dict[str, Any]]:
        """Makes items, one by one."""
        return items_of(self.batch(), self.stream.encoder)

    def batch(self, *, num_threads: int = 1, **shape: Any) -> dict[str, Any]:
        """Makes the columns of the batch."""
        self.check()
        if self.stream.can_draft:
            return self.drafter(**shape).make(self.chunk.rows, num_threads)
        letters = self._letters(num_threads)
        names = ids_of(self.chunk.batch.headers)
        batch: dict[str, Any] = {"id": Ids.of(names)}
        about = _about(self.chunk.source, self.chunk.rows)
        if self.stream.encoder is None:
            return batch | plain(letters) | about
        encoded = self._encoded(letters, names, num_threads=num_threads, **shape)
        batch["inputs"] = encoded.pop("inputs")
        return batch | about | encoded

    def check(self) -> None:
        """Refuses a record of which the encoder can make nothing, before augmentation."""
        chunk, encoder = self.chunk, self.stream.encoder
        if encoder is None:
            return
        short = chunk.source.too_short(encoder)
        if not short.size:
            return
        here = short[(short >= chunk.start) & (short < chunk.stop)]
        if here.size:
            raise _too_short(chunk.source, int(here[0]))

    def drafter(self, *, length: int | None = None, multiple: int = 1) -> Drafter:
        """Prepares for the source's batches, which threads make without the interpreter."""
        source, encoder = self.chunk.source, cast("SequenceEncoder", self.stream.encoder)
        return Drafter(
            encoder,
            source.store,
            source.extents(encoder),
            partial(_about, source),
            partial(_explained, source),
            Shape(length, multiple),
            stays=False,
        )

    def _letters(self, num_threads: int) -> Letters:
        """Takes letters, augmented where that is asked for."""
        batch, stream = self.chunk.batch, self.stream
        if stream.augment is None:
            return batch.sequences, batch.qualities
        keys = Key(stream.seed, self.epoch).each(self.chunk.ordinals)
        letters = (batch.sequences, batch.qualities)
        return augmented(stream.augment, letters, keys, num_threads=num_threads)

    def _encoded(
        self, letters: Letters, names: list[str], **options: Any
    ) -> dict[str, Any]:
        """Encodes letters; an error says where in its file the letter stands."""
        chunk, stream = self.chunk, self.stream
        try:
            return encoded_columns(stream.encoder, letters, names, **options)
        except LetterError as error:
            is_changed = stream.augment is not None
            raise _explained(
                chunk.source, chunk.rows, error, is_changed=is_changed
            ) from None


def _about(source: Source, rows: Rows) -> dict[str, Any]:
    """Says where records come from, and their labels where there are any."""
    about: dict[str, Any] = {
        "file": _files(source, rows),
        "ordinal": source.ordinals[rows],
    }
    return about if source.labels is None else about | {"label": source.labels[rows]}


def _files(source: Source, rows: Rows) -> list[str]:
    """Names the files that records come from."""
    if len(source.paths) == 1:
        return [source.paths[0]] * rows.size
    return [source.paths[file] for file in source.files[rows].tolist()]


def _explained(
    source: Source,
    rows: Rows,
    error: LetterError,
    *,
    is_changed: bool = False,
) -> LetterError:
    """Adds to an error where in its file the letter stands, if the encoder says."""
    if error.record is None:
        return error
    row = int(rows[error.record])
    where, name = source.place(row), source.name(row)
    return in_file(error, where, name, augmented=is_changed)


def _too_short(source: Source, row: int) -> FormatError:
    """Says that there is nothing to encode."""
    path, record = source.place(row)
    letters = int(source.batch.sequences.lengths[row])
    return FormatError(
        f"{path}: record {record} ({source.name(row)}): {letters} letters are too few for "
        "the encoder",
        path=path,
        record=record,
    )
