"""The index of a file, whoever makes it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._system import lock
from seqloom.errors import FileError, FormatError
from seqloom.io import SequenceIndex

if TYPE_CHECKING:
    from collections.abc import Generator


def index_of(path: str, num_threads: int | None = None) -> SequenceIndex:
    """Opens the index of a file; of several processes that want it, one makes it."""
    # Nobody waits for an index that is there: a stopped process may hold the lock for long.
    if (index := ready_index(path, num_threads)) is not None:
        return index
    with _alone_with(path):
        return SequenceIndex(path, num_threads=num_threads)


def ready_index(path: str, num_threads: int | None = None) -> SequenceIndex | None:
    """Takes an index that is there already; to go on reading, none needs to be made."""
    try:
        return SequenceIndex(path, build=False, num_threads=num_threads)
    except (FileError, FormatError):
        return None  # what is wrong with the file itself, its reader says


@contextmanager
def _alone_with(path: str) -> Generator[None]:
    """Keeps other processes from making the same index meanwhile, where it can."""
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError:
        yield  # what is wrong with the file, its index says
        return
    with file:
        with suppress(OSError):  # some file systems have no locks: then each makes its own
            lock(file.fileno())
        yield
