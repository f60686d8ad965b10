"""The files of a set, a .bed with its .fam and .bim: where they are, and how they change.

Three renames are three moments at which a killed writer would leave files of two sets. So:

1. Each file is written under a hidden name, and the disk has it (`atomic_paths`).
2. They get names that end in "ready" (``.x.bed.seqloom.ready``). Then a list of them, the
   journal (``.x.bed.seqloom.set``), appears by one rename: now the set is the new one.
3. The old .bed is removed, the new .fam and .bim get their names, at last the new .bed.
4. The journal is removed.

A writer that is killed before the second step leaves the old set as it was. Killed later,
it leaves the journal; whoever opens or writes the set next finishes the third step by it.
A program that does not know the journal finds the old set, no .bed, or the new set: never a
.bed with tables of another set. Writers and finishers exclude each other by a lock on the
folder.
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
from seqloom._system import lock, open_handle, sync
from seqloom.errors import ArgumentError, FileError, FormatError, MissingFileError
from seqloom.io.plink._tables import write_table

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from seqloom.io.plink._properties import Suffix

Location: TypeAlias = Path | ParseResult


def parse_location(location: object) -> Location:
    """Convert a string with ``://`` to a URL, anything else to a path."""
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
    """Return the given location of a table, or the one of the same name as the .bed."""
    if given is not None:
        return parse_location(given)
    if isinstance(bed, Path):
        return find_table(bed.with_name(f"{bed.stem}.{suffix}"))
    stem, _ = os.path.splitext(bed.path)  # noqa: PTH122 - the path of a URL
    return bed._replace(path=f"{stem}.{suffix}")


def find_table(table: Path) -> Path:
    """Return a table's path; with .gz added where only that file exists."""
    gzipped = table.with_name(f"{table.name}.gz")
    # Unlike those of Path, these return False for a name that the machine refuses.
    is_gzipped = not os.path.exists(table) and os.path.exists(gzipped)  # noqa: PTH110
    return gzipped if is_gzipped else table


def absolute(location: Location) -> Location:
    """Make a path absolute, so that it survives a change of the working folder."""
    return location.absolute() if isinstance(location, Path) else location


Identity: TypeAlias = tuple[int, int, int, int]


@contextmanager
def write_set(files: Sequence[Path]) -> Generator[list[Path]]:
    """Yield temporary paths for a .bed and its tables, and rename all at the end."""
    if len({os.path.realpath(file) for file in files}) < len(files):
        names = ", ".join(map(str, files))
        raise ArgumentError(
            f"a .bed and its tables must be three different files, got {names}"
        )
    with atomic_paths(files, commit=_commit) as parts:
        yield parts


def finish_set(bed: Path) -> None:
    """Finish renaming a set whose writer was killed when it was complete."""
    if _has_journal(Path(os.path.realpath(bed))):
        with without_writer(bed):
            pass


@contextmanager
def without_writer(bed: Path) -> Generator[None]:
    """Finish a set, and keep its writers waiting until the block ends."""
    bed = Path(os.path.realpath(bed))
    with _lock(bed.parent):
        try:
            _finish(bed)
        except OSError as error:
            raise FileError(
                f"{bed}: its writer was stopped while it renamed the files of the set, and "
                f"that cannot be finished: {error.strerror}; open the .bed once with "
                "permission to write to its folder"
            ) from error
        yield


def open_file(
    path: Path, known: Identity | None = None
) -> tuple[_native.BedFile, Identity | None]:
    """Open and identify a .bed; waits for a writer that is just renaming a new one."""
    finish_set(path)
    seen = known or identify(path)
    if seen:
        with suppress(MissingFileError):
            return _native.BedFile(path, check=True), seen
    with without_writer(path):
        return _native.BedFile(path, check=True), known or identify(path)


