"""The plan of a job, `plan.json`: its settings, its files, and the records of each shard.

Every process makes the same plan from the same files and settings. The first one writes it
into the folder; each other one compares its own settings and files with it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import msgspec
import numpy as np

from seqloom.errors import (
    ConfigError,
    FileError,
    FormatError,
    MissingFileError,
    RunFolderError,
    ShapeError,
)
from seqloom.infer.embedding._settings import Rules
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._settings import Settings

PLAN = "plan.json"
_VERSION = 1
# Bytes and records of a shard at most, without `shard_size`.
_SHARD_BYTES = 256 << 20
_SHARD_RECORDS = 1 << 16
# A number of files or records: two of them make one that an array holds.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
# The file of a shard, its first record, and the record after its last one.
_Bounds: TypeAlias = tuple[_Count, _Count, _Count]
_NO_PLAN = (KeyError, TypeError, ValueError, RecursionError, msgspec.ValidationError)
# Residues of the window that an error suggests: ESM-2 was trained on as many.
_USUAL_WINDOW = 1022


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when the job was planned."""

    path: str
    size: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, path: str) -> Self:
        """Read the size and the time of change of a file."""
        try:
            stat = Path(path).stat()
        except FileNotFoundError as error:
            raise MissingFileError(f"{path}: no such file") from error
        return cls(path, stat.st_size, stat.st_mtime_ns)

    def check(self, path: str) -> None:
        """Raise if the file, of which `path` is the name here, has changed."""
        now = Source.of(path)
        if (now.size, now.modified) != (self.size, self.modified):
            raise FileError(
                f"{path}: has changed since the job was planned: {self.size:,} bytes then, "
                f"{now.size:,} now, or another time of change; bring the file back, or "
                "embed it into another folder"
            )


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive records of one file that are computed and written together."""

    number: int
    file: int  # which of the plan's sources
    start: int  # the first record, counted in its file
    stop: int
    ordinal: int  # the first record, counted over all files

    @property
    def name(self) -> str:
        """The name of the shard's files, without an ending."""
        return f"shard-{self.number:06d}"

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """The rules, the files and the shards of a job, as ``plan.json`` holds them."""

    rules: Rules
    sources: tuple[Source, ...]
    shards: tuple[Shard, ...]
    digest: str = ""  # of the text of `plan.json`

    @property
    def records(self) -> int:
        """The number of records of all files."""
        return sum(map(len, self.shards))

    def to_json(self) -> str:
        """Write the plan as text; a shard as a list, because there may be many."""
        values: dict[str, Any] = {
            "version": _VERSION,
            "rules": asdict(self.rules),
            "sources": [asdict(source) for source in self.sources],
            "shards": [[it.file, it.start, it.stop] for it in self.shards],
        }
        return json.dumps(values, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        try:
            values = json.loads(text)
            _check_version(values["version"])
            rules = msgspec.convert(values["rules"], Rules)
            sources = msgspec.convert(values["sources"], tuple[Source, ...])
            shards = msgspec.convert(values["shards"], tuple[_Bounds, ...])
        except ConfigError:
            raise
        except _NO_PLAN as error:
            raise FormatError(f"not the plan of an embedding job: {error}") from None
        files = len(sources)
        if any(file >= files or start >= stop for file, start, stop in shards):
            raise FormatError("not the plan of an embedding job: a shard holds no records")
        return cls(rules, sources, _number(shards))

    def differences(self, rules: Rules, sources: Sequence[Source]) -> list[str]:
        """List the settings and files in which a call differs, with both values."""
        given = asdict(rules)
        facts = [
            *((name, value, given[name]) for name, value in asdict(self.rules).items()),
            ("number of files", len(self.sources), len(sources)),
            *_compare_sources(self.sources, sources),
        ]
        return [
            f"{name}: {planned!r} in plan.json, {now!r} now"
            for name, planned, now in facts
            if planned != now
        ]


def _check_version(version: object) -> None:
    """Raise if a plan has another layout."""
    if version != _VERSION:
        raise ConfigError(
            f"the plan has version {version}, this seqloom reads {_VERSION}; use the "
            "seqloom that wrote it, or another folder"
        )


def _compare_sources(
    planned: Sequence[Source], given: Sequence[Source]
) -> Iterator[tuple[str, Any, Any]]:
    """Pair the facts of files by their positions, by which a shard names its file."""
    for number, (old, new) in enumerate(zip(planned, given, strict=False), 1):
        # The folder may have another name on another machine.
        name = Path(new.path).name
        yield f"name of file {number}", Path(old.path).name, name
        yield f"size of {name}", old.size, new.size
        yield f"time of the last change of {name} (ns)", old.modified, new.modified


def begin_plan(folder: OutputFolder, settings: Settings, *, model: str, width: int) -> Plan:
    """Write the plan of a job into its folder, or compare the one that is there."""
    rules = settings.rules(model)
    sources = [Source.of(path) for path in settings.files]
    names = folder.names()
    if PLAN not in names:
        _check_free(folder, names)
        plan = _make_plan(rules, sources, settings, width=width)
        # If another process is first, its plan is compared with ours.
        folder.create(PLAN, plan.to_json().encode())
    elif not settings.resume:
        raise RunFolderError(
            f"{folder.path}: holds embeddings already; leave out resume=False "
            "(--no-resume) to go on with them, or give another folder"
        )
    plan = read_plan(folder)
    if differences := plan.differences(rules, sources):
        listed = "; ".join(differences[:5])
        raise ConfigError(
            f"{folder.path}: holds embeddings of another plan: {listed}. Give the same "
            "settings and files, or another folder"
        )
    return plan


def _check_free(folder: OutputFolder, names: set[str]) -> None:
    """Raise if a folder holds other things, such as the model."""
    others = sorted(it for it in names if it.endswith((".json", ".safetensors")))
    # Another process may have begun this job since the folder was listed.
    if others and PLAN not in folder.names():
        raise RunFolderError(
            f"{folder.path}: holds {others[0]}, but no {PLAN}: it is no folder of "
            "embeddings; give another one as out"
        )


def read_plan(folder: OutputFolder) -> Plan:
    """Read the plan of a folder that a job has begun."""
    try:
        text = folder.read(PLAN)
    except MissingFileError as error:
        raise MissingFileError(
            f"{folder.path}: no embeddings: there is no {PLAN}, which `embed` writes"
        ) from error
    path = folder.where(PLAN)
    try:
        plan = Plan.from_json(text)
    except FormatError as error:
        raise FormatError(f"{path}: cannot be read: {error}", path=path) from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return replace(plan, digest=hashlib.sha256(text).hexdigest())


def _make_plan(
    rules: Rules, sources: Sequence[Source], settings: Settings, *, width: int
) -> Plan:
    """Cut the records of each file into shards; each must fit into a batch."""
    indexes = [*map(SequenceIndex, settings.files)]
    is_limited = settings.pool != "model" and settings.max_length is None
    for index in indexes:
        _check_empty(index)
        if is_limited:
            _check_long(index, settings.letters)
    shards = [
        (file, *bounds)
        for file, index in enumerate(indexes)
        for bounds in _bounds(index, rules, width)
    ]
    return Plan(rules, tuple(sources), _number(shards))


def _number(shards: Sequence[tuple[int, int, int]]) -> tuple[Shard, ...]:
    """Numbers shards, and counts the records before each."""
    sizes = (stop - start for _, start, stop in shards)
    firsts = accumulate(sizes, initial=0)
    return tuple(
        Shard(number, file, start, stop, first)
        for number, ((file, start, stop), first) in enumerate(
            zip(shards, firsts, strict=False)
        )
    )


def _bounds(index: SequenceIndex, rules: Rules, width: int) -> Iterator[tuple[int, int]]:
    """Cut the records of one file by number, or by the bytes of their embeddings."""
    if (shard_size := rules.shard_size) is not None:
        starts = range(0, len(index), shard_size)
        yield from ((start, min(start + shard_size, len(index))) for start in starts)
        return
    rows = index.lengths if rules.pool == "none" else np.ones(len(index), np.int64)
    cost = np.dtype(rules.dtype).itemsize * width * len(rules.layers)
    ends = np.cumsum(rows) * cost
    start = 0
    while start < len(index):
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + _SHARD_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + _SHARD_RECORDS, len(index))
        yield start, stop
        start = stop


