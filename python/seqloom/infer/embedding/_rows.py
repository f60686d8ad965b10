"""Pad and split packed batches, pool the model's output, and join windows to records."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import lengths_to_offsets
from seqloom.errors import InternalError, NotFiniteError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.infer.embedding._model import CpuDevice
    from seqloom.infer.embedding._plan import EmbedShard
    from seqloom.infer.embedding._settings import OutputRules

    Array = NDArray[Any]
    Batch = Mapping[str, Any]

_SEQUENCE_ARRAYS = ("ordinals", "starts", "lengths", "keep")
_TOKEN_ARRAYS = ("input_ids", "position_ids")
_SORTED_BATCHES = 16  # number of packed batches that are sorted by length together


class PaddedBatches:
    """Converts packed batches to padded batches of sequences with similar lengths.

    Args:
        stream: Packed batches.
        max_tokens: The maximum number of tokens in a batch, including padding.
        pad: The id of the padding token.
    """

    def __init__(self, stream: Any, max_tokens: int, pad: int) -> None:
        self._stream, self._max_tokens, self._pad = stream, max_tokens, pad

    def __iter__(self) -> Iterator[dict[str, Any]]:
        batches: Iterator[Any] = iter(self._stream)
        while group := list(islice(batches, _SORTED_BATCHES)):
            yield from self._divide_batches(_join_arrays(group))

    @property
    def content(self) -> str:
        """The hash of the input of a shard."""
        return self._stream.content

    def _divide_batches(self, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Divide sequences, the shortest first, into batches of at most `max_tokens`."""
        sizes = np.diff(whole["cu_seqlens"])
        order = np.argsort(sizes, kind="stable")
        start = 0
        for stop in range(1, order.size + 1):
            is_last = stop == order.size
            if is_last or (stop + 1 - start) * sizes[order[stop]] > self._max_tokens:
                yield self._pad_rows(whole, order[start:stop], sizes)
                start = stop

    def _pad_rows(
        self, whole: dict[str, Any], rows: NDArray[np.int64], sizes: Array
    ) -> dict[str, Any]:
        """Return a padded batch of selected sequences."""
        lengths = sizes[rows]
        mask = np.arange(int(lengths.max())) < lengths[:, None]
        ids = np.full(mask.shape, self._pad, np.int32)
        begins = whole["cu_seqlens"][rows]
        pieces = zip(begins.tolist(), lengths.tolist(), strict=True)
        ids[mask] = np.concatenate([whole["input_ids"][a : a + n] for a, n in pieces])
        chosen = {name: whole[name][rows] for name in _SEQUENCE_ARRAYS}
        return {
            **chosen,
            "input_ids": ids,
            "mask": mask,
            "attention_mask": mask.astype(np.int64),
            "cu_seqlens": lengths_to_offsets(lengths).astype(np.int32),
            "max_seqlen": int(lengths.max()),
            "num_sequences": len(rows),
            "sequence_ids": [whole["sequence_ids"][row] for row in rows.tolist()],
        }


def _join_arrays(group: list[Any]) -> dict[str, Any]:
    """Concatenate packed batches."""
    names = ("input_ids", *_SEQUENCE_ARRAYS)
    joined: dict[str, Any] = {
        name: np.concatenate([batch[name] for batch in group]) for name in names
    }
    sizes = np.concatenate([np.diff(batch["cu_seqlens"]) for batch in group])
    joined["cu_seqlens"] = lengths_to_offsets(sizes)
    joined["sequence_ids"] = [name for batch in group for name in batch["sequence_ids"]]
    return joined


def slice_batch(batch: Batch, first: int, stop: int) -> dict[str, Any]:
    """Return a batch with selected sequences of a packed or padded batch."""
    bounds = np.asarray(batch["cu_seqlens"])[first : stop + 1]
    part = {name: batch[name][first:stop] for name in _SEQUENCE_ARRAYS}
    if "mask" in batch:
        part |= {name: batch[name][first:stop] for name in ("input_ids", "mask")}
    else:
        part |= {name: batch[name][bounds[0] : bounds[-1]] for name in _TOKEN_ARRAYS}
    cu_seqlens = bounds - bounds[0]
    return {
        **part,
        "cu_seqlens": cu_seqlens,
        "max_seqlen": int(np.diff(cu_seqlens).max()),
        "num_sequences": stop - first,
        "sequence_ids": list(batch["sequence_ids"])[first:stop],
    }


def reduce_batch(
    device: CpuDevice, values: Any, batch: Batch, *, pool: str, before: int
) -> Any:
    """Sum the output rows of each window, or select the rows of `<cls>` or residues."""
    # `before` is the number of tokens before the residues of a window.
    _check_shape(values, batch, pool)
    if pool == "model":
        return values
    starts = np.asarray(batch["cu_seqlens"])[:-1].astype(np.int64)
    if "mask" in batch:  # in a padded batch, each sequence is a row
        starts = np.arange(len(starts)) * values.shape[1]
        values = values.reshape(-1, values.shape[-1])
    if pool == "cls":
        return device.take(values, starts)
    keep = np.asarray(batch["keep"]).astype(np.int64)
    counts = keep[:, 1] - keep[:, 0]
    kept = device.take(values, join_ranges(starts + before + keep[:, 0], counts))
    return kept if pool == "none" else device.sum_rows(kept, counts)


