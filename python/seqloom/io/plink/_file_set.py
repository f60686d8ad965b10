"""Paths of a .bed with its .fam and .bim, and atomic replacement of these three files.

Three files cannot be renamed in one step, so a killed writer could leave files of two sets.
A journal file makes the replacement atomic:

1. Each file is written under a hidden name and flushed to disk (`atomic_paths`).
2. The files are renamed to end in "ready" (``.x.bed.seqloom.ready``). A journal
   (``.x.bed.seqloom.set``), which lists the names of these files, is created with one
   rename. The new set is valid once the journal exists.
3. The old .bed is removed, and the .fam, .bim and .bed are renamed to their final names.
4. The journal is removed.

A writer that is killed before step 2 leaves the old set unchanged. A writer that is killed
later leaves the journal; the next process that opens or writes the set finishes step 3.
Programs that ignore the journal find the old set, no .bed, or the new set, but never a .bed
with tables of another set. A lock on the folder serialises writers and recovery.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import ParseResult, urlparse

import msgspec

from seqloom._arguments import as_path, quote
from seqloom._files import atomic_paths, write_atomic
from seqloom._rust import _native
from seqloom._system import fsync, lock_file, open_handle
from seqloom.errors import ArgumentError, FileError, FormatError, MissingFileError
from seqloom.io.plink._tables import write_table

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from seqloom.io.plink._properties import Suffix

Location: TypeAlias = Path | ParseResult


def parse_location(location: object) -> Location:
    """Convert a string with ``://`` to a URL, and all other values to a path."""
    if isinstance(location, ParseResult):
        return location
    if isinstance(location, str) and "://" in location:
        return urlparse(location)
    if isinstance(location, str | os.PathLike):
        path = Path(os.fspath(location))
        if path.name and "\0" not in str(path):
            return path
        raise ArgumentError(
            f"{os.fspath(location)!r} is not the path of a file: it has no file name, or a "
            "NUL character"
        )
    raise ArgumentError(
        f"the location of a file must be a path or a URL, a string or a Path; got "
        f"{quote(location)}"
    )


def locate_table(bed: Location, suffix: Suffix, given: object) -> Location:
    """Return the given location of a table, or the default next to the .bed."""
    if given is not None:
        return parse_location(given)
    if isinstance(bed, Path):
        return find_table(bed.with_name(f"{bed.stem}.{suffix}"))
    stem, _ = os.path.splitext(bed.path)  # noqa: PTH122 - the path of a URL
    return bed._replace(path=f"{stem}.{suffix}")


def find_table(table: Path) -> Path:
    """Return the path of a table, with .gz appended if only the .gz file exists."""
    gzipped = table.with_name(f"{table.name}.gz")
    # Unlike methods of Path, `os.path` functions return False for names that the system
    # rejects.
    is_gzipped = not os.path.exists(table) and os.path.exists(gzipped)  # noqa: PTH110
    return gzipped if is_gzipped else table


def absolute_location(location: Location) -> Location:
    """Return an absolute path; return a URL unchanged."""
    return location.absolute() if isinstance(location, Path) else location


Identity: TypeAlias = tuple[int, int, int, int]


@contextmanager
def write_set_files(files: Sequence[Path]) -> Generator[list[Path]]:
    """Yield temporary paths for a .bed, .fam and .bim; rename the files at the end."""
    if len({os.path.realpath(file) for file in files}) < len(files):
        names = ", ".join(map(str, files))
        raise ArgumentError(
            f"a .bed and its tables must be three different files, got {names}"
        )
    with atomic_paths(files, commit=_commit_set) as parts:
        yield parts


def finish_interrupted_set(bed: Path) -> None:
    """Finish the renaming of a complete PLINK set after its writer was killed."""
    if _has_journal(Path(os.path.realpath(bed))):
        with block_set_writers(bed):
            pass


@contextmanager
def block_set_writers(bed: Path) -> Generator[None]:
    """Finish an interrupted rename of a PLINK set, and lock the set for reading."""
    bed = Path(os.path.realpath(bed))
    with _lock_folder(bed.parent):
        try:
            _finish_journal(bed)
        except OSError as error:
            raise FileError(
                f"{bed}: a writer was stopped while it renamed the files of the set, and "
                f"the renaming cannot be completed: {error.strerror}; open the .bed once "
                "with write permission for its folder"
            ) from error
        yield


def open_bed_file(
    path: Path, known: Identity | None = None
) -> tuple[_native.BedFile, Identity | None]:
    """Open a .bed and return its identity; wait for a writer that is renaming a new set."""
    finish_interrupted_set(path)
    seen = known or file_identity(path)
    if seen:
        with suppress(MissingFileError):
            return _native.BedFile(path, check=True), seen
    with block_set_writers(path):
        return _native.BedFile(path, check=True), known or file_identity(path)


