"""Compute a part of the shards of a job in one process.

One thread reads packed batches, the calling thread runs the model, and one thread joins
rows to shards and writes them.
"""

from __future__ import annotations

import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from seqloom._threads import limit_blas
from seqloom.data import PackedStream
from seqloom.errors import FileError, InternalError, MemoryLimitError
from seqloom.infer.embedding._folder import open_folder
from seqloom.infer.embedding._model import CpuDevice, Embedder
from seqloom.infer.embedding._plan import begin_plan
from seqloom.infer.embedding._rows import (
    PaddedBatches,
    ShardRows,
    reduce_batch,
    slice_batch,
)
from seqloom.infer.embedding._shard_file import encode_shard, publish_shard, read_marker
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.monitor._clock import Clock
from seqloom.infer.monitor._gpus import is_installed
from seqloom.infer.monitor._monitor import IDLE_LOOP, GPUMonitor, find_bottleneck
from seqloom.io import SequenceIndex
from seqloom.nn import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.infer.embedding._plan import EmbedShard
    from seqloom.infer.embedding._settings import EmbedSettings

    Batch = Mapping[str, Any]
    # A batch of a shard; after the last batch, None and the hash of the shard's input.
    ShardBatch = tuple[EmbedShard, Batch | None, str | None]
    Rows = Callable[[], NDArray[Any]]

_COMPLETE_FILE = "complete.json"
_QUEUE_SIZE = 4  # maximum length of the queues of batches and of results


