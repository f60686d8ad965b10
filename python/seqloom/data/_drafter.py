"""Makes batches, in Rust and without the interpreter where threads make them."""

from __future__ import annotations

import copyreg
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._extent import Extents, pad_length
from seqloom.data._ids import Ids
from seqloom.data._ring import RING
from seqloom.encode import Quality
from seqloom.encode._base import SequenceEncoder
from seqloom.errors import LetterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Made = tuple[NDArray[np.uint8], list[int] | None, _native.Names | None]
    Batch = dict[str, Any]

_HERE = _native.BatchMaker(RING, 0)
# See the ring: whoever pickles this module gets a maker of its own.
copyreg.pickle(_native.BatchMaker, lambda _: (_native.BatchMaker, (RING, 0)))


def can_draft(encoder: Any) -> bool:
    """Tells whether threads alone can encode: letters, to what NumPy can hold."""
    # NumPy has no bfloat16, and the records' columns that threads read are letters.
    is_of_letters = isinstance(encoder, SequenceEncoder) and not isinstance(
        encoder, Quality
    )
    return is_of_letters and encoder.dtype != "bfloat16"


@dataclass(frozen=True, slots=True)
class Shape:
    """The length of the sequences in a batch."""

    length: int | None = None  # None takes the longest sequence of the batch
    multiple: int = 1  # the longest is rounded up to a multiple of this


@dataclass(slots=True)
class Drafter:
    """Makes batches of records that are held as columns.

    Its ``begin`` and ``make`` are called for each batch: what is the same for all of them
    is found out once.
    """

    encoder: SequenceEncoder  # encodes letters as numbers
    store: _native.RecordStore  # ids and letters
    extents: Extents  # how many positions the encoder makes of each record of the store
    about: Callable[[Rows], Batch]  # further columns; they share no memory with the rows
    explain: Callable[[Rows, LetterError], LetterError]  # adds the position in the file
    shape: Shape = field(default_factory=Shape)  # how many positions a batch has
    kept: Rows | None = None  # the record of each position; None where they are equal
    stays: bool = True  # whether the store outlives its batches: then ids are read later
    _kernel: _native.SequenceKernel = field(init=False)
    _dtype: np.dtype[Any] = field(init=False)
    _rows: dict[int, tuple[tuple[int, ...], int]] = field(init=False)

    def __post_init__(self) -> None:
        self._kernel = self.encoder.kernel
        self._dtype = np.dtype(self.encoder.dtype)
        self._rows = {}

    def among(self, indices: Rows) -> Drafter:
        """Returns a drafter for the positions in some of the sequences."""
        kept = indices if self.kept is None else self.kept[indices]

        def about(positions: Rows) -> Batch:
            return self.about(indices[positions])

        def explain(positions: Rows, error: LetterError) -> LetterError:
            return self.explain(indices[positions], error)

        return replace(self, about=about, explain=explain, kept=kept)

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
        rows = positions if self.kept is None else self.kept[positions]
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
            raise self.explain(plan.positions, error) from None
        rows = plan.rows
        texts = partial(self.store.ids, rows) if names is None else names.to_list
        return {
            "id": Ids(texts, rows.size),
            "inputs": memory.view(self._dtype).reshape(rows.size, *plan.row),
            **self.about(plan.positions),
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