def file_identity(bed: Path) -> Identity | None:
    """Return a tuple that changes if the file is changed or replaced."""
    try:
        seen = bed.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{bed}: cannot be read: {error.strerror}") from error
    # Opening a pipe without a writer would block.
    if not stat.S_ISREG(seen.st_mode):
        raise FileError(f"{bed}: is not a regular file; expected the path of a .bed")
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns


def check_not_replaced(bed: Path, known: Identity) -> None:
    """Raise if a PLINK set has been replaced since it was opened."""
    # While tables are renamed, a journal exists but no .bed. If neither the .bed nor a
    # journal exists, the user has removed the .bed but kept its tables.
    if _has_journal(bed) or file_identity(bed) not in {known, None}:
        raise FileError(
            f"{bed}: was replaced or changed since it was opened; open it again"
        )


def _journal_path(bed: Path) -> Path:
    """Return the path of the journal."""
    return bed.with_name(f".{bed.name}.seqloom.set")


def _has_journal(bed: Path) -> bool:
    """Return whether a journal exists, which shows that a writer was killed."""
    try:
        return _journal_path(bed).exists()
    except OSError:
        return False


def _ready_path(file: Path) -> Path:
    """Return the hidden path of a complete file that has not been renamed yet."""
    return file.with_name(f".{file.name}.seqloom.ready")


@contextmanager
def _lock_folder(folder: Path) -> Generator[None]:
    """Lock a folder during the block; one process at a time renames sets in a folder."""
    with ExitStack() as opened:
        # Without a lock (the file system has none, or the folder is unreadable), the
        # user must not run two writers of the same set.
        with suppress(OSError):
            handle = open_handle(folder, os.O_RDONLY)
            opened.callback(os.close, handle)
            lock_file(handle)
        yield


def _commit_set(parts: Sequence[Path], finals: Sequence[Path]) -> None:
    """Write the journal of a new PLINK set, and rename the files of the set."""
    bed = finals[0]
    with _lock_folder(bed.parent):
        _finish_journal(bed)
        try:
            for part, final in zip(parts, finals, strict=True):
                part.replace(_ready_path(final))
            # Sync the files first, because the journal must not reach the disk before
            # them.
            _sync_set_folders(finals)
            names = [os.path.relpath(final, bed.parent) for final in finals]
            write_atomic(_journal_path(bed), json.dumps(names).encode())
        except FileError as error:
            # The message must name the final path, not the hidden file.
            raise error.__cause__ or error from None
        finally:
            for final in () if _journal_path(bed).exists() else finals:
                _ready_path(final).unlink(missing_ok=True)
        _finish_journal(bed)


def _finish_journal(bed: Path) -> None:
    """Complete the steps of a journal, if it exists; repeating these steps is harmless."""
    journal = _journal_path(bed)
    if not journal.exists():
        return
    finals = [bed.parent / name for name in _read_journal(journal)]
    if _ready_path(bed).exists():
        bed.unlink(missing_ok=True)
    for final in (*finals[1:], bed):
        with suppress(FileNotFoundError):
            _ready_path(final).replace(final)
    _sync_set_folders(finals)
    journal.unlink()


def _sync_set_folders(finals: Sequence[Path]) -> None:
    """Sync the folders of a PLINK set to disk."""
    for folder in dict.fromkeys(final.parent for final in finals):
        fsync(folder)


def _read_journal(journal: Path) -> list[str]:
    """Return the final names of the files, the .bed first."""
    try:
        return msgspec.json.decode(journal.read_bytes(), type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{journal}: cannot be read ({error}), so the new files of the set are "
            "unknown; delete it, and write the set again",
            path=str(journal),
        ) from None


def name_set_files(
    bed: str | os.PathLike[str],
    fam: str | os.PathLike[str] | None,
    bim: str | os.PathLike[str] | None,
) -> list[Path]:
    """Return the paths of a .bed, .fam and .bim; defaults are derived from the .bed."""
    base = parse_location(bed)
    if not isinstance(base, Path):
        raise ArgumentError(
            f"{bed}: a set can only be written to a local folder, not to a URL"
        )
    return [
        base,
        as_path("fam_filepath", fam)
        if fam is not None
        else base.with_name(f"{base.stem}.fam"),
        as_path("bim_filepath", bim)
        if bim is not None
        else base.with_name(f"{base.stem}.bim"),
    ]


def write_tables(parts: Sequence[Path], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write the .fam and the .bim of a PLINK set."""
    write_table(parts[1], "fam", columns)
    write_table(parts[2], "bim", columns)