def identify(bed: Path) -> Identity | None:
    """Return what differs for another file of this name, or after a change."""
    try:
        seen = bed.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{bed}: cannot be read: {error.strerror}") from error
    # Opening a pipe without a writer would block without end.
    if not stat.S_ISREG(seen.st_mode):
        raise FileError(f"{bed}: is not a regular file; expected the path of a .bed")
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns


def check_same(bed: Path, known: Identity) -> None:
    """Refuse a set that was replaced since it was opened."""
    # While the tables are renamed there is a journal and no .bed. If there is neither, the
    # .bed was removed without its tables.
    if _has_journal(bed) or identify(bed) not in {known, None}:
        raise FileError(
            f"{bed}: was replaced or changed since it was opened; open it again"
        )


def _journal(bed: Path) -> Path:
    """Return the path of the list of files that are to be renamed."""
    return bed.with_name(f".{bed.name}.seqloom.set")


def _has_journal(bed: Path) -> bool:
    """Return whether a writer was stopped; a name too long for a journal has none."""
    try:
        return _journal(bed).exists()
    except OSError:
        return False


def _ready(file: Path) -> Path:
    """Return the hidden path of a complete file that is to be renamed."""
    return file.with_name(f".{file.name}.seqloom.ready")


@contextmanager
def _lock(folder: Path) -> Generator[None]:
    """Wait for the lock of a folder: one process at a time renames sets in it."""
    with ExitStack() as opened:
        # A file system without locks, or a folder that may not be read: writers of one set
        # must not run at the same time.
        with suppress(OSError):
            handle = open_handle(folder, os.O_RDONLY)
            opened.callback(os.close, handle)
            lock(handle)
        yield


def _commit(parts: Sequence[Path], finals: Sequence[Path]) -> None:
    """Make the new set the valid one, and rename its files."""
    bed = finals[0]
    with _lock(bed.parent):
        _finish(bed)
        try:
            for part, final in zip(parts, finals, strict=True):
                part.replace(_ready(final))
            # The disk must not have the journal without the files that it names.
            _sync_folders(finals)
            names = [os.path.relpath(final, bed.parent) for final in finals]
            write_atomic(_journal(bed), json.dumps(names).encode())
        except FileError as error:
            # The message names the files of the set, not a hidden one.
            raise error.__cause__ or error from None
        finally:
            for final in () if _journal(bed).exists() else finals:
                _ready(final).unlink(missing_ok=True)
        _finish(bed)


def _finish(bed: Path) -> None:
    """Do what is left of a journal, if there is one; doing it twice does no harm."""
    journal = _journal(bed)
    if not journal.exists():
        return
    finals = [bed.parent / name for name in _read_journal(journal)]
    if _ready(bed).exists():
        bed.unlink(missing_ok=True)
    for final in (*finals[1:], bed):
        with suppress(FileNotFoundError):
            _ready(final).replace(final)
    _sync_folders(finals)
    journal.unlink()


def _sync_folders(finals: Sequence[Path]) -> None:
    """Wait until the disk has the names of all files of a set."""
    for folder in dict.fromkeys(final.parent for final in finals):
        sync(folder)


def _read_journal(journal: Path) -> list[str]:
    """Return the names that are to be given, the .bed's first."""
    try:
        return msgspec.json.decode(journal.read_bytes(), type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{journal}: cannot be read ({error}), so that nobody knows which files of the "
            "set are new; delete it, and write the set again",
            path=str(journal),
        ) from None


def name_set(
    bed: str | os.PathLike[str],
    fam: str | os.PathLike[str] | None,
    bim: str | os.PathLike[str] | None,
) -> list[Path]:
    """Return the three paths of a set; by default tables are named as the .bed."""
    base = parse_location(bed)
    if not isinstance(base, Path):
        raise ArgumentError(
            f"{bed}: a set can be written to a folder of this machine only, not to a URL"
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
    """Write the .fam and the .bim of a set."""
    write_table(parts[1], "fam", columns)
    write_table(parts[2], "bim", columns)
