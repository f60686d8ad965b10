"""Finding, checking and making the index of a sequence file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._arguments import as_path, check_function
from seqloom._files import reading
from seqloom._rust import _native
from seqloom._text import printable
from seqloom._threads import count_threads, run_interruptible
from seqloom._warning import warn_user
from seqloom.errors import FileError, FormatError, MissingFileError
from seqloom.io._settings import check_rereadable, replace_remedies

if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIX = ".sli"
# An index holds offsets of letters: nothing between them can be left out.
_CLEAN = "an index needs a clean file: seqloom convert {shell}"


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """A native index, the path of its file (None: in memory), and a note to the user."""

    native: _native.SequenceIndex
    side: str | None
    note: str | None = None


def build_index(
    path: str | os.PathLike[str],
    *,
    index: str | os.PathLike[str] | None = None,
    num_threads: int | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> Path:
    """Make the index of a sequence file, and replace an index that exists.

    Args:
        path: The file: FASTA or FASTQ, plain, bgzip or gzip.
        index: The path of the index; None: beside the file.
        num_threads: Number of threads; None or 0: all cores.
        on_progress: Called from time to time with the number of bytes of text read so far.

    Returns:
        The path of the index.

    Raises:
        MissingFileError: The file does not exist.
        FileError: The file cannot be read, or the index cannot be written.
        FormatError: The file is not a sequence file, or it was cut.

    Examples:
        >>> _ = Path("a.fa").write_text(">a\\nAC\\n")
        >>> build_index("a.fa").name
        'a.fa.sli'
    """
    check_rereadable(path)
    check_function("on_progress", on_progress)
    side = as_path("index", index) if index is not None else _beside(os.fspath(path))
    if side.is_dir():
        raise FileError(f"{side}: is a folder; expected the path of a file for the index")
    threads = count_threads(num_threads)
    _build(os.fspath(path), os.fspath(side), on_progress, threads=threads)
    return side


def _build(
    path: str,
    side: str | None,
    on_progress: Callable[[int], object] | None = None,
    *,
    threads: int,
) -> bytes:
    """Make an index in a file, or return it if `side` is None."""
    progress = _native.IndexProgress()

    def look() -> None:
        if on_progress is not None:
            on_progress(progress.bytes)

    with replace_remedies(_CLEAN):
        content = run_interruptible(
            lambda: _native.build_index(path, side, progress, threads),
            look,
            stop=progress.stop,
        )
    return content or b""


def open_index(
    path: str, index: str | os.PathLike[str] | None, *, build: bool, threads: int
) -> OpenedIndex:
    """Open the index that exists, or make one."""
    side = as_path("index", index) if index is not None else _beside(path)
    if side.suffix == ".fai":
        return _open_standard(path, side)
    # A folder of that name is not an index: the one that is made stays in memory.
    if side.exists() and not side.is_dir():
        return _open_side(path, side, build=build, threads=threads)
    standard = Path(f"{path}.fai")
    if index is None and standard.is_file() and not _is_gzip(path):
        return _open_standard(path, standard)
    if build:
        return _make(path, side, threads=threads)
    if not Path(path).exists():
        raise MissingFileError(f"{path}: no such file")
    raise MissingFileError(f"{side}: no such index; make one: seqloom index {path}")


def reopen_index(
    path: str, source: str | bytes | None, content: int, *, threads: int
) -> _native.SequenceIndex:
    """Open an index again in another process; it must belong to the same file."""
    if isinstance(source, str):
        native = _native.SequenceIndex.open(path, source, threads)
    else:
        native = _native.SequenceIndex.from_bytes(path, source or b"", threads)
    if native.state in {"cut", "changed"} or native.content != content:
        raise FormatError(
            f"{path}: the file or its index has changed since the index was opened; open "
            "the index again",
            path=path,
        )
    return native


def _beside(path: str) -> Path:
    """Return the path of the index beside a file."""
    return Path(path + SUFFIX)


def _open_side(path: str, side: Path, *, build: bool, threads: int) -> OpenedIndex:
    """Open our own index; makes a new one where it belongs to another file."""
    try:
        native = _native.SequenceIndex.open(path, os.fspath(side), threads)
    except FormatError as error:
        if not build:
            raise
        return _make_again(path, side, str(error), threads=threads)
    if native.state == "cut":
        raise FormatError(
            f"{path}: the file was cut: it is shorter than when {side} was made, and the "
            f"same up to its end; get the whole file again, or make a new index: seqloom "
            f"index --overwrite {path}",
            path=path,
        )
    if native.state == "changed":
        what = f"{side}: the file has changed since it was indexed"
        if not build:
            raise FormatError(f"{what}; make a new one: seqloom index --overwrite {path}")
        return _make_again(path, side, what, threads=threads)
    return OpenedIndex(native, os.fspath(side))


def _make_again(path: str, side: Path, why: str, *, threads: int) -> OpenedIndex:
    """Make an index that replaces a useless one, and warns."""
    note = f"{why}: a new index was made"
    made = _make(path, side, threads=threads)
    warn_user(printable(note), UserWarning)
    return OpenedIndex(made.native, made.side, made.note or note)


def _make(path: str, side: Path, *, threads: int) -> OpenedIndex:
    """Make an index beside the file, or in memory where the folder is read-only."""
    try:
        build_index(path, index=side, num_threads=threads)
    except MissingFileError:
        raise
    except FileError as error:
        content = _build(path, None, threads=threads)
        native = _native.SequenceIndex.from_bytes(path, content, threads)
        return OpenedIndex(native, None, f"the index is kept in memory ({error})")
    native = _native.SequenceIndex.open(path, os.fspath(side), threads)
    return OpenedIndex(native, os.fspath(side))


def _open_standard(path: str, fai: Path) -> OpenedIndex:
    """Open a file by its .fai of samtools."""
    gzi = Path(f"{path}.gzi")
    blocks = None
    if gzi.exists():
        with reading(gzi):
            blocks = os.fspath(gzi), gzi.read_bytes()
    with reading(fai):
        table = os.fspath(fai), fai.read_bytes()
    native = _native.SequenceIndex.from_standard(path, table, blocks)
    return OpenedIndex(native, None)


def _is_gzip(path: str) -> bool:
    """Return whether a file is gzip but not bgzip; False if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(16)
    except OSError:
        return False
    return start[:2] == b"\x1f\x8b" and start[12:14] != b"BC"
