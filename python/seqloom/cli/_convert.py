"""``seqloom convert``: another container, another format, a selection."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
from cyclopts import Parameter, validators
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from seqloom.cli._console import open_console
from seqloom.cli._options import PATH, Count, Files, Flag, Threads, takes_options
from seqloom.errors import ArgumentError, FileError, SeqloomError
from seqloom.io._settings import Quality, TextOptions

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray
    from rich.console import Console
    from rich.progress import TaskID

    from seqloom.io import PairedReader, SequenceBatch, SequenceReader

_TWO = 2
_PAIRS = "seqloom convert R1 R2 --out OUT1 OUT2"
_HOW = f"seqloom convert IN OUT, or for pairs: {_PAIRS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPaths:
    """Holds one file or two to read, and one or two to write, checked."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    interleaved: bool

    def __post_init__(self) -> None:
        if not self.targets:
            raise ArgumentError(f"no file to write: {_HOW}")
        if len(self.targets) > _TWO:
            raise ArgumentError(f"--out takes one file or two, got {len(self.targets)}")
        files = len(self.sources) + len(self.targets)
        if files == _TWO + _TWO and self.interleaved:
            raise ArgumentError(
                "--interleaved is for one file that holds both reads of each pair; "
                "here are two to read and two to write"
            )
        if files == _TWO + 1 and not self.interleaved:
            raise ArgumentError(
                f"{len(self.sources)} to read and {len(self.targets)} to write: reads that "
                "alternate in one file need --interleaved"
            )
        self._check_distinct()

    def _check_distinct(self) -> None:
        """Refuse to read a file twice, and to write a file that is read."""
        # Behind a bar, two openings of one file look like two files.
        if len({_identity(source) for source in self.sources}) < len(self.sources):
            raise ArgumentError(
                f"{self.sources[0]}: both files to read are the same one; reads that "
                "alternate in one file need --interleaved"
            )
        read = {_identity(source) for source in self.sources if source != "-"}
        for target in self.targets:
            if target != "-" and Path(target).exists() and _identity(target) in read:
                raise ArgumentError(
                    f"{target}: is a file to read and to write at once; write to another "
                    "name"
                )

    @property
    def source(self) -> str | tuple[str, str]:
        """What is read, as `open_sequences` takes it."""
        return _one_or_two(self.sources)

    @property
    def target(self) -> str | tuple[str, str]:
        """What is written, as `write_sequences` takes it."""
        return _one_or_two(self.targets)

    @property
    def holds_pairs(self) -> bool:
        """Whether one file is read that holds pairs."""
        return self.interleaved and len(self.sources) == 1

    def check_free(self) -> None:
        """Refuse to replace a file: of two mates given as IN and OUT, the second."""
        is_one_each = len(self.sources) == len(self.targets) == 1
        for target in self.targets:
            if target == "-" or not Path(target).is_file():
                continue
            advice = "--overwrite replaces it"
            # OUT that holds sequences may be a second mate.
            if is_one_each and _holds_sequences(target):
                advice = (
                    f"was a pair meant? for a pair: {_PAIRS} (--overwrite loses this file)"
                )
            raise FileError(f"{target}: is there already; {advice}")


def resolve_paths(
    source: str, other: str | None, out: Sequence[Path], *, interleaved: bool
) -> ConvertPaths:
    """Tell what is read from what is written: with --out, all other words are read."""
    words = (source,) if other is None else (source, other)
    sources, targets = (words, tuple(map(str, out))) if out else (words[:1], words[1:])
    return ConvertPaths(sources=sources, targets=targets, interleaved=interleaved)


def _one_or_two(names: tuple[str, ...]) -> str | tuple[str, str]:
    """Return one name, or two."""
    return names[0] if len(names) == 1 else (names[0], names[1])


def _identity(name: str) -> object:
    """Name a file by what it is, as far as it is there."""
    try:
        facts = Path(name).stat()
    except OSError:
        return name
    return facts.st_dev, facts.st_ino


def _holds_sequences(name: str) -> bool:
    """Tell whether a file is one that we read."""
    from seqloom.io import open_sequences

    try:
        with open_sequences(name):
            return True
    except SeqloomError:
        return False