class EmbedJob:
    """Computes a part of the shards in one process, and counts the work."""

    def __init__(
        self,
        model: Any,
        settings: EmbedSettings,
        progress: Callable[[Progress], Any] | None = None,
    ) -> None:
        self.settings = settings = settings.for_model(model)
        self.folder = open_folder(settings.out, settings.cloud_options)
        self.embedder = Embedder(model, settings.layers, find_device(model))
        name, width = self.embedder.name, self.embedder.width
        self.plan = begin_plan(self.folder, settings, model=name, width=width)
        is_gpu = self.embedder.device.name.startswith("cuda")
        self._monitor = GPUMonitor() if is_gpu and is_installed() else None
        self.clock = Clock()
        self._progress = progress
        self._shards = settings.part.of(self.plan.shards)
        self._records = sum(map(len, self._shards))
        self._skipped = 0  # number of records in shards that were already published
        self._written = 0  # number of records in shards that this process has finished
        self._computed = 0  # number of shards that this process published
        self._notes: list[str] = []
        self._limit: int | None = None  # limit of tokens after memory was full
        # Used only by the writer thread: the rows of the current shard, and the index
        # of each file.
        self._rows: ShardRows | None = None
        self._indexes: dict[int, SequenceIndex] = {}

    def run(self) -> EmbedSummary:
        """Compute and write the shards that no process has written yet."""
        on_host = self.embedder.device.name == "cpu"
        limit = limit_blas(self.settings.threads) if on_host else nullcontext()
        with limit, self._monitor or nullcontext():
            self._compute_shards()
            missing = self._complete_job()
            self._report_progress()
            return self._summarise(missing)

    def _compute_shards(self) -> None:
        """Run the model on all batches in order."""
        reader, writer = (
            ThreadPoolExecutor(1, f"seqloom-{work}") for work in ("read", "write")
        )
        pieces = _read_ahead(self._read_batches(), reader)
        written: deque[Future[None]] = deque()
        try:
            while True:
                with self.clock.spending("input"):
                    piece = next(pieces, None)
                if piece is None:
                    break
                shard, batch, content = piece
                if batch is None:
                    self._wait_for_writer(written, most=_QUEUE_SIZE)
                    written.append(writer.submit(self._publish, shard, content))
                    continue
                for part, rows in self._embed_batch(batch):
                    self._wait_for_writer(written, most=_QUEUE_SIZE)
                    written.append(writer.submit(self._add_rows, shard, part, rows))
                self._report_progress()
            self._wait_for_writer(written, most=0)
        finally:
            # Finished results are written even if the loop raises an error.
            reader.shutdown(cancel_futures=True)
            writer.shutdown()

    def _wait_for_writer(self, written: deque[Future[None]], *, most: int) -> None:
        """Wait until at most `most` results are unwritten; raise the writer's errors."""
        with self.clock.waiting_for_writer():
            while written and (len(written) > most or written[0].done()):
                written.popleft().result()

    def _read_batches(self) -> Iterator[ShardBatch]:
        """Read, tokenize and pack the records of the shards in order."""
        names = self.folder.names()
        self._check_files(names)
        left = [it for it in self._shards if f"{it.name}.done" not in names]
        self._skipped = self._records - sum(map(len, left))
        for shard in left:
            # Check again, because another process may compute the same shards.
            if self.folder.size(f"{shard.name}.done") is not None:
                self._skipped += len(shard)
                continue
            source, path = self.plan.sources[shard.file], self.settings.files[shard.file]
            source.check(path)
            stream = self._open_stream(path, shard)
            for batch in stream:
                yield shard, batch, ""
            source.check(path)
            yield shard, None, stream.content

    def _check_files(self, names: set[str]) -> None:
        """Raise if a marker file exists but its shard is missing."""
        for shard in self.plan.shards:
            name = f"{shard.name}.{self.settings.format}"
            # A listing made while other processes write may lack existing files, so the
            # file itself is checked.
            is_listed = name in names or f"{shard.name}.done" not in names
            if not is_listed and self.folder.size(name) is None:
                raise FileError(
                    f"{self.folder.where(name)}: is missing, but its .done file exists; "
                    "delete that file, and the same command computes the shard again"
                )

    def _open_stream(self, path: str, shard: EmbedShard) -> PackedStream | PaddedBatches:
        """Iterate over the batches of a shard."""
        settings = self.settings
        stream = PackedStream(
            path,
            settings.tokens,
            max_tokens=settings.max_tokens,
            max_length=settings.max_length,
            overlap=settings.overlap,
            records=(shard.start, shard.stop),
            num_threads=settings.threads,
        )
        if settings.packing:
            return stream
        return PaddedBatches(stream, settings.max_tokens, settings.pad)

    def _embed_batch(self, batch: Batch) -> Iterator[tuple[Batch, dict[int, Rows]]]:
        """Embed a batch; if memory is full, embed its halves one after the other."""
        if self.embedder.device.is_cold:
            self._warm_up(batch)
        tokens, number = int(batch["cu_seqlens"][-1]), int(batch["num_sequences"])
        if self._limit is None or tokens <= self._limit or number == 1:
            try:
                rows = self._embed_whole(batch)
            except Exception as error:
                if not self.embedder.device.is_full(error):
                    raise
                self._lower_limit(batch, error)
            else:
                self.clock.count(tokens, number)
                yield batch, rows
                return
        yield from self._embed_batch(slice_batch(batch, 0, number // 2))
        yield from self._embed_batch(slice_batch(batch, number // 2, number))

    def _warm_up(self, batch: Batch) -> None:
        """Compute a batch before timing starts, because the first call loads kernels."""
        device = self.embedder.device
        device.is_cold = False
        try:
            with device.computing():
                for values in self.embedder(device.place(batch)).values():
                    device.fetch(values[:1])()
        except Exception as error:
            # Memory errors are ignored here, because a batch that is too large is
            # halved later.
            if not device.is_full(error):
                raise

    def _embed_whole(self, batch: Batch) -> dict[int, Rows]:
        """Embed a batch and start to copy its rows from the device."""
        device, pool, before = (
            self.embedder.device,
            self.settings.pool,
            self.settings.ends[0],
        )
        with self.clock.spending("host"):
            placed = device.place(batch)
        with self.clock.spending("device"):
            outputs = self.embedder(placed)
        with self.clock.spending("host"), device.computing():
            return {
                layer: device.fetch(
                    reduce_batch(device, values, batch, pool=pool, before=before)
                )
                for layer, values in outputs.items()
            }

    def _lower_limit(self, batch: Batch, error: Exception) -> None:
        """Lower the limit of tokens after memory was full; raise if this is impossible."""
        tokens, device = int(batch["cu_seqlens"][-1]), self.embedder.device
        if batch["num_sequences"] == 1:
            cut = min(1022, max(tokens // 2, 1))
            advice = (
                f"embed long records in windows: max_length={cut}, overlap={cut // 5} "
                f"(--max-length {cut} --overlap {cut // 5})"
            )
            if self.settings.pool == "model":  # pooled windows cannot be joined
                advice = "leave long records out of the file"
            raise MemoryLimitError(
                f"record {int(batch['ordinals'][0])} of its file "
                f"({batch['sequence_ids'][0]!r}): {tokens:,} tokens are too many for the "
                f"memory of {device.name}; {advice}"
            ) from error
        self._limit = max(tokens // 2, 1)
        self._notes.append(
            f"the memory of {device.name} was full with a batch of {tokens:,} tokens. "
            f"Further batches have at most {self._limit:,} tokens; "
            f"max_tokens={self._limit} (--max-tokens {self._limit}) avoids this"
        )

    def _add_rows(self, shard: EmbedShard, batch: Batch, rows: dict[int, Rows]) -> None:
        """Add the rows of a batch to its shard, in the writer thread."""
        with self.clock.waiting_for_device():
            arrays = {layer: wait() for layer, wait in rows.items()}
        if self._rows is None:
            path = self.settings.files[shard.file]
            if shard.file not in self._indexes:
                self._indexes[shard.file] = SequenceIndex(path)
            lengths = self._indexes[shard.file].lengths[shard.start : shard.stop]
            self._rows = ShardRows(shard, self.plan.rules, lengths)
        self._rows.add(batch, arrays)

    def _publish(self, shard: EmbedShard, content: str | None) -> None:
        """Write a shard and its marker file, in the writer thread."""
        rows, self._rows = self._rows, None
        if rows is None:
            raise InternalError(f"{shard.name}: no batch was read")
        kind = self.settings.format
        data = encode_shard(rows, self.settings.layers, kind)
        self._computed += publish_shard(
            self.folder,
            shard,
            data,
            name=f"{shard.name}.{kind}",
            content=content or "",
            plan=self.plan.digest,
        )
        self._written += len(shard)

    def _complete_job(self) -> int:
        """Return the number of missing shards; if it is 0, write complete.json."""
        names, shards = self.folder.names(), self.plan.shards
        if missing := sum(f"{it.name}.done" not in names for it in shards):
            return missing
        at, sums = 0, dict[str, str]()
        for shard in shards:
            marker = read_marker(self.folder, shard)
            expected = (at, len(shard), self.plan.digest)
            if (marker.first, marker.records, marker.plan) != expected:
                raise InternalError(f"{shard.name}: its .done file belongs to another plan")
            if (size := self.folder.size(marker.file)) != marker.bytes:
                state = "is missing" if size is None else f"has {size:,} bytes"
                raise FileError(
                    f"{self.folder.where(marker.file)}: {state}, but {marker.bytes:,} in "
                    "its .done file; delete both, and the same command computes the shard "
                    "again"
                )
            at += marker.records
            sums[marker.file] = marker.sha256
        if _COMPLETE_FILE not in names:
            values = {"records": at, "plan": self.plan.digest, "sha256": sums}
            self.folder.create(_COMPLETE_FILE, json.dumps(values, indent=1).encode())
        self.folder.remove_stale_parts()
        return 0

    def _report_progress(self) -> None:
        """Report the progress of the job."""
        clock = self.clock
        if self._progress is not None:
            self._progress(
                Progress(
                    records=self._records,
                    done=self._skipped + self._written,
                    sequences=clock.sequences,
                    tokens=clock.tokens,
                    seconds=clock.wall_seconds,
                    fill=self._batch_fill,
                    waiting=clock.seconds["input"] / max(clock.wall_seconds, 1e-9),
                )
            )

    @property
    def _batch_fill(self) -> float:
        """The number of tokens divided by the maximum that the batches could contain."""
        room = self.clock.batches * self.settings.max_tokens
        return self.clock.tokens / room if room else 0.0

    def _summarise(self, missing: int) -> EmbedSummary:
        """Return a summary of the work of this process."""
        clock = self.clock
        shares, seconds = clock.shares, clock.wall_seconds
        seen = {} if self._monitor is None else self._monitor.get_summary()
        verdict = find_bottleneck(shares, seconds, seen.get("evidence", ""))
        notes = [*self._notes, clock.memory.note, *seen.get("notes", ())]
        return EmbedSummary(
            records=self.plan.records,
            shards=len(self.plan.shards),
            computed=self._computed,
            sequences=clock.sequences,
            tokens=clock.tokens,
            seconds=seconds,
            shares=shares,
            fill=self._batch_fill,
            verdict=(verdict if clock.batches else IDLE_LOOP).sentence,
            notes=tuple(dict.fromkeys(filter(None, notes))),
            missing=missing,
        )


def find_device(model: Any) -> CpuDevice:
    """Return the device that has the weights of the model."""
    name = "cpu"
    if isinstance(model, Module):
        name = str(model.backend.device)
    elif hasattr(model, "parameters"):
        first = next(iter(model.parameters()), None)
        name = str(getattr(first, "device", "cpu"))
    if name.startswith("cuda"):
        from seqloom.infer.embedding._torch_device import TorchDevice

        return TorchDevice(name)
    return CpuDevice()


def _read_ahead(
    pieces: Iterator[ShardBatch], thread: ThreadPoolExecutor
) -> Iterator[ShardBatch]:
    """Read batches in another thread, a few batches in advance."""
    ahead = deque(thread.submit(next, pieces, None) for _ in range(_QUEUE_SIZE))
    while (piece := ahead.popleft().result()) is not None:
        ahead.append(thread.submit(next, pieces, None))
        yield piece
