"""The plan of a job, `plan.json`: its settings, its files, and the records of each shard.

Every process computes the same plan from the same files and settings. The first process
writes the plan into the folder, and all other processes compare their settings and files
with the written plan.
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
from seqloom.infer.embedding._settings import OutputRules
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.infer.embedding._folder import OutputFolder
    from seqloom.infer.embedding._settings import EmbedSettings

PLAN_FILE = "plan.json"
_PLAN_VERSION = 1
# The maximum size of a shard in bytes and records, if `shard_size` is not set.
_MAX_SHARD_BYTES = 256 << 20
_MAX_SHARD_RECORDS = 1 << 16
# A number of files or records, limited so that the sum of two numbers fits into int64.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
# Indices of a shard: its file, its first record, and the record after its last record.
_Bounds: TypeAlias = tuple[_Count, _Count, _Count]
_PLAN_ERRORS = (KeyError, TypeError, ValueError, RecursionError, msgspec.ValidationError)
# The window length that an error message suggests, because ESM-2 was trained with this
# length.
_SUGGESTED_WINDOW = 1022


@dataclass(frozen=True, slots=True)
class InputSource:
    """Size and modification time of an input file when the job was planned."""

    path: str
    size: int
    modified: int  # modification time in nanoseconds

    @classmethod
    def of(cls, path: str) -> Self:
        """Read the size and modification time of a file."""
        try:
            stat = Path(path).stat()
        except FileNotFoundError as error:
            raise MissingFileError(f"{path}: no such file") from error
        return cls(path, stat.st_size, stat.st_mtime_ns)

    def check(self, path: str) -> None:
        """Raise if the file has changed; `path` is the path of the file on this machine."""
        now = InputSource.of(path)
        if (now.size, now.modified) != (self.size, self.modified):
            raise FileError(
                f"{path}: has changed since the job was planned: {self.size:,} bytes then, "
                f"{now.size:,} now, or another modification time; restore the file, or use "
                "another folder"
            )


@dataclass(frozen=True, slots=True)
class EmbedShard:
    """A shard: consecutive records of one file, which are written to one output file."""

    number: int
    file: int  # index of the file in the sources of the plan
    start: int  # index of the first record in the file
    stop: int
    ordinal: int  # index of the first record over all files

    @property
    def name(self) -> str:
        """The name of the shard's files without the extension."""
        return f"shard-{self.number:06d}"

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class EmbedPlan:
    """The settings, files and shards of a job, as in ``plan.json``."""

    rules: OutputRules
    sources: tuple[InputSource, ...]
    shards: tuple[EmbedShard, ...]
    digest: str = ""  # the hash of plan.json

    @property
    def records(self) -> int:
        """The number of records of all files."""
        return sum(map(len, self.shards))

    def to_json(self) -> str:
        """Return the plan as JSON, with each shard as a short list to save space."""
        values: dict[str, Any] = {
            "version": _PLAN_VERSION,
            "rules": asdict(self.rules),
            "sources": [asdict(source) for source in self.sources],
            "shards": [[it.file, it.start, it.stop] for it in self.shards],
        }
        return json.dumps(values, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse the JSON of a plan."""
        try:
            values = json.loads(text)
            _check_version(values["version"])
            rules = msgspec.convert(values["rules"], OutputRules)
            sources = msgspec.convert(values["sources"], tuple[InputSource, ...])
            shards = msgspec.convert(values["shards"], tuple[_Bounds, ...])
        except ConfigError:
            raise
        except _PLAN_ERRORS as error:
            raise FormatError(f"not the plan of an embedding job: {error}") from None
        files = len(sources)
        if any(file >= files or start >= stop for file, start, stop in shards):
            raise FormatError("not the plan of an embedding job: a shard has no records")
        return cls(rules, sources, _number_shards(shards))

    def differences(self, rules: OutputRules, sources: Sequence[InputSource]) -> list[str]:
        """List the settings and files of a call that differ from the plan."""
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
    """Raise if a plan has another version."""
    if version != _PLAN_VERSION:
        raise ConfigError(
            f"the plan has version {version}, but this seqloom reads {_PLAN_VERSION}; use "
            "the seqloom version that wrote it, or another folder"
        )


def _compare_sources(
    planned: Sequence[InputSource], given: Sequence[InputSource]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, old value and new value of each file property, in the order of files."""
    for number, (old, new) in enumerate(zip(planned, given, strict=False), 1):
        # The path of the folder is not compared, because it may differ between
        # machines.
        name = Path(new.path).name
        yield f"name of file {number}", Path(old.path).name, name
        yield f"size of {name}", old.size, new.size
        yield f"modification time of {name} (ns)", old.modified, new.modified


def begin_plan(
    folder: OutputFolder, settings: EmbedSettings, *, model: str, width: int
) -> EmbedPlan:
    """Write the plan of a job into its folder, or compare it with an existing plan."""
    rules = settings.rules(model)
    sources = [InputSource.of(path) for path in settings.files]
    names = folder.names()
    if PLAN_FILE not in names:
        _require_no_other_files(folder, names)
        plan = _make_plan(rules, sources, settings, width=width)
        # If another process wrote its plan first, that plan is compared below.
        folder.create(PLAN_FILE, plan.to_json().encode())
    elif not settings.resume:
        raise RunFolderError(
            f"{folder.path}: contains embeddings; leave out resume=False (--no-resume) to "
            "continue with them, or use another folder"
        )
    plan = read_plan(folder)
    if differences := plan.differences(rules, sources):
        listed = "; ".join(differences[:5])
        raise ConfigError(
            f"{folder.path}: contains embeddings of another plan: {listed}. Use the same "
            "settings and files, or another folder"
        )
    return plan


def _require_no_other_files(folder: OutputFolder, names: set[str]) -> None:
    """Raise if a folder contains files that are not from an embedding job."""
    others = sorted(it for it in names if it.endswith((".json", ".safetensors")))
    # The plan is checked again, because another process may have written it meanwhile.
    if others and PLAN_FILE not in folder.names():
        raise RunFolderError(
            f"{folder.path}: contains {others[0]}, but no {PLAN_FILE}, so it is not a "
            "folder of embeddings; use another folder for out"
        )


def read_plan(folder: OutputFolder) -> EmbedPlan:
    """Read the plan of a folder."""
    try:
        text = folder.read(PLAN_FILE)
    except MissingFileError as error:
        raise MissingFileError(
            f"{folder.path}: no embeddings: {PLAN_FILE}, which `embed` writes, is missing"
        ) from error
    path = folder.where(PLAN_FILE)
    try:
        plan = EmbedPlan.from_json(text)
    except FormatError as error:
        raise FormatError(f"{path}: cannot be read: {error}", path=path) from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return replace(plan, digest=hashlib.sha256(text).hexdigest())


def _make_plan(
    rules: OutputRules,
    sources: Sequence[InputSource],
    settings: EmbedSettings,
    *,
    width: int,
) -> EmbedPlan:
    """Divide the records of each file into shards; raise if a record exceeds a batch."""
    indexes = [*map(SequenceIndex, settings.files)]
    is_limited = settings.pool != "model" and settings.max_length is None
    for index in indexes:
        _require_no_empty_records(index)
        if is_limited:
            _require_records_fit_batch(index, settings.letters)
    shards = [
        (file, *bounds)
        for file, index in enumerate(indexes)
        for bounds in _shard_bounds(index, rules, width)
    ]
    return EmbedPlan(rules, tuple(sources), _number_shards(shards))


def _number_shards(shards: Sequence[tuple[int, int, int]]) -> tuple[EmbedShard, ...]:
    """Number the shards, and count the records before each shard."""
    sizes = (stop - start for _, start, stop in shards)
    firsts = accumulate(sizes, initial=0)
    return tuple(
        EmbedShard(number, file, start, stop, first)
        for number, ((file, start, stop), first) in enumerate(
            zip(shards, firsts, strict=False)
        )
    )


def _shard_bounds(
    index: SequenceIndex, rules: OutputRules, width: int
) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of shards with a given number of records or bytes."""
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
        stop = int(np.searchsorted(ends, before + _MAX_SHARD_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + _MAX_SHARD_RECORDS, len(index))
        yield start, stop
        start = stop


def _require_no_empty_records(index: SequenceIndex) -> None:
    """Raise if a file has no records, or a record is empty."""
    lengths = index.lengths
    if not lengths.size:
        raise FormatError(f"{index.path}: the file has no records", path=index.path)
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise FormatError(
            f"{index.path}: record {int(empty[0])} ({_get_id(index, empty[0])}) is empty "
            f"(empty records: {empty.size:,}); leave such records out of the file",
            path=index.path,
            record=int(empty[0]),
        )


def _require_records_fit_batch(index: SequenceIndex, most: int) -> None:
    """Raise if a record does not fit into a batch."""
    lengths = index.lengths
    long = np.flatnonzero(lengths > most)
    if long.size:
        first, cut = int(long[0]), min(_SUGGESTED_WINDOW, most)
        options = f"max_length={cut}, overlap={cut // 5}"
        flags = f"--max-length {cut} --overlap {cut // 5}"
        raise ShapeError(
            f"{index.path}: record {first} ({_get_id(index, first)}) has "
            f"{int(lengths[first]):,} residues, but a batch has at most {most:,} (longer "
            f"records: {long.size:,}). To embed the record in windows, use {options} "
            f"({flags}). To embed the whole record, use "
            f"max_tokens={int(lengths.max()) + 2} (--max-tokens {int(lengths.max()) + 2})"
        )


def _get_id(index: SequenceIndex, row: Any) -> str:
    """Return the id of a record, for a message."""
    return index.fetch_many([int(row)])[0].id
