"""How much of a file has been read, as a bar on a terminal."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
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

from seqloom.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from rich.console import Console
    from rich.progress import TaskID

    from seqloom.io import PairedReader, SequenceReader


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
    with ExitStack() as stack:
        bar = stack.enter_context(_make_bar(console))
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


def _make_bar(console: Console) -> Progress:
    """Makes the bar; it vanishes when it is done."""
    return Progress(
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    )
