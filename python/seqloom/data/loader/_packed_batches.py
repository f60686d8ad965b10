"""Batches of our packing collator over files, which Rust reads, encodes and packs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._system import count_cores
from seqloom.data.collate._output import converter
from seqloom.data.collate._varlen import VarlenCollator
from seqloom.data.loader._request import Request
from seqloom.data.packed._stream import PackedStream
from seqloom.encode import Tokens

if TYPE_CHECKING:
    from collections.abc import Generator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder
    from seqloom.data.loader._request import EpochProgress

# What a batch of the collator has, and as int64.
_KEYS = (
    *("input_ids", "position_ids", "cu_seqlens", "max_seqlen"),
    *("sequence_ids", "ordinals", "num_sequences"),
)
_WIDE = frozenset(("input_ids", "position_ids"))


def can_pack(settings: LoaderSettings) -> bool:
    """Tells whether Rust alone makes the batches: no code of a user has a part in them."""
    collate: Any = settings.collate
    is_ours = type(collate) is VarlenCollator and type(collate.tokens) is Tokens
    return is_ours and settings.workers.worker_init_fn is None


class PackedFileBatches:
    """Batches of files; the state of the packed stream is part of the loader's."""

    def __init__(self, settings: LoaderSettings) -> None:
        self._settings = settings
        collate: Any = settings.collate
        self._convert = converter(collate.output)

    def epoch(
        self, start: EpochProgress, order: EpochOrder
    ) -> Generator[tuple[Request, Any]]:
        """Yields batches, those of the collator bit for bit."""
        del order
        stream = self._stream()
        if start.stream_state is not None:
            stream.load_state_dict(start.stream_state)
        for position, packed in enumerate(stream, start.position + 1):
            request = Request(None, start.epoch, position=position)
            request.stream_state = stream.state_dict
            yield request, self._settings.convert(self._convert(_as_collated(packed)))

    def _stream(self) -> PackedStream:
        """Opens the files; with workers, as many threads and this one."""
        collate: Any = self._settings.collate
        workers = self._settings.workers.num_workers
        threads = max(2, min(workers + 1, count_cores())) if workers else 1
        return PackedStream(
            self._settings.dataset.paths,
            collate.tokens,
            max_tokens=collate.max_tokens,
            window=collate.window,
            empty="keep",
            num_threads=threads,
        )

    def count(self, order: EpochOrder) -> int:
        """Refuses to guess the number of batches."""
        del order
        raise TypeError("the number of batches is not known before the files are read")

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with; the stream's state has its own."""
        del order
        return {"files": [*self._settings.dataset.paths], "is_packed": True}

    def close(self) -> None:
        """Does nothing: the threads end with the epoch."""


def _as_collated(packed: dict[str, Any]) -> dict[str, Any]:
    """Gives the keys and the types of the collator."""
    batch = {key: packed[key] for key in _KEYS}
    return batch | {key: batch[key].astype(np.int64) for key in _WIDE}
