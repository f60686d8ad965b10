"""``seqloom convert``: change the format or compression of a file, or select records."""

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

_MATES_PER_PAIR = 2
_PAIR_USAGE = "seqloom convert R1 R2 --out OUT1 OUT2"
_USAGE = f"seqloom convert IN OUT, or for pairs: {_PAIR_USAGE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPaths:
    """Validated paths of one or two files to read, and of one or two files to write."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    interleaved: bool

    def __post_init__(self) -> None:
        if not self.targets:
            raise ArgumentError(f"no file to write: {_USAGE}")
        if len(self.targets) > _MATES_PER_PAIR:
            raise ArgumentError(f"--out takes one file or two, got {len(self.targets)}")
        files = len(self.sources) + len(self.targets)
        if files == _MATES_PER_PAIR + _MATES_PER_PAIR and self.interleaved:
            raise ArgumentError(
                "--interleaved is for one file with both reads of each pair, but two input "
                "files and two output files were given"
            )
        if files == _MATES_PER_PAIR + 1 and not self.interleaved:
            raise ArgumentError(
                f"{len(self.sources)} to read and {len(self.targets)} to write: "
                "reads that alternate in one file need --interleaved"
            )
        self._check_distinct()

    def _check_distinct(self) -> None:
        """Raise if the same file is given twice as input, or as input and output."""
        # With a progress bar, `open_sequences` cannot detect that two files are the
        # same.
        if len({_file_identity(source) for source in self.sources}) < len(self.sources):
            raise ArgumentError(
                f"{self.sources[0]}: both files to read are the same file; reads that "
                "alternate in one file need --interleaved"
            )
        read = {_file_identity(source) for source in self.sources if source != "-"}
        for target in self.targets:
            if target != "-" and Path(target).exists() and _file_identity(target) in read:
                raise ArgumentError(
                    f"{target}: is both read and written; write to another name"
                )

    @property
    def source(self) -> str | tuple[str, str]:
        """Input path or pair of paths, for `open_sequences`."""
        return _unwrap_single(self.sources)

    @property
    def target(self) -> str | tuple[str, str]:
        """Output path or pair of paths, for `write_sequences`."""
        return _unwrap_single(self.targets)

    @property
    def holds_pairs(self) -> bool:
        """True if the input is one file with both reads of each pair."""
        return self.interleaved and len(self.sources) == 1

    def check_not_existing(self) -> None:
        """Raise if an output file exists, with a hint on the syntax for read pairs."""
        is_one_each = len(self.sources) == len(self.targets) == 1
        for target in self.targets:
            if target == "-" or not Path(target).is_file():
                continue
            advice = "--overwrite replaces it"
            # If OUT contains sequences, the user may have given a read pair as IN and
            # OUT.
            if is_one_each and _is_sequence_file(target):
                advice = f"for a read pair: {_PAIR_USAGE} (--overwrite replaces this file)"
            raise FileError(f"{target}: already exists; {advice}")


def resolve_paths(
    source: str, other: str | None, out: Sequence[Path], *, interleaved: bool
) -> ConvertPaths:
    """Return input and output files; with --out, both arguments are input files."""
    words = (source,) if other is None else (source, other)
    sources, targets = (words, tuple(map(str, out))) if out else (words[:1], words[1:])
    return ConvertPaths(sources=sources, targets=targets, interleaved=interleaved)


def _unwrap_single(names: tuple[str, ...]) -> str | tuple[str, str]:
    """Return a single name as a string, and two names as a tuple."""
    return names[0] if len(names) == 1 else (names[0], names[1])


def _file_identity(name: str) -> object:
    """Return the device and inode of a file, or the name if the file does not exist."""
    try:
        facts = Path(name).stat()
    except OSError:
        return name
    return facts.st_dev, facts.st_ino


def _is_sequence_file(name: str) -> bool:
    """Return whether `open_sequences` can open a file."""
    from seqloom.io import open_sequences

    try:
        with open_sequences(name):
            return True
    except SeqloomError:
        return False


@contextmanager
def open_with_bar(
    source: str | tuple[str, str], console: Console, **options: Any
) -> Generator[SequenceReader | PairedReader]:
    """Open one or two files; on a terminal, show a progress bar."""
    sources = (source,) if isinstance(source, str) else source
    if not (console.is_terminal and all(Path(path).is_file() for path in sources)):
        with _open_sequences(sources, options) as reader:
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
        files = [stack.enter_context(MeteredFile(path, bar, task)) for path in sources]
        yield stack.enter_context(_open_sequences(files, options))
        for file in files:
            file.check_unchanged()


def _open_sequences(
    sources: Sequence[str | MeteredFile], options: dict[str, Any]
) -> SequenceReader | PairedReader:
    """Open one file or a read pair."""
    from seqloom.io import open_sequences

    origin: Any = sources[0] if len(sources) == 1 else tuple(sources)
    if len(sources) > 1:
        options = {
            name: option for name, option in options.items() if name != "interleaved"
        }
    return cast("SequenceReader | PairedReader", open_sequences(origin, **options))


class MeteredFile(FileIO):
    """A file that updates a progress bar while it is read."""

    def __init__(self, path: str, bar: Progress, task: TaskID) -> None:
        super().__init__(path)
        self._bar, self._task = bar, task
        self._before = self._size_and_time()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes and advance the progress bar."""
        piece = super().read(size) or b""
        self._bar.update(self._task, advance=len(piece))
        return piece

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened."""
        if self._size_and_time() != self._before:
            raise FileError(f"{os.fspath(str(self.name))}: changed while it was being read")

    def _size_and_time(self) -> tuple[int, int]:
        """Return the size and modification time of the open file."""
        facts = os.fstat(self.fileno())
        return facts.st_size, facts.st_mtime_ns


_BATCH_RECORDS = 1 << 14
Level = Annotated[int, Parameter(validator=validators.Number(gte=0, lte=9))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(TextOptions):
    """Options for reading IN.

    Args:
        on_error: If a record is invalid: stop with an error, or skip and count the record.
    """

    on_error: Literal["raise", "skip"] = "raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepOptions:
    """Filters of records.

    Args:
        min_length: Keep only sequences with at least this number of residues.
        max_length: Keep only sequences with at most this number of residues.
        min_mean_quality: Keep only FASTQ records with at least this mean quality score.
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
    format: Literal["fasta", "fastq"] | None = None,  # noqa: A002
    compression: Literal["none", "gzip", "bgzip"] | None = None,
    keep: KeepOptions,
    read: ReadOptions,
    line_width: Count = 60,
    level: Level = 6,
    threads: Threads | None = None,
    overwrite: Flag = False,
) -> None:
    """Convert a sequence file to another format or compression, or select records.

    Example: seqloom convert reads.fq.gz long.fa.bgz --min-length 100

    Pairs: seqloom convert R1 R2 --out OUT1 OUT2. The ids of the two reads of a pair must
    match. A pair is kept only if both reads pass the filters.

    Args:
        source: A sequence file, or - for standard input.
        target: The file to write, or - for standard output; a failure leaves no partial
            file. With --out, this argument is the input file of the second reads.
        out: The output files of a read pair; a failure leaves neither file. For standard
            output, write --out=-
        interleaved: The input or output is one file in which first and second reads
            alternate.
        format: Format of OUT; by default from the file name.
        compression: Compression of OUT; by default from the file name (.gz, .bgz).
        keep: Filters of records.
        read: Options for reading IN.
        line_width: Number of residues on each line of FASTA.
        level: Compression level, from 0 to 9.
        threads: Number of threads; by default the number of available cores.
        overwrite: Replace OUT if it exists.
    """
    from seqloom.io import write_sequences

    paths = resolve_paths(source, target, out, interleaved=interleaved)
    if not overwrite:
        paths.check_not_existing()
    selection = RecordFilter(keep, read.quality)
    options = {"interleaved": paths.holds_pairs, "num_threads": threads, **asdict(read)}
    with open_with_bar(paths.source, open_console(stderr=True), **options) as reader:
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


