"""The files of `seqloom convert`: single reads or pairs, and a bar while they are read."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from seqloom.errors import ArgumentError, FileError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from rich.console import Console
    from rich.progress import TaskID

    from seqloom.io import PairedReader, SequenceReader

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
        """Refuses to read a file twice, and to write a file that is read."""
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
        """Refuses to replace a file: of two mates given as IN and OUT, the second."""
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
    """Tells what is read from what is written: with --out, all other words are read."""
    words = (source,) if other is None else (source, other)
    sources, targets = (words, tuple(map(str, out))) if out else (words[:1], words[1:])
    return ConvertPaths(sources=sources, targets=targets, interleaved=interleaved)


def _one_or_two(names: tuple[str, ...]) -> str | tuple[str, str]:
    """Gives one name, or two."""
    return names[0] if len(names) == 1 else (names[0], names[1])


def _identity(name: str) -> object:
    """Names a file by what it is, as far as it is there."""
    try:
        facts = Path(name).stat()
    except OSError:
        return name
    return facts.st_dev, facts.st_ino


def _holds_sequences(name: str) -> bool:
    """Tells whether a file is one that we read."""
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
    """Opens one file or two and, on a terminal, shows how much was read."""
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
    """Opens one file, or two that go together."""
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
        """Reads on, and says how much that was."""
        piece = super().read(size) or b""
        self._bar.update(self._task, advance=len(piece))
        return piece

    def check_unchanged(self) -> None:
        """Refuses a file that was written while it was read."""
        if self._stamp() != self._before:
            raise FileError(f"{os.fspath(str(self.name))}: changed while it was being read")

    def _stamp(self) -> tuple[int, int]:
        """Gives the file's size and time."""
        facts = os.fstat(self.fileno())
        return facts.st_size, facts.st_mtime_ns
