"""Batches that Rust makes of records in memory, without the interpreter in threads."""

from __future__ import annotations

import copyreg
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._encoder import encoded_kind
from seqloom.data._extent import Extents, extents_of, pad_length
from seqloom.data._ids import Ids
from seqloom.data._ring import RING
from seqloom.encode import Quality
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import LetterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.data._encoded import Letters

    Rows = NDArray[np.int64]
    Made = tuple[NDArray[np.uint8], list[int] | None, _native.Names | None]
    Batch = dict[str, Any]

_HERE = _native.BatchMaker(RING, 0)
# See the ring: whoever pickles this module gets a maker of its own.
copyreg.pickle(_native.BatchMaker, lambda _: (_native.BatchMaker, (RING, 0)))


def supports_native_batches(encoder: Any) -> bool:
    """Return True if Rust can encode alone: letters, to a type that NumPy has."""
    # NumPy has no bfloat16, and the records' columns that threads read are letters.
    is_of_sequences = encoded_kind(encoder) == SequenceEncoder.encodes
    return (
        is_of_sequences and not isinstance(encoder, Quality) and encoder.dtype != "bfloat16"
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """The length of the sequences in a batch."""

    length: int | None = None  # None takes the longest sequence of the batch
    multiple: int = 1  # the longest is rounded up to a multiple of this


class NativeRecords:
    """Records as Rust reads them."""

    def __init__(self, store: _native.RecordStore, letters: Letters) -> None:
        self.store, self.letters = store, letters
        self._extents: tuple[SequenceEncoder, Extents] | None = None

    def extents(self, encoder: SequenceEncoder) -> Extents:
        """Counts the positions that an encoder makes of each record."""
        if self._extents is None or self._extents[0] is not encoder:
            self._extents = encoder, Extents.of(extents_of(encoder, self.letters[0]))
        return self._extents[1]


@dataclass(slots=True)
class NativeBatchMaker:
    """Makes batches of records that are held as columns.

    Its ``begin`` and ``make`` are called for each batch: what is the same for all of them
    is found out once.
    """

    encoder: SequenceEncoder  # encodes letters as numbers
    store: _native.RecordStore  # ids and letters
    extents: Extents  # how many positions the encoder makes of each record of the store
    # Further columns by positions and rows; they share no memory with the rows.
    columns: Callable[[Rows, Rows], Batch]
    explain: Callable[[Rows, LetterError], LetterError]  # adds the position in the file
    shape: Shape = field(default_factory=Shape)  # how many positions a batch has
    selected: Rows | None = None  # the row of each position; None where they are equal
    stays: bool = True  # whether the store outlives its batches: then ids are read later
    _kernel: _native.SequenceKernel = field(init=False)
    _dtype: np.dtype[Any] = field(init=False)
    _rows: dict[int, tuple[tuple[int, ...], int]] = field(init=False)

    def __post_init__(self) -> None:
        self._kernel = self.encoder.kernel
        self._dtype = np.dtype(self.encoder.dtype)
        self._rows = {}

    def begin(self, maker: _native.BatchMaker, positions: Rows) -> Callable[[], Batch]:
        """Starts a batch in threads; wait for batches in the order of their starts."""
        plan = self._plan(positions)
        maker.push(self._kernel, self.store, plan.rows, plan.size, not self.stays)
        return partial(self._finish, plan, maker.pop)

    def make(self, positions: Rows, num_threads: int = 1) -> Batch:
        """Makes a batch now."""
        plan, names = self._plan(positions), not self.stays
        arguments = self._kernel, self.store, plan.rows, plan.size, names, num_threads
        return self._finish(plan, partial(_HERE.make, *arguments))

    def _plan(self, positions: Rows) -> _Plan:
        """Finds out all but the numbers."""
        rows = positions if self.selected is None else self.selected[positions]
        lengths = self.extents.at(rows)
        width = pad_length(
            self.extents.longest(lengths),
            lambda: self.store.ids(rows)[int(lengths.argmax())],
            length=self.shape.length,
            multiple=self.shape.multiple,
        )
        if width not in self._rows:
            row = self.encoder.shape(1, width)[1:]
            self._rows[width] = row, math.prod(row) * self._dtype.itemsize
        row, size = self._rows[width]
        return _Plan(positions, rows, lengths, width, row, size * rows.size)

    def _finish(self, plan: _Plan, made: Callable[[], Made]) -> Batch:
        """Puts the columns together."""
        try:
            memory, _, names = made()
        except LetterError as error:
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
class _Plan:
    """A batch to come: its records, and its size in positions and bytes."""

    positions: Rows
    rows: Rows
    lengths: Rows
    width: int
    row: tuple[int, ...]
    size: int
