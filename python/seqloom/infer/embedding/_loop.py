"""The loop: one thread reads ahead, this one computes, one joins, writes and publishes."""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import MemoryLimitError
from seqloom.infer.embedding._channel import Channel, start
from seqloom.infer.embedding._pool import reduce_batch
from seqloom.infer.embedding._rows import ShardRows
from seqloom.infer.embedding._shard_file import encode_shard, publish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from seqloom.infer.embedding._claims import Claims
    from seqloom.infer.embedding._device import Rows
    from seqloom.infer.embedding._job import Job
    from seqloom.infer.embedding._plan import Shard
    from seqloom.infer.embedding._summary import EmbedSummary

_AHEAD = 4  # batches that are read, and rows that are computed, but not yet taken


@dataclass(slots=True)
class Work:
    """A shard on its way: its rows, and the hash of what was read, once all was."""

    shard: Shard
    rows: ShardRows
    content: str = ""


class Loop:
    """The three threads of a job."""

    def __init__(self, job: Job, claims: Claims) -> None:
        self.job, self.claims = job, claims
        self.rules, self.clock, self.embedder = job.plan.rules, job.clock, job.embedder
        self.notes: list[str] = []
        self._limit: int | None = None  # tokens of a batch, once memory was full

    def run(self) -> EmbedSummary:
        """Computes what nobody else does, until every shard is there."""
        self._run_threads()
        self.job.complete()
        self.job.tell()
        return self.job.summary(tuple(self.notes))

    def _run_threads(self) -> None:
        """Computes and publishes shards until there are no more."""
        batches: Channel[Any] = Channel(_AHEAD)
        results: Channel[Any] = Channel(_AHEAD)
        reader = start("read", lambda: self._read(batches), batches)
        # What stops the writer stops this thread, which waits for batches.
        writer = start("write", lambda: self._write(results), results, batches)
        try:
            # Where the writer ended, what ended it is raised below.
            with suppress(CancelledError):
                self._compute(batches, results)
        finally:
            self.job.stop.set()
            batches.close()
            results.close()
            reader.join()
            writer.join()
        batches.check()

    def _read(self, batches: Channel[Any]) -> None:
        """Reads, tokenizes and packs the records of one shard after the other."""
        for shard in self.job.claim_shards(self.claims):
            rows = ShardRows(shard, self.rules, self.job.lengths(shard))
            work, stream = Work(shard, rows), self.job.read(shard)
            for batch in stream:
                batches.put((work, batch))
            self.job.check_source(shard)  # what was read is what was planned
            work.content = stream.content
            batches.put((work, None))

    def _compute(self, batches: Channel[Any], results: Channel[Any]) -> None:
        """Runs the model over the batches, in their order."""
        waiting = iter(batches)
        while True:
            with self.clock.waiting_for_input():
                work, batch = next(waiting, (None, None))
            if work is None:
                return
            if batch is not None and self.embedder.device.is_cold:
                self._warm_up(batch)
            for part, rows in () if batch is None else self._embed_batch(batch):
                with self.clock.handing_over():
                    results.put((work, part, rows))
            if batch is None:
                with self.clock.handing_over():
                    results.put((work, None, None))
            else:
                self.job.tell()

    def _warm_up(self, batch: Mapping[str, Any]) -> None:
        """Computes a batch in advance: the first call loads kernels and takes memory."""
        device = self.embedder.device
        device.is_cold = False
        try:
            with device.computing():
                found = self.embedder(device.place(batch))
                for values in found.values():
                    device.fetch(values[:1]).wait()
        except Exception as error:
            # What the memory does not hold is halved when the batch is computed.
            if not device.is_full(error):
                raise

    def _embed_batch(
        self, batch: Mapping[str, Any]
    ) -> Iterator[tuple[Any, dict[int, Rows]]]:
        """Embeds a batch; if that is too much for the memory, its halves."""
        tokens = int(batch["cu_seqlens"][-1])
        if self._limit is not None and tokens > self._limit and batch["num_sequences"] > 1:
            yield from self._embed_halves(batch)
            return
        try:
            rows = self._embed_whole(batch)
        except Exception as error:
            if not self.embedder.device.is_full(error):
                raise
            self._lower_limit(batch, error)
        else:
            self.clock.count(tokens, int(batch["num_sequences"]))
            yield batch, rows
            return
        yield from self._embed_halves(batch)

    def _embed_whole(self, batch: Mapping[str, Any]) -> dict[int, Rows]:
        """Embeds a batch and begins to bring its rows back."""
        device, before = self.embedder.device, self.job.settings.before
        with self.clock.spending("host"):
            placed = device.place(batch)
        with self.clock.spending("device"):
            found = self.embedder(placed)
        with self.clock.spending("host"), device.computing():
            return {
                layer: device.fetch(
                    reduce_batch(device, values, batch, pool=self.rules.pool, before=before)
                )
                for layer, values in found.items()
            }

    def _lower_limit(self, batch: Mapping[str, Any], error: Exception) -> None:
        """Notes that the memory was full; a single sequence cannot be halved."""
        tokens = int(batch["cu_seqlens"][-1])
        if batch["num_sequences"] == 1:
            cut = min(1022, max(tokens // 2, 1))
            raise MemoryLimitError(
                f"record {int(batch['ordinals'][0])} of its file "
                f"({batch['sequence_ids'][0]!r}): {tokens:,} tokens are too many for the "
                f"memory of {self.embedder.device.name}; embed long records in windows: "
                f"max_length={cut}, overlap={cut // 5} "
                f"(--max-length {cut} --overlap {cut // 5})"
            ) from error
        self._limit = max(tokens // 2, 1)
        self.notes.append(
            f"the memory of {self.embedder.device.name} was full with a batch of "
            f"{tokens:,} tokens: batches have {self._limit:,} at most from here on; "
            f"max_tokens={self._limit} (--max-tokens {self._limit}) begins with that"
        )

    def _embed_halves(self, batch: Mapping[str, Any]) -> Iterator[Any]:
        """Embeds the first half of the sequences, then the second."""
        middle = int(batch["num_sequences"]) // 2
        yield from self._embed_batch(cut_batch(batch, 0, middle))
        yield from self._embed_batch(cut_batch(batch, middle, int(batch["num_sequences"])))

    def _write(self, results: Channel[Any]) -> None:
        """Joins rows to shards, and publishes each when it is complete."""
        for work, batch, found in results:
            if batch is None:
                self._publish(work)
                continue
            with self.clock.waiting_for_device():
                arrays = {layer: rows.wait() for layer, rows in found.items()}
            work.rows.add(batch, arrays)

    def _publish(self, work: Work) -> None:
        """Writes a shard and its marker."""
        job, kind = self.job, self.rules.format
        data = encode_shard(work.rows, self.rules.layers, kind)
        name = f"{work.shard.name}.{kind}"
        is_ours = publish(
            job.folder, work.shard, data, name=name, content=work.content, plan=job.digest
        )
        self.claims.release(work.shard.name)
        job.finish(work.shard, is_ours=is_ours)


_BY_SEQUENCE = ("ordinals", "starts", "lengths", "keep")
_BY_TOKEN = ("input_ids", "position_ids")


def cut_batch(batch: Mapping[str, Any], first: int, stop: int) -> dict[str, Any]:
    """Makes a batch of some of the sequences of a packed batch."""
    bounds = np.asarray(batch["cu_seqlens"])[first : stop + 1]
    part = {name: batch[name][first:stop] for name in _BY_SEQUENCE}
    if "mask" in batch:
        part |= {name: batch[name][first:stop] for name in ("input_ids", "mask")}
    else:
        part |= {name: batch[name][bounds[0] : bounds[-1]] for name in _BY_TOKEN}
    cu_seqlens = bounds - bounds[0]
    return {
        **part,
        "cu_seqlens": cu_seqlens,
        "max_seqlen": int(np.diff(cu_seqlens).max()),
        "num_sequences": stop - first,
        "sequence_ids": list(batch["sequence_ids"])[first:stop],
    }