@contextmanager
def open_with_meter(
    source: str | tuple[str, str], console: Console, **options: Any
) -> Generator[SequenceReader | PairedReader]:
    """Open one file or two and, on a terminal, shows how much was read."""
    sources = (source,) if isinstance(source, str) else source
    if not (console.is_terminal and all(Path(path).is_file() for path in sources)):
        with _open(sources, options) as reader:
            yield reader
        return
    columns = (
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
    )
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(*columns, console=console, transient=True))
        total = sum(Path(path).stat().st_size for path in sources)
        task = bar.add_task("", total=total)
        files = [stack.enter_context(Meter(path, bar, task)) for path in sources]
        yield stack.enter_context(_open(files, options))
        for file in files:
            file.check_unchanged()


def _open(
    sources: Sequence[str | Meter], options: dict[str, Any]
) -> SequenceReader | PairedReader:
    """Open one file, or two that go together."""
    from seqloom.io import open_sequences

    origin: Any = sources[0] if len(sources) == 1 else tuple(sources)
    if len(sources) > 1:
        options = {
            name: option for name, option in options.items() if name != "interleaved"
        }
    return cast("SequenceReader | PairedReader", open_sequences(origin, **options))


class Meter(FileIO):
    """Reads a file and moves a bar."""

    def __init__(self, path: str, bar: Progress, task: TaskID) -> None:
        super().__init__(path)
        self._bar, self._task = bar, task
        self._before = self._stamp()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read on, and say how much that was."""
        piece = super().read(size) or b""
        self._bar.update(self._task, advance=len(piece))
        return piece

    def check_unchanged(self) -> None:
        """Refuse a file that was written while it was read."""
        if self._stamp() != self._before:
            raise FileError(f"{os.fspath(str(self.name))}: changed while it was being read")

    def _stamp(self) -> tuple[int, int]:
        """Return the file's size and time."""
        facts = os.fstat(self.fileno())
        return facts.st_size, facts.st_mtime_ns


_BATCH = 1 << 14
Level = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=9))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(TextOptions):
    """Says how IN is to be read.

    Args:
        on_error: At a fault in a record: stop, or leave it out and count it.
    """

    on_error: Literal["raise", "skip"] = "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions:
    """Says which records are kept.

    Args:
        min_length: Keep sequences of at least this number of letters.
        max_length: Keep sequences of at most this number of letters.
        min_mean_quality: Keep FASTQ records whose mean score is at least this.
    """

    min_length: Count | None = None
    max_length: Count | None = None
    min_mean_quality: float | None = None


@takes_options()
def convert(
    source: Annotated[str, PATH, Parameter(name="IN")],
    target: Annotated[str | None, PATH, Parameter(name="OUT")] = None,
    /,
    *,
    out: Files = (),
    interleaved: Flag = False,
    format: Literal["fasta", "fastq"] | None = None,  # noqa: A002 - the option's name
    compression: Literal["none", "gzip", "bgzip"] | None = None,
    keep: KeepOptions,
    read: ReadOptions,
    line_width: Count = 60,
    level: Level = 6,
    threads: Threads | None = None,
    overwrite: Flag = False,
) -> None:
    """Write a sequence file anew: another container or format, or some of its records.

    Example: seqloom convert reads.fq.gz long.fa.bgz --min-length 100

    Pairs: seqloom convert R1 R2 --out OUT1 OUT2. Their ids are checked, and a pair is kept
    if both of its reads are.

    Args:
        source: A sequence file, or - for standard input.
        target: The file to write, whole or not at all; - is standard output. With --out:
            the file of the second reads.
        out: The files to write, of which neither appears unless both are whole. For
            standard output: --out=-
        interleaved: One file holds both reads of each pair: IN, OUT, or both.
        format: What OUT is written in; otherwise by its name.
        compression: What OUT is packed in; otherwise by its name (.gz, .bgz).
        keep: Which records are kept.
        read: How IN is read.
        line_width: Letters a line of FASTA.
        level: How hard to compress, from 0 to 9.
        threads: Threads to use; otherwise as many as the machine allows.
        overwrite: Replace OUT where it is there already.
    """
    from seqloom.io import write_sequences

    paths = resolve_paths(source, target, out, interleaved=interleaved)
    if not overwrite:
        paths.check_free()
    selection = Selection(keep, read.quality)
    options = {"interleaved": paths.holds_pairs, "num_threads": threads, **asdict(read)}
    with open_with_meter(paths.source, open_console(stderr=True), **options) as reader:
        write_sequences(
            paths.target,
            selection.of(reader),
            format=format or (reader.format if paths.target == "-" else None),
            compression=compression,
            line_width=line_width,
            level=level,
            num_threads=threads,
        )
    console = open_console(stderr=paths.target == "-")
    for line in selection.report(reader):
        console.print(line)


