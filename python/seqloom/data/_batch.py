"""How the records of a source become the columns of a batch, and items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom._key import Key
from seqloom.data._encoded import apply_augment, encode
from seqloom.data._extent import extents_of, mask_of, padded_length, position_axis
from seqloom.data._ids import Ids
from seqloom.data._native_batches import NativeBatchMaker, Shape, supports_native_batches
from seqloom.encode import Quality
from seqloom.errors import ArgumentError, FormatError, LetterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._encoded import Letters
    from seqloom.data._source import Fetched, FetchOptions, Rows, Source


@dataclass(frozen=True, slots=True)
class BatchMaker:
    """Makes batches of rows of a source."""

    source: Source
    encoder: Any
    augment: Any
    seed: int
    labels: NDArray[Any] | None  # by position in the dataset
    rows: Rows | None  # by position; None if all rows of the source are used

    @property
    def is_native(self) -> bool:
        """Whether Rust makes batches, which it does of letters in memory."""
        is_plain = self.augment is None and supports_native_batches(self.encoder)
        return is_plain and self.source.native is not None

    def native(self, *, length: int | None = None, multiple: int = 1) -> NativeBatchMaker:
        """Prepares batches that Rust makes."""
        native = self.source.native
        if native is None or not self.is_native:
            raise ArgumentError("this dataset's batches need Python: use batch()")

        def columns(positions: Rows, rows: Rows) -> dict[str, Any]:
            # A copy: who changes the ordinals must not change the ids.
            return self.source.columns(rows.copy(), 0) | self._labels_at(positions)

        return NativeBatchMaker(
            self.encoder,
            native.store,
            native.extents(self.encoder),
            columns,
            self._explain,
            Shape(length, multiple),
            self.rows,
        )

    def make(self, positions: Rows, epoch: int, options: FetchOptions) -> dict[str, Any]:
        """Makes the batch of some positions in Python."""
        rows = positions if self.rows is None else self.rows[positions]
        found = self.source.fetch(rows, options)
        columns = self.source.columns(rows.copy(), options.epoch)
        columns |= self._labels_at(positions)
        if isinstance(found, dict):
            first = next(iter(found))
            ids = Ids(lambda: self.source.ids(rows), rows.size)
            return {"id": ids, first: found.pop(first)} | columns | found
        batch: dict[str, Any] = {"id": Ids.of(found.ids)}
        letters = found.letters
        if self.augment is not None:
            keys, threads = (
                Key(self.seed, epoch).each(columns["ordinal"]),
                options.num_threads,
            )
            letters = apply_augment(self.augment, letters, keys, num_threads=threads)
        if self.encoder is None:
            return batch | list_letters(letters) | columns
        encoded = self._encode(rows, found._replace(letters=letters), options)
        batch["inputs"] = encoded.pop("inputs")
        return batch | columns | encoded

    def _encode(self, rows: Rows, found: Fetched, options: FetchOptions) -> dict[str, Any]:
        """Encodes letters; an error says where in its file the letter stands."""
        try:
            return encode_columns(
                self.encoder,
                found.letters,
                found.ids,
                length=options.length,
                multiple=options.multiple,
                out=options.out,
                num_threads=options.num_threads,
            )
        except LetterError as error:
            raise self._explain(rows, error, options.epoch) from None

    def _explain(
        self, rows: Rows, error: LetterError, epoch: int | None = None
    ) -> LetterError:
        """Adds the position in its file to a letter's error, if the encoder names it."""
        if error.record is None or error.position is None:
            return error
        is_augmented = self.augment is not None
        row = int(rows[error.record])
        return self.source.locate(error, row, epoch, is_augmented=is_augmented)

    def _labels_at(self, positions: Rows) -> dict[str, Any]:
        """Returns the column of labels, if there are any."""
        return {} if self.labels is None else {"label": self.labels[positions]}


def items_of(batch: dict[str, Any], encoder: Any) -> list[dict[str, Any]]:
    """Takes a batch apart into items, and the padding off."""
    lengths = batch.pop("lengths", None)
    batch.pop("mask", None)
    items = [
        dict(zip(batch, values, strict=True))
        for values in zip(*batch.values(), strict=True)
    ]
    if encoder is not None and lengths is not None:
        is_last = encoder.channels == "first"
        for item, length in zip(items, lengths.tolist(), strict=True):
            inputs = item["inputs"]
            item["inputs"] = inputs[:, :length] if is_last else inputs[:length]
    return items


def list_letters(letters: Letters) -> dict[str, Any]:
    """Lists letters, and qualities where there are any."""
    sequences, qualities = letters
    columns: dict[str, Any] = {"sequence": sequences.to_list()}
    if qualities is not None:
        columns["quality"] = qualities.to_list()
    return columns | {"lengths": sequences.lengths}


def encode_part(encoder: Any, letters: Letters) -> Ragged:
    """Gives what an encoder reads of records: their qualities, or their letters."""
    sequences, qualities = letters
    if not isinstance(encoder, Quality):
        return sequences
    if qualities is None:
        raise FormatError(
            f"{encoder} reads the qualities of FASTQ, but the records have none; give "
            'FASTQ files, or an encoder of letters such as OneHot("dna")'
        )
    return qualities


def encode_columns(
    encoder: Any,
    letters: Letters,
    names: list[str],
    *,
    length: int | None = None,
    multiple: int = 1,
    out: NDArray[Any] | None = None,
    num_threads: int = 1,
) -> dict[str, Any]:
    """Encodes sequences, and says where letters stand in the array."""
    sequences = encode_part(encoder, letters)
    lengths = extents_of(encoder, sequences)
    length = padded_length(lengths, lambda: names, length=length, multiple=multiple)
    inputs = encode(encoder, sequences, length=length, out=out, num_threads=num_threads)
    columns = {"inputs": inputs, "lengths": lengths}
    positions = inputs.shape[position_axis(encoder)]
    if not (lengths == positions).all():
        columns["mask"] = mask_of(lengths, positions)
    return columns
