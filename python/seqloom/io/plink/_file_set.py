"""Three files that change together: a .bed with its .fam and .bim.

Three renames are three moments at which a killed writer would leave files of two sets. So:

1. Each file is written under a hidden name, and the disk has it (`atomic_paths`).
2. They are called ready (``.x.bed.seqloom.ready``), and a list of them, the journal
   (``.x.bed.seqloom.set``), appears by one rename: from then on the set is the new one.
3. The old .bed is removed, the new .fam and .bim get their names, at last the new .bed.
4. The journal is removed.

A writer that is killed before the second step leaves the old set whole. Killed later, it
leaves the journal, by which whoever opens or writes the set next finishes the third step.
A program that knows of no journal finds the old set, or no .bed, or the new set: never a
.bed with tables of another. Writers and finishers take turns by a lock on the folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from seqloom._files import atomic_paths, sync, write_atomic
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

Identity: TypeAlias = tuple[int, int, int, int]


@contextmanager
def write_set(files: Sequence[Path]) -> Generator[list[Path]]:
    """Lends names for a .bed and its tables, which get their own if the block ends well."""
    if len({os.path.realpath(file) for file in files}) < len(files):
        names = ", ".join(map(str, files))
        raise ArgumentError(f"a .bed and its tables are three files, got {names}")
    with atomic_paths(files, commit=_commit) as parts:
        yield parts


def finish_set(bed: Path) -> None:
    """Gives a set its names whose writer was killed after it was whole."""
    bed = Path(os.path.realpath(bed))
    if not _has_journal(bed):
        return
    try:
        with _turn(bed.parent):
            _finish(bed)
    except OSError as error:
        raise FileError(
            f"{bed}: its writer was stopped while the files got their names, and that "
            f"cannot be finished: {error.strerror}; open it once where its folder may be "
            "written"
        ) from error


def identify(bed: Path) -> Identity | None:
    """Tells a file from another that gets its name, and from what it is after a change."""
    try:
        seen = bed.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{bed}: cannot be read: {error.strerror}") from error
    # A pipe without a writer would be waited for without an end.
    if not stat.S_ISREG(seen.st_mode):
        raise FileError(
            f"{bed}: is not a regular file; expected the name of a .bed to read"
        )
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns


def check_same(bed: Path, known: Identity) -> None:
    """Refuses to go on with a set that was written anew since it was opened."""
    # While the tables get their names there is no .bed, but a journal. A .bed that is gone
    # for good was removed by somebody who left the tables.
    if _has_journal(bed) or identify(bed) not in {known, None}:
        raise FileError(
            f"{bed}: was replaced or changed since it was opened; open it again"
        )


def _journal(bed: Path) -> Path:
    """Names the list of the files that are to get their names."""
    return bed.with_name(f".{bed.name}.seqloom.set")


def _has_journal(bed: Path) -> bool:
    """Says whether a writer was stopped; none has written a name too long for a journal."""
    try:
        return _journal(bed).exists()
    except OSError:
        return False


def _ready(file: Path) -> Path:
    """Names a whole file that waits for its own name."""
    return file.with_name(f".{file.name}.seqloom.ready")


@contextmanager
def _turn(folder: Path) -> Generator[None]:
    """Waits until nobody else names files of a set in this folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Where a file system has no locks, writers of one set must not meet.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _commit(parts: Sequence[Path], finals: Sequence[Path]) -> None:
    """Makes the new set the one that counts, and names its files."""
    bed = finals[0]
    with _turn(bed.parent):
        _finish(bed)
        try:
            for part, final in zip(parts, finals, strict=True):
                part.replace(_ready(final))
            _write_journal(bed, finals)
        finally:
            if not _journal(bed).exists():
                _forget(finals)
        _finish(bed)


def _write_journal(bed: Path, finals: Sequence[Path]) -> None:
    """Lists the files that are to get their names."""
    names = [os.path.relpath(final, bed.parent) for final in finals]
    try:
        write_atomic(_journal(bed), json.dumps(names).encode())
    except FileError as error:
        # The message shall name the files of the set, not a hidden one.
        raise error.__cause__ or error from None


def _forget(finals: Sequence[Path]) -> None:
    """Removes files that were to be a set."""
    for final in finals:
        _ready(final).unlink(missing_ok=True)


def _finish(bed: Path) -> None:
    """Does what is left to do of a journal, if there is one; done twice it does no harm."""
    journal = _journal(bed)
    if not journal.exists():
        return
    names: list[str] = json.loads(journal.read_bytes())
    finals = [bed.parent / name for name in names]
    if _ready(bed).exists():
        bed.unlink(missing_ok=True)
    for final in (*finals[1:], bed):
        with suppress(FileNotFoundError):
            _ready(final).replace(final)
    for folder in dict.fromkeys(final.parent for final in finals):
        sync(folder)
    journal.unlink()