class RecordFilter:
    """Filter of records, which counts dropped records by reason."""

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
        """Yield batches of records that pass the filters, and keep read pairs together."""
        from seqloom.io import SequenceReader

        if self._keep.min_mean_quality is not None and reader.format != "fastq":
            path = reader.path if isinstance(reader, SequenceReader) else reader.paths[0]
            raise ArgumentError(
                f"{path}: --min-mean-quality needs qualities, but FASTA has none"
            )
        for batch in reader.batches(_BATCH_RECORDS):
            mates = batch if isinstance(batch, tuple) else (batch,)
            kept = self._find_kept(mates)
            self.kept += int(kept.sum())
            rows = kept.nonzero()[0]
            chosen = mates if kept.all() else [mate.take(rows) for mate in mates]
            yield (chosen[0], chosen[1]) if len(chosen) > 1 else chosen[0]

    def _find_kept(self, mates: Sequence[SequenceBatch]) -> NDArray[np.bool_]:
        """Return a mask of the records or pairs to keep, and count dropped records."""
        kept = np.ones(len(mates[0]), np.bool_)
        lengths, keep = [mate.sequences.lengths for mate in mates], self._keep
        if keep.min_length is not None:
            short = [length < keep.min_length for length in lengths]
            self._drop_records(kept, short, why="too short")
        if keep.max_length is not None:
            long = [length > keep.max_length for length in lengths]
            self._drop_records(kept, long, why="too long")
        if keep.min_mean_quality is not None:
            means = [mate.mean_quality(self._encoding) for mate in mates]
            low = [mean < keep.min_mean_quality for mean in means]
            self._drop_records(kept, low, why="of low quality")
        return kept

    def _drop_records(
        self, kept: NDArray[np.bool_], fails: Sequence[NDArray[np.bool_]], *, why: str
    ) -> None:
        """Drop records or pairs for which `fails` is True, and count them by reason."""
        gone = np.any(fails, axis=0)
        self.dropped[why] += int((kept & gone).sum())
        kept &= ~gone

    def report(self, reader: SequenceReader | PairedReader) -> Iterator[str]:
        """Yield lines that report the numbers of read, written and dropped records."""
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
            yield f"skipped   {number:,} with an error ({kind})"
        if not self.kept:
            yield "warning: no record was kept, and the output is empty"
