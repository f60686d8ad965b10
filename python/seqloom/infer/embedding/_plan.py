"""The plan of a job: which records make which shard, and what every shard agrees on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import msgspec
import numpy as np

from seqloom.errors import (
    ConfigError,
    FileError,
    FormatError,
    MissingFileError,
    ShapeError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.io import SequenceIndex

VERSION = 1
# Bytes of a shard's embeddings, and records of a shard, where nobody says how many.
_SHARD_BYTES = 256 << 20
_MOST_RECORDS = 1 << 16
# A number of files or records: two of them make one that an array holds.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
_NO_PLAN = (KeyError, TypeError, ValueError, RecursionError, msgspec.ValidationError)
# Residues of a window where nothing else is known: what ESM-2 was trained on.
_USUAL_WINDOW = 1022


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides the numbers of an output: two jobs with equal rules agree."""

    model: str  # names the weights
    tokens: str  # names the tokenizer
    pool: str
    layers: tuple[int, ...]
    dtype: str
    format: str
    max_length: int | None
    overlap: int
    packing: bool
    shard_size: int | None


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when the job was planned."""

    path: str
    size: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, path: str) -> Self:
        """Looks at a file."""
        try:
            stat = Path(path).stat()
        except FileNotFoundError as error:
            raise MissingFileError(f"{path}: no such file") from error
        return cls(path, stat.st_size, stat.st_mtime_ns)

    def check(self, path: str) -> None:
        """Refuses the file, as another name of it may be here, once it has changed."""
        now = Source.of(path)
        if (now.size, now.modified) != (self.size, self.modified):
            raise FileError(
                f"{path}: has changed since the job was planned: {self.size:,} bytes then, "
                f"{now.size:,} now, or another time of change; bring the file back, or "
                "embed it into another folder"
            )


@dataclass(frozen=True, slots=True)
class _Written:
    """What ``plan.json`` says."""

    rules: Rules
    sources: tuple[Source, ...]
    shards: tuple[tuple[_Count, _Count, _Count], ...]


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

    @property
    def records(self) -> int:
        """The number of records of all files."""
        return sum(map(len, self.shards))

    def to_json(self) -> str:
        """Writes the plan; shards as lists, because there may be many."""
        shards = [[s.file, s.start, s.stop] for s in self.shards]
        values: dict[str, Any] = {
            "version": VERSION,
            "rules": asdict(self.rules),
            "sources": [asdict(source) for source in self.sources],
            "shards": shards,
        }
        return json.dumps(values, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads what `to_json` wrote."""
        try:
            values = json.loads(text)
            _check_version(values["version"])
            written = msgspec.convert(values, _Written)
        except ConfigError:
            raise
        except _NO_PLAN as error:
            raise FormatError(f"not the plan of an embedding job: {error}") from None
        files = len(written.sources)
        if any(file >= files or start >= stop for file, start, stop in written.shards):
            raise FormatError("not the plan of an embedding job: a shard holds no records")
        return cls(written.rules, written.sources, _number(written.shards))

    def differences(self, rules: Rules, sources: Sequence[Source]) -> list[str]:
        """Names what a call asks for otherwise, with both values."""
        facts = [
            *_pair(asdict(self.rules), asdict(rules)),
            ("number of files", len(self.sources), len(sources)),
            *_compare_sources(self.sources, sources),
        ]
        return [
            f"{name}: {planned!r} in plan.json, {given!r} now"
            for name, planned, given in facts
            if planned != given
        ]


def _check_version(version: object) -> None:
    """Refuses a plan of another layout."""
    if version != VERSION:
        raise ConfigError(
            f"the plan has version {version}, this seqloom reads {VERSION}; use the "
            "seqloom that wrote it, or another folder"
        )


def _pair(planned: dict[str, Any], given: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Puts the values of each rule side by side."""
    return ((name, planned[name], given[name]) for name in planned)


def _compare_sources(
    planned: Sequence[Source], given: Sequence[Source]
) -> Iterator[tuple[str, Any, Any]]:
    """Puts files side by side, by their positions: a shard knows its file by that."""
    for number, (old, new) in enumerate(zip(planned, given, strict=False), 1):
        # The folder may have another name on another machine.
        name = Path(new.path).name
        yield f"name of file {number}", Path(old.path).name, name
        yield f"size of {name}", old.size, new.size
        yield f"time of the last change of {name} (ns)", old.modified, new.modified


def make_plan(
    rules: Rules, sources: Sequence[Source], indexes: Sequence[SequenceIndex], *, width: int
) -> Plan:
    """Cuts the records of each file into shards; it knows nothing of processes."""
    shards: list[tuple[int, int, int]] = []
    for file, index in enumerate(indexes):
        shards += [(file, *bounds) for bounds in _bounds(index, rules, width)]
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
    """Cuts the records of one file: so many, or so many bytes of embeddings."""
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
        stop = min(max(stop, start + 1), start + _MOST_RECORDS, len(index))
        yield start, stop
        start = stop


def check_records(
    indexes: Sequence[SequenceIndex], *, most: int | None, max_length: int | None
) -> None:
    """Refuses records that cannot be embedded, before anything is computed."""
    for index in indexes:
        lengths = index.lengths
        _check_empty(index, lengths)
        if max_length is None and most is not None:
            _check_long(index, lengths, most)


def _check_empty(index: SequenceIndex, lengths: NDArray[np.int64]) -> None:
    """Refuses a file without records, and records without letters."""
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


def _check_long(index: SequenceIndex, lengths: NDArray[np.int64], most: int) -> None:
    """Refuses records that no batch holds, where nobody asked for windows."""
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
    """Returns the id of a record, for a message."""
    return index.fetch_many([int(row)])[0].id
