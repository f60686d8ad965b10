"""Padded batches, for models that take sequences side by side."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

_SORTED = 16  # packed batches whose sequences are sorted by length together


class PaddedBatches:
    """Makes padded batches of packed ones: of similar lengths, so that little is padded.

    Args:
        stream: Packed batches.
        max_tokens: Tokens in a batch at most, the padding counted.
        pad: The number of the padding token.
    """

    def __init__(self, stream: Any, max_tokens: int, pad: int) -> None:
        self._stream, self._max_tokens, self._pad = stream, max_tokens, pad

    def __iter__(self) -> Iterator[dict[str, Any]]:
        batches: Iterator[Any] = iter(self._stream)
        while group := list(islice(batches, _SORTED)):
            yield from self._cut(_join(group))

    @property
    def content(self) -> str:
        """The hash of what was read."""
        return self._stream.content

    def _cut(self, whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Cuts sequences, the shortest first, into batches of the budget."""
        sizes = np.diff(whole["cu_seqlens"])
        order = np.argsort(sizes, kind="stable")
        start = 0
        for stop in range(1, order.size + 1):
            is_last = stop == order.size
            if is_last or (stop + 1 - start) * sizes[order[stop]] > self._max_tokens:
                yield self._pad_rows(whole, order[start:stop], sizes)
                start = stop

    def _pad_rows(
        self, whole: dict[str, Any], rows: NDArray[np.int64], sizes: NDArray[Any]
    ) -> dict[str, Any]:
        """Puts some sequences side by side."""
        lengths = sizes[rows]
        mask = np.arange(int(lengths.max())) < lengths[:, None]
        ids = np.full(mask.shape, self._pad, np.int32)
        begins = whole["cu_seqlens"][rows]
        pieces = zip(begins.tolist(), lengths.tolist(), strict=True)
        ids[mask] = np.concatenate([whole["input_ids"][a : a + n] for a, n in pieces])
        chosen = {name: whole[name][rows] for name in _BY_SEQUENCE}
        return {
            **chosen,
            "input_ids": ids,
            "mask": mask,
            "attention_mask": mask.astype(np.int64),
            "cu_seqlens": offsets_of(lengths).astype(np.int32),
            "max_seqlen": int(lengths.max()),
            "num_sequences": len(rows),
            "sequence_ids": [whole["sequence_ids"][row] for row in rows.tolist()],
        }


_BY_SEQUENCE = ("ordinals", "starts", "lengths", "keep")


def _join(batches: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Joins packed batches."""
    group = list(batches)
    names = ("input_ids", *_BY_SEQUENCE)
    joined: dict[str, Any] = {
        name: np.concatenate([batch[name] for batch in group]) for name in names
    }
    sizes = np.concatenate([np.diff(batch["cu_seqlens"]) for batch in group])
    joined["cu_seqlens"] = offsets_of(sizes)
    joined["sequence_ids"] = [name for batch in group for name in batch["sequence_ids"]]
    return joined