def _check_shape(values: Any, batch: Batch, pool: str) -> None:
    """Raise if the number of rows of an output does not match the batch."""
    if not hasattr(values, "shape"):
        raise ShapeError(
            "the model must return an array with a row for each token (or with pool="
            f'"model" for each sequence), but returned {type(values).__name__}'
        )
    number, shape = int(batch["num_sequences"]), tuple(values.shape)
    if pool == "model":
        expected: tuple[int, ...] = (number,)
    elif "mask" in batch:
        expected = tuple(batch["mask"].shape)
    else:
        expected = (int(batch["cu_seqlens"][-1]),)
    if shape[:-1] != expected:
        wanted = ", ".join([*map(str, expected), "width"])
        is_pooled = pool != "model" and shape[:-1] == (number,)
        remedy = '; pool="model" needs a row for each sequence' if is_pooled else ""
        raise ShapeError(
            f"the model must return ({wanted}) for this batch with pool={pool!r}, "
            f"but returned {shape}{remedy}"
        )


def join_ranges(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> Any:
    """Return the concatenated indices of several ranges."""
    firsts = lengths_to_offsets(counts)[:-1]
    return np.arange(int(counts.sum())) + np.repeat(begins - firsts, counts)


class ShardRows:
    """The embeddings of a shard's records, collected from batches in any order.

    A record that is divided into windows receives rows from each window. The mean of a
    record is the sum over the residues of all windows, divided by the number of
    residues.
    """

    def __init__(
        self, shard: EmbedShard, rules: OutputRules, lengths: NDArray[np.int64]
    ) -> None:
        self.shard, self._rules = shard, rules
        # Lengths are read from the batches, not from the file index, because a
        # tokenizer may drop residues, such as a final stop (*).
        self._room, self._begins = lengths, lengths_to_offsets(lengths)
        self.lengths = lengths.copy()
        self.ids: list[str | None] = [None] * len(shard)
        self._missing = lengths.copy()
        self._arrays: dict[int, Array] = {}

    @property
    def is_by_residue(self) -> bool:
        """True if each residue has a row, as with ``pool="none"``."""
        return self._rules.pool == "none"

    def add(self, batch: Batch, found: Mapping[int, Array]) -> None:
        """Add the reduced outputs of one batch to the rows of its records."""
        # Ordinals in the stream are counted from the start of the file.
        rows = np.asarray(batch["ordinals"]) - self.shard.start
        kept = batch["keep"][:, 1] - batch["keep"][:, 0]
        self._count_residues(rows, np.asarray(batch["lengths"]), kept)
        for row, name in zip(rows.tolist(), batch["sequence_ids"], strict=True):
            self.ids[row] = name
        for layer, values in found.items():
            array = self._get_array(layer, values)
            if self.is_by_residue:
                begins = self._begins[rows] + batch["starts"] + batch["keep"][:, 0]
                array[join_ranges(begins, kept)] = values
            elif self._rules.pool != "mean":
                first = batch["starts"] == 0
                array[rows[first]] = values[first]
            elif np.unique(rows).size == rows.size:
                array[rows] += values
            else:  # unlike `+=`, `add.at` adds all windows of a record
                np.add.at(array, rows, values)

    def _count_residues(self, rows: Array, lengths: Array, kept: Array) -> None:
        """Set lengths and count residues; raise if a record was already added."""
        if (lengths > self._room[rows]).any():
            raise InternalError(f"{self.shard.name}: a record is longer than in the index")
        self._missing[rows] += lengths - self.lengths[rows]
        self.lengths[rows] = lengths
        np.subtract.at(self._missing, rows, kept)
        if (self._missing[rows] < 0).any():
            raise InternalError(f"{self.shard.name}: a record was returned twice")

    def _get_array(self, layer: int, values: Array) -> Array:
        """Return the array of a layer; create it at the first call."""
        if layer not in self._arrays:
            count = int(self._begins[-1]) if self.is_by_residue else len(self.shard)
            # Sums are computed in float32, even if the saved numbers are float16.
            kind = self._rules.dtype if self.is_by_residue else "float32"
            self._arrays[layer] = np.zeros((count, values.shape[1]), kind)
        return self._arrays[layer]

    def arrays(self) -> dict[int, Array]:
        """Return the finished arrays by layer; raise if a record is missing."""
        if self._missing.any() or None in self.ids:
            raise InternalError(f"{self.shard.name}: a record is missing")
        return {layer: self._finish_array(array) for layer, array in self._arrays.items()}

    def _finish_array(self, array: Array) -> Array:
        """Divide sums by counts and convert the dtype; raise if a number is not finite."""
        if self.is_by_residue and (self.lengths != self._room).any():
            # The tokenizer may have dropped residues, so unused rows are removed.
            at = np.arange(int(self._begins[-1])) - np.repeat(self._begins[:-1], self._room)
            array = array[at < np.repeat(self.lengths, self._room)]
        if self._rules.pool == "mean":
            array /= self.lengths[:, None].astype(np.float32)
        with np.errstate(over="ignore"):
            finished = array.astype(self._rules.dtype, copy=False)
        if not np.isfinite(finished).all():
            raise self._not_finite_error(array, finished)
        return finished

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Index of the first residue of each record, and the total number of residues."""
        return lengths_to_offsets(self.lengths)

    def _not_finite_error(self, array: Array, finished: Array) -> NotFiniteError:
        """Return the error of the first record whose embedding is not finite."""
        row = int(np.flatnonzero(~np.isfinite(finished).all(axis=1))[0])
        record = row
        if self.is_by_residue:
            record = int(np.searchsorted(self.offsets, row, side="right")) - 1
        remedy = "check the model's weights, or compute in float32"
        if np.isfinite(array[row]).all():
            remedy = 'it is too large for float16: use dtype="float32" (--save-as float32)'
        return NotFiniteError(
            f"the embedding of record {self.shard.ordinal + record} "
            f"({self.ids[record]!r}) is not finite: {remedy}"
        )
