"""Make batches and items, in Python or in Rust threads that run without the GIL."""

from __future__ import annotations

import copyreg
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom._rust import _native
from seqloom.data._encoder import (
    REUSED_MEMORY,
    Extents,
    apply_augment,
    encode,
    encoded_extents,
    encoder_input_type,
    find_override,
    pad_length,
    padded_length,
    padding_mask,
    position_axis,
)
from seqloom.data._ids import Ids
from seqloom.data._source import (
    FetchOptions,
    check_row_count,
    check_source_columns,
    read_columns,
    read_ids,
)
from seqloom.encode import Quality
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import AlphabetError, ArgumentError, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom.data._encoder import Letters
    from seqloom.data._source import Fetched, NativeRecords, Rows, Source

    NativeColumns = tuple[NDArray[np.uint8], list[int] | None, _native.Names | None]
    Batch = dict[str, Any]

_BATCH_MAKER = _native.BatchMaker(REUSED_MEMORY, 0)


@dataclass(frozen=True, slots=True)
class BatchMaker:
    """Makes batches from the rows of a source."""

    source: Source
    rows: Rows | None  # source row of each index; None for all rows
    encoder: Any
    augment: Any
    seed: int
    labels: NDArray[Any] | None  # Labels, by index in the dataset.
    jitter: int  # Maximum random shift of a record, in bases.

    @property
    def is_native(self) -> bool:
        """True if Rust can make the batches, without calling Python code."""
        return self._is_plain and self.source.native is not None

    @property
    def _is_plain(self) -> bool:
        """True if there is no augmentation and the encoder is implemented in Rust."""
        return self.augment is None and supports_native_batches(self.encoder)

    def native(self, *, length: int | None = None, multiple: int = 1) -> NativeBatchMaker:
        """Return an object that makes batches in Rust."""
        native = self.source.native
        if native is None or not self.is_native:
            raise ArgumentError("Rust cannot make the batches of this dataset: use batch()")
        return self._native(native, BatchShape(length, multiple))

    def _native(self, native: NativeRecords, shape: BatchShape) -> NativeBatchMaker:
        def columns(positions: Rows, rows: Rows) -> dict[str, Any]:
            # Copy the rows, because the user may change the ordinals of a batch before
            # its ids are decoded.
            return self.source.columns(rows.copy(), 0) | self._labels_at(positions)

        return NativeBatchMaker(
            self.encoder,
            native.store,
            native.extents(self.encoder),
            columns,
            self._add_position,
            shape,
            self.rows,
        )

    def make(
        self,
        positions: Rows,
        epoch: int,
        *,
        length: int | None = None,
        multiple: int = 1,
        out: NDArray[Any] | None = None,
        num_threads: int = 1,
    ) -> dict[str, Any]:
        """Return the batch of the records at some indices, from Rust if possible."""
        native = self.source.native if out is None and self._is_plain else None
        if native is not None:
            maker = self._native(native, BatchShape(length, multiple))
            return maker.make(positions, num_threads)
        options = FetchOptions(
            self.encoder,
            epoch if self.jitter else None,
            length,
            multiple,
            out,
            num_threads,
            as_letters=self.augment is not None,
        )
        rows = positions if self.rows is None else self.rows[positions]
        fetched = self.source.fetch(rows, options)
        columns = read_columns(self.source, rows.copy(), options.epoch) | (
            self.source.targets(rows, options)
        )
        if self.source.is_checked:
            self._check_columns(fetched, columns, rows.size)
            columns = dict(columns)  # a copy, because the source may reuse its dict
        if self.labels is not None:
            columns["label"] = self.labels[positions]
        if isinstance(fetched, dict):
            first = next(iter(fetched))
            ids = Ids(lambda: read_ids(self.source, rows), rows.size)
            return {"id": ids, first: fetched.pop(first)} | columns | fetched
        batch: dict[str, Any] = {"id": Ids.of(fetched.ids)}
        letters = fetched.letters
        if self.augment is not None:
            keys = Key(self.seed, epoch).each(columns["ordinal"])
            letters = apply_augment(self.augment, letters, keys, num_threads=num_threads)
            self.source.follow_augment(columns, self.augment, keys)
        if self.encoder is None:
            return batch | sequence_columns(letters) | columns
        encoded = self._encode_rows(rows, fetched._replace(letters=letters), options)
        batch["inputs"] = encoded.pop("inputs")
        return batch | columns | encoded

    def _check_columns(
        self, fetched: Fetched | dict[str, Any], columns: dict[str, Any], size: int
    ) -> None:
        source = self.source
        check_source_columns(source, "columns", columns, size=size)
        if isinstance(fetched, dict):
            check_source_columns(source, "fetch", fetched, size=size)
            return
        sequences, qualities = fetched.letters
        for part in (fetched.ids, sequences, qualities):
            if part is not None and len(part) != size:
                check_row_count(source, "fetch", part, size=size)

    def _encode_rows(self, rows: Rows, records: Fetched, options: FetchOptions) -> Batch:
        """Encode sequences; the error for an invalid character reports its position."""
        try:
            return encode_columns(
                self.encoder,
                records.letters,
                records.ids,
                length=options.length,
                multiple=options.multiple,
                out=options.out,
                num_threads=options.num_threads,
            )
        except AlphabetError as error:
            raise self._add_position(rows, error, options.epoch) from None

    def _add_position(
        self, rows: Rows, error: AlphabetError, epoch: int | None = None
    ) -> AlphabetError:
        """Add the file position to the error for an invalid character."""
        if error.record is None or error.position is None:
            return error
        is_augmented = self.augment is not None
        row = int(rows[error.record])
        return self.source.locate(error, row, epoch, is_augmented=is_augmented)

    def _labels_at(self, positions: Rows) -> dict[str, Any]:
        """Return the column of labels; empty without labels."""
        return {} if self.labels is None else {"label": self.labels[positions]}