def _check_empty(index: SequenceIndex) -> None:
    """Raise if a file has no records, or a record has no letters."""
    lengths = index.lengths
    if not lengths.size:
        raise FormatError(f"{index.path}: the file has no records", path=index.path)
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise FormatError(
            f"{index.path}: record {int(empty[0])} ({_id_of(index, empty[0])}) has no "
            f"letters, so that it has no embedding (records without letters: "
            f"{empty.size:,}); leave them out of the file",
            path=index.path,
            record=int(empty[0]),
        )


def _check_long(index: SequenceIndex, most: int) -> None:
    """Raise if a batch does not hold a record."""
    lengths = index.lengths
    long = np.flatnonzero(lengths > most)
    if long.size:
        first, cut = int(long[0]), min(_USUAL_WINDOW, most)
        options = f"max_length={cut}, overlap={cut // 5}"
        flags = f"--max-length {cut} --overlap {cut // 5}"
        raise ShapeError(
            f"{index.path}: record {first} ({_id_of(index, first)}) has "
            f"{int(lengths[first]):,} letters, but a batch takes {most:,} "
            f"(longer records: {long.size:,}). To embed it in windows whose residues are "
            f"joined, give {options} ({flags}); "
            f"to embed it whole, max_tokens={int(lengths.max()) + 2} "
            f"(--max-tokens {int(lengths.max()) + 2})"
        )


def _id_of(index: SequenceIndex, row: Any) -> str:
    """Return the id of a record, for a message."""
    return index.fetch_many([int(row)])[0].id