class Selection:
    """Selects records, and counts why others are dropped."""

    def __init__(self, keep: KeepOptions, encoding: Quality) -> None:
        least, most = keep.min_length or 0, keep.max_length
        if most is not None and least > most:
            raise ArgumentError(f"--min-length {least} is more than --max-length {most}")
        quality = keep.min_mean_quality
        if quality is not None and not math.isfinite(quality):
            raise ArgumentError(f"--min-mean-quality must be a number, got {quality}")
        self._keep = keep
        self._encoding: Quality = encoding
        self.kept = 0
        self.dropped = {"too short": 0, "too long": 0, "of low quality": 0}

    def of(
        self, reader: SequenceReader | PairedReader
    ) -> Iterator[SequenceBatch | tuple[SequenceBatch, SequenceBatch]]:
        """Read on, and give what is kept: of pairs, both reads or none."""
        from seqloom.io import SequenceReader

        if self._keep.min_mean_quality is not None and reader.format != "fastq":
            path = reader.path if isinstance(reader, SequenceReader) else reader.paths[0]
            raise ArgumentError(f"{path}: --min-mean-quality needs qualities, found FASTA")
        for batch in reader.batches(_BATCH):
            mates = batch if isinstance(batch, tuple) else (batch,)
            kept = self._judge(mates)
            self.kept += int(kept.sum())
            rows = kept.nonzero()[0]
            chosen = mates if kept.all() else [mate.take(rows) for mate in mates]
            yield (chosen[0], chosen[1]) if len(chosen) > 1 else chosen[0]

    def _judge(self, mates: Sequence[SequenceBatch]) -> NDArray[np.bool_]:
        """Say which records or pairs are kept; each that goes is counted once."""
        kept = np.ones(len(mates[0]), np.bool_)
        lengths, keep = [mate.sequences.lengths for mate in mates], self._keep
        if keep.min_length is not None:
            short = [length < keep.min_length for length in lengths]
            self._drop(kept, short, why="too short")
        if keep.max_length is not None:
            long = [length > keep.max_length for length in lengths]
            self._drop(kept, long, why="too long")
        if keep.min_mean_quality is not None:
            means = [mate.mean_quality(self._encoding) for mate in mates]
            low = [mean < keep.min_mean_quality for mean in means]
            self._drop(kept, low, why="of low quality")
        return kept

    def _drop(
        self, kept: NDArray[np.bool_], goes: Sequence[NDArray[np.bool_]], *, why: str
    ) -> None:
        """Leave out records, or pairs of which either read goes."""
        gone = np.any(goes, axis=0)
        self.dropped[why] += int((kept & gone).sum())
        kept &= ~gone

    def report(self, reader: SequenceReader | PairedReader) -> Iterator[str]:
        """Say how much was written, and what became of the rest."""
        from seqloom.io import PairedReader

        is_paired = isinstance(reader, PairedReader)
        left_out = {} if is_paired else reader.report.left_out
        what = " pairs" if is_paired else ""
        yield f"read      {self.kept + sum(self.dropped.values()):,}{what}"
        yield f"written   {self.kept:,}{what}"
        for why, number in self.dropped.items():
            if number:
                yield f"dropped   {number:,}{what} {why}"
        for kind, number in left_out.items():
            yield f"left out  {number:,} with a fault ({kind})"
        if not self.kept:
            yield "warning: nothing was kept, and what was written is empty"