def split_batch(batch: dict[str, Any], encoder: Any) -> list[dict[str, Any]]:
    """Split a batch into items without padding."""
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


def sequence_columns(letters: Letters) -> dict[str, Any]:
    """Return the columns ``sequence``, ``lengths`` and, for FASTQ, ``quality``."""
    sequences, qualities = letters
    columns: dict[str, Any] = {"sequence": sequences.to_list()}
    if qualities is not None:
        columns["quality"] = qualities.to_list()
    return columns | {"lengths": sequences.lengths}


def encoder_input(encoder: Any, letters: Letters) -> Ragged:
    """Return the input of an encoder: sequences, or qualities for `Quality`."""
    sequences, qualities = letters
    if not isinstance(encoder, Quality):
        return sequences
    if qualities is None:
        raise FormatError(
            f"{encoder} reads FASTQ qualities, but the records have no qualities; pass "
            'FASTQ files, or an encoder of residues such as OneHot("dna")'
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
    """Return the encoded sequences, their lengths and, with padding, their mask."""
    sequences = encoder_input(encoder, letters)
    lengths = encoded_extents(encoder, sequences)
    length = padded_length(lengths, lambda: names, length=length, multiple=multiple)
    inputs = encode(encoder, sequences, length=length, out=out, num_threads=num_threads)
    columns = {"inputs": inputs, "lengths": lengths}
    positions = inputs.shape[position_axis(encoder)]
    if not (lengths == positions).all():
        columns["mask"] = padding_mask(lengths, positions)
    return columns


# Batch makers are not pickled; another process creates a new batch maker.
copyreg.pickle(_native.BatchMaker, lambda _: (_native.BatchMaker, (REUSED_MEMORY, 0)))


def supports_native_batches(encoder: Any) -> bool:
    """Return whether Rust can make batches for an encoder."""
    # Rust writes NumPy arrays, which cannot be bfloat16, and its record store has no
    # qualities.
    is_of_letters = (
        encoder_input_type(encoder) == SequenceEncoder.encodes
        and not isinstance(encoder, Quality)
        and encoder.dtype != "bfloat16"
    )
    return is_of_letters and find_override(encoder.__class__) is None


@dataclass(frozen=True, slots=True)
class BatchShape:
    """The padded length of the sequences in a batch."""

    length: int | None = None  # None pads to the longest sequence.
    multiple: int = 1  # The length is rounded up to a multiple of this number.


@dataclass(slots=True)
class NativeBatchMaker:
    """Makes batches in Rust from records that are stored as columns.

    ``begin`` and ``make`` run for each batch; values that all batches share are computed
    once.
    """

    encoder: SequenceEncoder  # Encodes residues as numbers.
    store: _native.RecordStore  # Ids and residues of the records.
    extents: Extents  # Number of encoded positions of each record.
    # Function of (indices, rows) that returns the other columns of a batch in new
    # arrays.
    columns: Callable[[Rows, Rows], Batch]
    # Adds the file position of the invalid character to an error.
    explain: Callable[[Rows, AlphabetError], AlphabetError]
    shape: BatchShape = field(default_factory=BatchShape)  # Number of positions of a batch.
    selected: Rows | None = None  # Source row of each index; None if rows equal indices.
    is_store_kept: bool = True  # If True, ids may be decoded later from the store.
    _kernel: _native.SequenceKernel = field(init=False)
    _dtype: np.dtype[Any] = field(init=False)
    _rows: dict[int, tuple[tuple[int, ...], int]] = field(init=False)

    def __post_init__(self) -> None:
        self._kernel = self.encoder.kernel
        self._dtype = np.dtype(self.encoder.dtype)
        self._rows = {}

    def begin(self, maker: _native.BatchMaker, positions: Rows) -> Callable[[], Batch]:
        """Start making a batch in other threads; return a function that waits for it."""
        plan = self._plan_batch(positions)
        maker.push(self._kernel, self.store, plan.rows, plan.size, not self.is_store_kept)
        return partial(self._finish_batch, plan, maker.pop)

    def make(self, positions: Rows, num_threads: int = 1) -> Batch:
        """Make a batch in this thread."""
        plan, names = self._plan_batch(positions), not self.is_store_kept
        arguments = self._kernel, self.store, plan.rows, plan.size, names, num_threads
        return self._finish_batch(plan, partial(_BATCH_MAKER.make, *arguments))

    def _plan_batch(self, positions: Rows) -> _BatchPlan:
        rows = positions if self.selected is None else self.selected[positions]
        lengths = self.extents.select_rows(rows)
        width = pad_length(
            self.extents.max_positions(lengths),
            lambda: self.store.ids(rows)[int(lengths.argmax())],
            length=self.shape.length,
            multiple=self.shape.multiple,
        )
        if width not in self._rows:
            row = self.encoder.shape(1, width)[1:]
            self._rows[width] = row, math.prod(row) * self._dtype.itemsize
        row, size = self._rows[width]
        return _BatchPlan(positions, rows, lengths, width, row, size * rows.size)

    def _finish_batch(self, plan: _BatchPlan, make: Callable[[], NativeColumns]) -> Batch:
        try:
            memory, _, names = make()
        except AlphabetError as error:
            raise self.explain(plan.rows, error) from None
        rows = plan.rows
        texts = partial(self.store.ids, rows) if names is None else names.to_list
        return {
            "id": Ids(texts, rows.size),
            "inputs": memory.view(self._dtype).reshape(rows.size, *plan.row),
            **self.columns(plan.positions, rows),
            "lengths": plan.lengths,
            **self.extents.mask(plan.lengths, plan.width),
        }


@dataclass(slots=True)
class _BatchPlan:
    """The records of a batch, and the size of the batch in positions and bytes."""

    positions: Rows
    rows: Rows
    lengths: Rows
    width: int
    row: tuple[int, ...]
    size: int
