"""How much of a file has been read, as a bar on a terminal."""

from __future__ import annotations

import os
from contextlib import contextmanager
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
    from collections.abc import Generator

    from rich.console import Console

    from seqloom.io import SequenceReader


@contextmanager
def metered(source: str, console: Console, **options: Any) -> Generator[SequenceReader]:
    """Opens a sequence file and, on a terminal, shows how much of it was read."""
    if not (console.is_terminal and Path(source).is_file()):
        with _open(source, options) as reader:
            yield reader
        return
    with (
        _make_bar(console) as bar,
        Meter(source, bar) as file,
        _open(file, options) as reader,
    ):
        yield reader
        file.check_unchanged()


def _open(source: str | Meter, options: dict[str, Any]) -> SequenceReader:
    """Opens one file."""
    from seqloom.io import open_sequences

    return cast("SequenceReader", open_sequences(source, **options))


class Meter(FileIO):
    """Reads a file and moves a bar.

    Args:
        path: The file.
        bar: What is moved.
    """

    def __init__(self, path: str, bar: Progress) -> None:
        super().__init__(path)
        self._bar = bar
        self._before = self._stamp()
        self._task = bar.add_task("", total=self._before[0])

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
