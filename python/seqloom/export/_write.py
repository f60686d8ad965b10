"""Write an export atomically as a folder or zip file."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from seqloom._files import write_atomic
from seqloom._signals import delay_signals
from seqloom._system import NOFOLLOW, exchange_files, fsync, lock_file, open_handle
from seqloom.errors import FileError, RunFolderError
from seqloom.export._content import EXPORT_FORMAT
from seqloom.infer._exported import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping


# Fixed time stamp of files in a zip, so that zip files of equal models are identical.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = stat.S_IFREG | 0o644


def write_export(path: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write a zip file if the name ends in .zip; otherwise, write a folder."""
    check_target(path, overwrite=overwrite)
    if is_zip(path):
        write_atomic(path, _pack_zip(files))
    else:
        check = partial(check_target, path, overwrite=overwrite)
        write_folder(path, files, check=check)


def is_zip(path: Path) -> bool:
    """Return whether the name is that of a zip file."""
    return path.suffix == ".zip"


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise if an existing file or folder would be lost."""
    if is_zip(path):
        if path.exists() and not overwrite:
            raise _make_exists_error(path)
        return
    if path.exists() and not path.is_dir():
        raise FileError(
            f"{path}: is a file; give the path of a folder, or a name that ends in .zip"
        )
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not _is_export(path):
        raise RunFolderError(
            f"{path}: contains files that are not an export; choose an empty folder"
        )
    if not overwrite:
        raise _make_exists_error(path)


def _make_exists_error(path: Path) -> RunFolderError:
    """Return the error for a path that already contains an export."""
    return RunFolderError(
        f"{path}: already contains an export; choose another path, or replace it "
        "(overwrite=True, --overwrite)"
    )


def _is_export(path: Path) -> bool:
    """Return whether a folder contains only the files of an export."""
    try:
        facts: Any = json.loads((path / MANIFEST).read_bytes())
        listed: list[str] = list(facts["files"]) if facts["format"] == EXPORT_FORMAT else []
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return False
    return all(found.name in {MANIFEST, *listed} for found in path.iterdir())


def _pack_zip(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a zip without compression."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, _ZIP_TIME)
            entry.external_attr = _FILE_MODE << 16
            archive.writestr(entry, data)
    return packed.getvalue()


def write_folder(
    path: Path, files: Mapping[str, bytes], *, check: Callable[[], None]
) -> None:
    """Write a hidden folder, and rename the folder when all files are on disk."""
    # Call `check` again, because another process may have created the path in the
    # meantime.
    final = Path(os.path.realpath(path))
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with create_temporary_folder(final) as part:
            for name, data in files.items():
                (part / name).write_bytes(data)
                fsync(part / name)
            fsync(part)
            with delay_signals(), _lock_renames(final.parent):
                check()
                _swap_folders(part, final)
            # Sync the renaming to disk before the files of the old folder are removed.
            fsync(final.parent)
    except (FileError, RunFolderError):
        raise
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot be written: {reason}") from error


@contextmanager
def create_temporary_folder(final: Path) -> Generator[Path]:
    """Create a hidden, locked folder next to the final folder, and remove it at the end."""
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    handle: int | None = None
    try:
        with delay_signals():
            handle = _create_locked_folder(part, final)
        yield part
    finally:
        if handle is not None:
            with delay_signals():
                shutil.rmtree(part, ignore_errors=True)
                os.close(handle)


def _create_locked_folder(part: Path, final: Path) -> int:
    """Create and lock a hidden folder, and remove the hidden folders of killed writers."""
    # Lock the parent folder, because another writer could remove the new folder before
    # it is locked.
    with _lock_renames(final.parent):
        _remove_abandoned_folders(final)
        part.mkdir()
        handle = open_handle(part, os.O_RDONLY)
        with suppress(OSError):  # the file system has no locks
            lock_file(handle)
        return handle


@contextmanager
def _lock_renames(folder: Path) -> Generator[None]:
    """Lock a folder during the block, so that one process at a time renames files there."""
    handle = open_handle(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # the file system has no locks
            lock_file(handle)
        yield
    finally:
        os.close(handle)


def _remove_abandoned_folders(final: Path) -> None:
    """Remove unlocked hidden folders, whose writers were killed."""
    for left in final.parent.glob(f".{final.name}.????????.part"):
        try:
            handle = open_handle(left, os.O_RDONLY | NOFOLLOW)
        except FileNotFoundError:
            continue  # another process has removed the folder
        with suppress(OSError):
            lock_file(handle, wait=False)
            shutil.rmtree(left, ignore_errors=True)
        os.close(handle)


def _swap_folders(part: Path, final: Path) -> None:
    """Exchange the names of the hidden folder and of an existing folder."""
    if not final.exists() or not any(final.iterdir()):
        part.replace(final)  # the rename replaces an empty folder in one step
        return
    if exchange_files(part, final):
        return
    # Exchange the folders by three renames; on an error, restore the old folder.
    old = part.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    final.rename(old)
    try:
        part.rename(final)
    except OSError:
        old.rename(final)
        raise
    fsync(final.parent)
    shutil.rmtree(old, ignore_errors=True)
