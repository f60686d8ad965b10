"""Functions that find, check and build the index of a sequence file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._arguments import as_path, check_callable
from seqloom._files import reading
from seqloom._rust import _native
from seqloom._text import printable
from seqloom._threads import count_threads, run_interruptible
from seqloom._warning import warn_user
from seqloom.errors import FileError, FormatError, MissingFileError
from seqloom.io._settings import check_rereadable, replace_remedies

if TYPE_CHECKING:
    from collections.abc import Callable

INDEX_SUFFIX = ".sli"
# Invalid records cannot be skipped, because an index stores the offset of every record.
_CONVERT_HINT = "an index needs a valid file: seqloom convert {shell}"


@dataclass(frozen=True, slots=True)
class OpenedIndex:
    """A Rust index, the path of its file (None if in memory), and a user message."""

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
    """Build the index of a sequence file, and replace an existing index.

    Args:
        path: The path of the FASTA or FASTQ file, uncompressed or compressed with bgzip or
            gzip.
        index: The path of the index; None writes it next to the file.
        num_threads: Number of threads; None or 0 uses all cores.
        on_progress: A function that is called repeatedly with the number of decompressed
            bytes read so far.

    Returns:
        The path of the index.

    Raises:
        MissingFileError: The file does not exist.
        FileError: The file cannot be read, or the index cannot be written.
        FormatError: The file is not a sequence file, or it is truncated.

    Examples:
        >>> _ = Path("a.fa").write_text(">a\\nAC\\n")
        >>> build_index("a.fa").name
        'a.fa.sli'
    """
    check_rereadable(path)
    check_callable("on_progress", on_progress)
    side = as_path("index", index) if index is not None else _index_path(os.fspath(path))
    if side.is_dir():
        raise FileError(f"{side}: is a folder; expected a file path for the index")
    threads = count_threads(num_threads)
    _build_index(os.fspath(path), os.fspath(side), on_progress, threads=threads)
    return side


def _build_index(
    path: str,
    side: str | None,
    on_progress: Callable[[int], object] | None = None,
    *,
    threads: int,
) -> bytes:
    """Build an index in a file, or in memory if `side` is None."""
    progress = _native.IndexProgress()

    def report() -> None:
        if on_progress is not None:
            on_progress(progress.bytes)

    with replace_remedies(_CONVERT_HINT):
        content = run_interruptible(
            lambda: _native.build_index(path, side, progress, threads),
            report,
            stop=progress.stop,
        )
    return content or b""


def open_index(
    path: str, index: str | os.PathLike[str] | None, *, build: bool, threads: int
) -> OpenedIndex:
    """Open the existing index, or build a new one."""
    side = as_path("index", index) if index is not None else _index_path(path)
    if side.suffix == ".fai":
        return _open_fai_index(path, side)
    # If a folder has the name of the index file, keep the index in memory.
    if side.exists() and not side.is_dir():
        return _open_sli_index(path, side, build=build, threads=threads)
    standard = Path(f"{path}.fai")
    if index is None and standard.is_file() and not _is_plain_gzip(path):
        return _open_fai_index(path, standard)
    if build:
        return _build_file_or_memory(path, side, threads=threads)
    if not Path(path).exists():
        raise MissingFileError(f"{path}: no such file")
    raise MissingFileError(f"{side}: no such index; build one: seqloom index {path}")


def reopen_index(
    path: str, source: str | bytes | None, content: int, *, threads: int
) -> _native.SequenceIndex:
    """Open the index again in a new process; raise if the file has changed."""
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


def _index_path(path: str) -> Path:
    """Return the path of the index next to a file."""
    return Path(path + INDEX_SUFFIX)


def _open_sli_index(path: str, side: Path, *, build: bool, threads: int) -> OpenedIndex:
    """Open a ``.sli`` index; rebuild it if it was built for another file."""
    try:
        native = _native.SequenceIndex.open(path, os.fspath(side), threads)
    except FormatError as error:
        if not build:
            raise
        return _rebuild_index(path, side, str(error), threads=threads)
    if native.state == "cut":
        raise FormatError(
            f"{path}: the file is truncated: it is shorter than when {side} was built, but "
            "otherwise unchanged; get the whole file again, or build a new index: "
            f"seqloom index --overwrite {path}",
            path=path,
        )
    if native.state == "changed":
        problem = f"{side}: the file has changed since it was indexed"
        if not build:
            raise FormatError(
                f"{problem}; build a new index: seqloom index --overwrite {path}"
            )
        return _rebuild_index(path, side, problem, threads=threads)
    return OpenedIndex(native, os.fspath(side))


def _rebuild_index(path: str, side: Path, why: str, *, threads: int) -> OpenedIndex:
    """Rebuild an index that does not match its file, and warn about it."""
    note = f"{why}: the index was rebuilt"
    rebuilt = _build_file_or_memory(path, side, threads=threads)
    warn_user(printable(note), UserWarning)
    return OpenedIndex(rebuilt.native, rebuilt.side, rebuilt.note or note)


def _build_file_or_memory(path: str, side: Path, *, threads: int) -> OpenedIndex:
    """Build an index next to the file, or in memory if the folder is read-only."""
    try:
        build_index(path, index=side, num_threads=threads)
    except MissingFileError:
        raise
    except FileError as error:
        content = _build_index(path, None, threads=threads)
        native = _native.SequenceIndex.from_bytes(path, content, threads)
        return OpenedIndex(native, None, f"the index is kept in memory ({error})")
    native = _native.SequenceIndex.open(path, os.fspath(side), threads)
    return OpenedIndex(native, os.fspath(side))


def _open_fai_index(path: str, fai: Path) -> OpenedIndex:
    """Open a sequence file with its samtools ``.fai`` index."""
    gzi = Path(f"{path}.gzi")
    blocks = None
    if gzi.exists():
        with reading(gzi):
            blocks = os.fspath(gzi), gzi.read_bytes()
    with reading(fai):
        table = os.fspath(fai), fai.read_bytes()
    native = _native.SequenceIndex.from_standard(path, table, blocks)
    return OpenedIndex(native, None)


def _is_plain_gzip(path: str) -> bool:
    """Return whether a file is gzip but not bgzip, or False if the file cannot be read."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(16)
    except OSError:
        return False
    return start[:2] == b"\x1f\x8b" and start[12:14] != b"BC"
