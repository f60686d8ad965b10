"""What becomes a batch of a stream, in any thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom._key import Key
from seqloom.data._columns import encoded_columns, items_of, plain
from seqloom.data._encoded import augmented, in_file
from seqloom.data._extent import places_of
from seqloom.data._ids import ids_of
from seqloom.errors import FormatError, LetterError

if TYPE_CHECKING:
    from seqloom.data._store import Letters
    from seqloom.data.stream._chunk import Chunk
    from seqloom.data.stream._stream import SequenceStream


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
        chunk, encoder = self.chunk, self.stream.encoder
        letters = self._letters(num_threads)
        batch: dict[str, Any] = {"id": ids_of(chunk.batch.headers)}
        if encoder is None:
            columns = plain(letters)
        else:
            columns = self._encoded(letters, batch["id"], num_threads=num_threads, **shape)
        batch |= columns
        batch["file"] = self._files()
        batch["ordinal"] = chunk.ordinals
        return batch if chunk.labels is None else batch | {"label": chunk.labels}

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
        encoder, sequences = self.stream.encoder, letters[0]
        empty = places_of(encoder, sequences.lengths) < 1
        if empty.any():
            raise self._too_short(int(empty.argmax()), names)
        try:
            return encoded_columns(encoder, sequences, names, **options)
        except LetterError as error:
            if error.record is None:
                raise
            row = error.record
            is_changed = self.stream.augment is not None
            raise in_file(
                error, self._place(row), names[row], augmented=is_changed
            ) from None

    def _place(self, row: int) -> tuple[str, int]:
        """Finds where a record comes from."""
        return self.stream.paths[int(self.chunk.files[row])], int(self.chunk.records[row])

    def _too_short(self, row: int, names: list[str]) -> FormatError:
        """Says that there is nothing to encode."""
        path, record = self._place(row)
        letters = int(self.chunk.batch.sequences.lengths[row])
        return FormatError(
            f"{path}: record {record} ({names[row]}): {letters} letters are too few for "
            "the encoder",
            path=path,
            record=record,
        )
