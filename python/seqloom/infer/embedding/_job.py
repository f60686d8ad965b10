"""A job: which shards are left, who computes them, and whether all are there."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seqloom.data import PackedStream
from seqloom.errors import FileError, InternalError
from seqloom.infer.embedding._padded import PaddedBatches
from seqloom.infer.embedding._shard_file import read_done
from seqloom.infer.embedding._summary import EmbedSummary, Progress
from seqloom.infer.embedding._tokens import pad_value_of
from seqloom.infer.monitor._clock import Clock
from seqloom.infer.monitor._verdict import IDLE, judge
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from seqloom.infer.embedding._claims import Claims
    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._model import Embedder
    from seqloom.infer.embedding._plan import Plan, Shard
    from seqloom.infer.embedding._settings import Settings
    from seqloom.infer.embedding._shard_file import Done
    from seqloom.infer.monitor._monitor import GPUMonitor

COMPLETE = "complete.json"


@dataclass(slots=True)
class Job:
    """The shards of a folder that this process computes, and their counts."""

    plan: Plan
    digest: str  # of plan.json
    folder: OutputFolder
    paths: Sequence[str]  # of the plan's sources, on this machine
    embedder: Embedder
    settings: Settings
    progress: Callable[[Progress], Any] | None = None
    clock: Clock = field(default_factory=Clock)
    monitor: GPUMonitor | None = None
    computed: int = 0  # shards that this process published
    _claimed: int = 0  # shards that this process began
    _written: int = 0  # and those of them that its writer is through with
    _finished: set[str] = field(default_factory=set[str])  # shards, whoever published them
    # Set when the writer is through with a shard; wakes `claim_shards`.
    _news: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)
    _indexes: dict[int, SequenceIndex] = field(default_factory=dict[int, SequenceIndex])

    def read(self, shard: Shard) -> Any:
        """Opens the packed batches of a shard."""
        self.check_source(shard)
        settings = self.settings
        stream = PackedStream(
            self.paths[shard.file],
            settings.tokens,
            max_tokens=settings.max_tokens,
            max_length=settings.max_length,
            overlap=settings.overlap,
            records=(shard.start, shard.stop),
            num_threads=settings.threads,
        )
        if settings.packing:
            return stream
        return PaddedBatches(stream, settings.max_tokens, pad_value_of(settings.tokens))

    def check_source(self, shard: Shard) -> None:
        """Refuses a file that is no longer the one of the plan."""
        self.plan.sources[shard.file].check(self.paths[shard.file])

    def lengths(self, shard: Shard) -> Any:
        """Looks up the letters of a shard's records."""
        if shard.file not in self._indexes:
            path = self.paths[shard.file]
            self._indexes[shard.file] = SequenceIndex(path)
        return self._indexes[shard.file].lengths[shard.start : shard.stop]

    def finish(self, shard: Shard, *, is_ours: bool) -> None:
        """Notes that a shard was published, by this process or by another one."""
        self.computed += is_ours
        self._written += 1
        self._finished.add(shard.name)
        self._news.set()

    def tell(self) -> None:
        """Tells the caller how far the job is."""
        if self.progress is not None:
            self.progress(self._progress())

    def _progress(self) -> Progress:
        """Counts what is done."""
        clock = self.clock
        return Progress(
            records=self.plan.records,
            done=self._count_finished(),
            sequences=clock.sequences,
            tokens=clock.tokens,
            seconds=clock.wall,
            fill=self._fill,
            waiting=clock.seconds["input"] / max(clock.wall, 1e-9),
        )

    def _count_finished(self) -> int:
        """Counts the records in finished shards."""
        finished = self._finished.copy()  # the writer adds to it meanwhile
        return sum(len(shard) for shard in self.plan.shards if shard.name in finished)

    @property
    def _fill(self) -> float:
        """Tokens by tokens that the batches could have held."""
        room = self.clock.batches * self.settings.max_tokens
        return self.clock.tokens / room if room else 0.0

    def claim_shards(self, claims: Claims) -> Iterator[Shard]:
        """Claims one shard after the other; waits for those that others work on."""
        while not self.stop.is_set():
            open_shards = self._open_shards()
            if not open_shards:
                return
            taken = 0
            for shard in open_shards:
                if self._claim(shard, claims):
                    taken += 1
                    self._claimed += 1
                    yield shard
            if not taken:
                # The rest is at work in other processes, or behind in our own writer. Then
                # look again: the shard of a process that died becomes free.
                kind = "output" if self._claimed > self._written else "rest"
                with self.clock.having_nothing_left(kind):
                    self._news.wait(self.folder.poll)
                    self._news.clear()

    def _open_shards(self) -> list[Shard]:
        """Lists the shards that nobody has finished, as the folder has them now."""
        names = self.folder.names()
        self._finished = {it.name for it in self.plan.shards if f"{it.name}.done" in names}
        self._check_files(names)
        return [it for it in self.plan.shards if it.name not in self._finished]

    def _check_files(self, names: set[str]) -> None:
        """Refuses a marker whose shard is gone."""
        kind = self.settings.format
        for shard in self.plan.shards:
            name = f"{shard.name}.{kind}"
            # A list that is made while others write may lack what was there before the
            # marker, so that the file itself is asked for.
            is_listed = name in names or shard.name not in self._finished
            if not is_listed and self.folder.size(name) is None:
                raise FileError(
                    f"{self.folder.where(name)}: is gone, but its .done file "
                    "is there; delete that, and the same command computes the shard again"
                )

    def _claim(self, shard: Shard, claims: Claims) -> bool:
        """Claims a shard, unless another process has it or has just finished it."""
        if not claims.take(shard.name):
            return False
        if self.folder.size(f"{shard.name}.done") is not None:
            claims.release(shard.name)
            return False
        return True

    def _tidy(self) -> None:
        """Removes what killed processes left: parts, and claims of what is finished."""
        self.folder.remove_old_parts(self.settings.lease)
        for name in self.folder.names():
            if name.endswith(".claim"):
                self.folder.remove(name)

    def complete(self) -> None:
        """Makes sure that each record is there once, and writes that down."""
        done = [read_done(self.folder, shard) for shard in self.plan.shards]
        at = 0
        for shard, marker in zip(self.plan.shards, done, strict=True):
            if (marker.first, marker.records, marker.plan) != (at, len(shard), self.digest):
                raise InternalError(f"{shard.name}: its .done file is of another plan")
            at += marker.records
            self._check_size(marker)
        sums = {marker.file: marker.sha256 for marker in done}
        text = json.dumps({"records": at, "plan": self.digest, "sha256": sums}, indent=1)
        if self.folder.size(COMPLETE) is None:
            self.folder.create(COMPLETE, [text.encode()])
        self._tidy()

    def _check_size(self, marker: Done) -> None:
        """Refuses a shard that was cut after it was published; `load` compares more."""
        if (size := self.folder.size(marker.file)) != marker.bytes:
            name = self.folder.where(marker.file)
            raise FileError(
                f"{name}: has {size:,} bytes, but its .done file says {marker.bytes:,}; "
                "delete both, and the same command computes the shard again"
            )

    def summary(self, notes: tuple[str, ...]) -> EmbedSummary:
        """Says what this process did."""
        clock = self.clock
        shares, seconds = clock.shares, clock.wall
        seen = {} if self.monitor is None else self.monitor.get_summary()
        verdict = judge(shares, seconds, seen.get("evidence", ""))
        verdict = verdict if clock.batches else IDLE
        grown = filter(None, [clock.memory.note])
        return EmbedSummary(
            records=self.plan.records,
            shards=len(self.plan.shards),
            computed=self.computed,
            sequences=clock.sequences,
            tokens=clock.tokens,
            seconds=seconds,
            shares=shares,
            fill=self._fill,
            verdict=verdict.sentence,
            notes=tuple(dict.fromkeys([*notes, *grown, *seen.get("notes", ())])),
        )
