"""What becomes a batch of a stream, in any thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from seqloom._key import Key
from seqloom.data._columns import encoded_columns, items_of, plain
from seqloom.data._drafter import Drafter, Shape
from seqloom.data._encoded import augmented, in_file
from seqloom.data._ids import Ids, ids_of
from seqloom.errors import FormatError, LetterError

if TYPE_CHECKING:
    from seqloom.data._store import Letters
    from seqloom.data.stream._chunk import Chunk
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
        if self.stream.can_draft:
            drafter = self.drafter(**shape)
            return drafter.make(self.chunk.rows, num_threads)
        letters = self._letters(num_threads)
        names = ids_of(self.chunk.batch.headers)
        batch: dict[str, Any] = {"id": Ids.of(names)}
        if self.stream.encoder is None:
            return batch | plain(letters) | self._about()
        encoded = self._encoded(letters, names, num_threads=num_threads, **shape)
        batch["inputs"] = encoded.pop("inputs")
        return batch | self._about() | encoded

    def drafter(self, *, length: int | None = None, multiple: int = 1) -> Drafter:
        """Prepares for the batch that threads make without the interpreter."""
        source, encoder = self.chunk.source, cast("SequenceEncoder", self.stream.encoder)
        self._check_lengths()
        return Drafter(
            encoder,
            source.store,
            source.extents(encoder),
            lambda _: self._about(),
            lambda _, error: self._explained(error),
            Shape(length, multiple),
            stays=False,
        )

    def _about(self) -> dict[str, Any]:
        """Says where records come from, and their labels where there are any."""
        chunk = self.chunk
        about: dict[str, Any] = {"file": self._files(), "ordinal": chunk.ordinals}
        return about if chunk.labels is None else about | {"label": chunk.labels}

    def _files(self) -> list[str]:
        """Names the files that records come from."""
        paths, files = self.stream.paths, self.chunk.files
        if len(paths) == 1:
            return [paths[0]] * files.size
        return [paths[file] for file in files.tolist()]

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
        encoder = self.stream.encoder
        self._check_lengths()
        try:
            return encoded_columns(encoder, letters, names, **options)
        except LetterError as error:
            raise self._explained(error) from None

    def _check_lengths(self) -> None:
        """Refuses a record of which the encoder can make nothing, before augmentation."""
        short = self.chunk.source.too_short(self.stream.encoder)
        if not short.size:
            return
        short = short - self.chunk.first
        here = short[(short >= 0) & (short < len(self))]
        if here.size:
            raise self._too_short(int(here[0]))

    def _explained(self, error: LetterError) -> LetterError:
        """Adds to an error where in its file the letter stands, if the encoder says."""
        row = error.record
        if row is None:
            return error
        name = ids_of(self.chunk.batch.headers)[row]
        is_changed = self.stream.augment is not None
        return in_file(error, self._place(row), name, augmented=is_changed)

    def _place(self, row: int) -> tuple[str, int]:
        """Finds where a record comes from."""
        return self.stream.paths[int(self.chunk.files[row])], int(self.chunk.records[row])

    def _too_short(self, row: int) -> FormatError:
        """Says that there is nothing to encode."""
        path, record = self._place(row)
        name = ids_of(self.chunk.batch.headers)[row]
        letters = int(self.chunk.batch.sequences.lengths[row])
        return FormatError(
            f"{path}: record {record} ({name}): {letters} letters are too few for "
            "the encoder",
            path=path,
            record=record,
        )
