"""The rows of a shard: what batches give, joined by record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of
from seqloom.errors import InternalError, NotFiniteError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from seqloom.infer.embedding._plan import Rules, Shard


class ShardRows:
    """Collects the embeddings of a shard's records, whatever batches they come in.

    A record that was cut into windows gets its rows from each; a mean is the sum over the
    residues that each window answers for, divided by the number of all.
    """

    def __init__(self, shard: Shard, rules: Rules, lengths: NDArray[np.int64]) -> None:
        self.shard, self._rules = shard, rules
        # The index counts what stands in the file; a tokenizer may leave letters out, such
        # as a final stop (*), and each batch says how many letters its records have.
        self._room, self._begins = lengths, offsets_of(lengths)
        self.lengths = lengths.copy()
        self.ids: list[str | None] = [None] * len(shard)
        self._missing = lengths.copy()
        self._arrays: dict[int, NDArray[Any]] = {}

    @property
    def is_by_residue(self) -> bool:
        """Whether each residue has a row."""
        return self._rules.pool == "none"

    def add(self, batch: Mapping[str, Any], found: Mapping[int, NDArray[Any]]) -> None:
        """Puts the pooled outputs of one batch where they belong."""
        rows = self._rows_of(batch)
        kept = batch["keep"][:, 1] - batch["keep"][:, 0]
        self._set_lengths(rows, batch)
        self._note(rows, kept, batch["sequence_ids"])
        for layer, values in found.items():
            array = self._array_of(layer, values)
            if self.is_by_residue:
                self._lay(array, values, batch=batch, kept=kept)
            elif self._rules.pool == "mean":
                _add_at(array, rows, values)
            else:
                first = batch["starts"] == 0
                array[rows[first]] = values[first]

    def _rows_of(self, batch: Mapping[str, Any]) -> NDArray[Any]:
        """Finds the rows of a batch's records; the stream counts them in their file."""
        return np.asarray(batch["ordinals"]) - self.shard.start

    def _set_lengths(self, rows: NDArray[Any], batch: Mapping[str, Any]) -> None:
        """Takes the lengths of a batch's records from it."""
        lengths = np.asarray(batch["lengths"])
        if (lengths > self._room[rows]).any():
            raise InternalError(f"{self.shard.name}: a record is longer than in the index")
        self._missing[rows] += lengths - self.lengths[rows]
        self.lengths[rows] = lengths

    def _note(self, rows: NDArray[Any], kept: NDArray[Any], ids: list[str]) -> None:
        """Counts residues, so that none comes twice and none is missed."""
        np.subtract.at(self._missing, rows, kept)
        if (self._missing[rows] < 0).any():
            raise InternalError(f"{self.shard.name}: a record came twice")
        for row, name in zip(rows.tolist(), ids, strict=True):
            self.ids[row] = name

    def _array_of(self, layer: int, values: NDArray[Any]) -> NDArray[Any]:
        """Returns the array of a layer, made when its width is known."""
        if layer not in self._arrays:
            count = int(self._begins[-1]) if self.is_by_residue else len(self.shard)
            # Sums are kept as float32; only what is written may be shorter.
            kind = self._rules.dtype if self.is_by_residue else "float32"
            self._arrays[layer] = np.zeros((count, values.shape[1]), kind)
        return self._arrays[layer]

    def _lay(
        self,
        array: NDArray[Any],
        values: NDArray[Any],
        *,
        batch: Mapping[str, Any],
        kept: NDArray[Any],
    ) -> None:
        """Writes the rows of each residue."""
        rows = self._rows_of(batch)
        begins = self._begins[rows] + batch["starts"] + batch["keep"][:, 0]
        at = 0
        for begin, count in zip(begins.tolist(), kept.tolist(), strict=True):
            array[begin : begin + count] = values[at : at + count]
            at += count

    def arrays(self) -> dict[int, NDArray[Any]]:
        """Returns the finished arrays by layer; refuses to while a record is missing."""
        if self._missing.any() or None in self.ids:
            raise InternalError(f"{self.shard.name}: a record is missing")
        return {layer: self._finish(array) for layer, array in self._arrays.items()}

    def _finish(self, array: NDArray[Any]) -> NDArray[Any]:
        """Divides sums, checks the numbers, and gives them their type."""
        if self.is_by_residue and (self.lengths != self._room).any():
            array = array[self._is_taken()]
        if self._rules.pool == "mean":
            array /= self.lengths[:, None].astype(np.float32)
        with np.errstate(over="ignore"):
            finished = array.astype(self._rules.dtype, copy=False)
        if not np.isfinite(finished).all():
            raise self._not_finite(array, finished)
        return finished

    def _is_taken(self) -> NDArray[np.bool]:
        """Marks the rows that residues took of those that the index made room for."""
        at = np.arange(int(self._begins[-1])) - np.repeat(self._begins[:-1], self._room)
        return at < np.repeat(self.lengths, self._room)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the residues of each record begin, and how many there are."""
        return offsets_of(self.lengths)

    def _not_finite(self, array: NDArray[Any], finished: NDArray[Any]) -> NotFiniteError:
        """Names the first record whose embedding is no number."""
        row = int(np.flatnonzero(~np.isfinite(finished).all(axis=1))[0])
        record = row
        if self.is_by_residue:
            record = int(np.searchsorted(self.offsets, row, side="right")) - 1
        remedy = "look at the model's weights, or compute with float32"
        if np.isfinite(array[row]).all():
            remedy = (
                'it does not fit into float16: give dtype="float32" (--save-as float32)'
            )
        return NotFiniteError(
            f"the embedding of record {self.shard.ordinal + record} "
            f"({self.ids[record]!r}) is not finite: {remedy}"
        )


def _add_at(array: NDArray[Any], rows: NDArray[Any], values: NDArray[Any]) -> None:
    """Adds rows; a record may have several, which are added in their order."""
    if np.unique(rows).size == rows.size:
        array[rows] += values
    else:
        np.add.at(array, rows, values)
