"""Writes an export: a folder that is whole or absent, or one zip."""

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
from seqloom._signals import signals_waiting
from seqloom._system import NOFOLLOW, lock, open_handle, rename_exchange, sync
from seqloom.errors import FileError, RunFolderError
from seqloom.export._content import FORMAT
from seqloom.infer._exported import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping


# The time of every file in a zip: the same model gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_READABLE = stat.S_IFREG | 0o644


def write(path: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write a zip where the name ends in .zip, else a folder."""
    check_target(path, overwrite=overwrite)
    if is_zip(path):
        write_atomic(path, _pack(files))
    else:
        check = partial(check_target, path, overwrite=overwrite)
        write_folder(path, files, check=check)


def is_zip(path: Path) -> bool:
    """Tell by the name whether an export is one file."""
    return path.suffix == ".zip"


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path at which something would be lost."""
    if is_zip(path):
        if path.exists() and not overwrite:
            raise _held(path)
        return
    if path.exists() and not path.is_dir():
        raise FileError(f"{path}: is a file; give the path of a folder, or a name in .zip")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not _is_export(path):
        raise RunFolderError(
            f"{path}: holds files that are no export; choose an empty folder"
        )
    if not overwrite:
        raise _held(path)


def _held(path: Path) -> RunFolderError:
    """Make the error of a path that holds an export."""
    return RunFolderError(
        f"{path}: holds an export already; choose another path, or replace it "
        "(overwrite=True, --overwrite)"
    )


def _is_export(path: Path) -> bool:
    """Tell whether a folder holds an export, of whatever version, and nothing else."""
    try:
        facts: Any = json.loads((path / MANIFEST).read_bytes())
        listed: list[str] = list(facts["files"]) if facts["format"] == FORMAT else []
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return False
    return all(found.name in {MANIFEST, *listed} for found in path.iterdir())


def _pack(files: Mapping[str, bytes]) -> bytes:
    """Join files in one zip without compression."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, _EPOCH)
            entry.external_attr = _READABLE << 16
            archive.writestr(entry, data)
    return packed.getvalue()


def write_folder(
    path: Path, files: Mapping[str, bytes], *, check: Callable[[], None]
) -> None:
    """Write a folder beside, and give it the name when the disk has all of it."""
    # `check` refuses what must not be replaced, which others may have written meanwhile.
    final = Path(os.path.realpath(path))
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(final) as part:
            for name, data in files.items():
                (part / name).write_bytes(data)
                sync(part / name)
            sync(part)
            with signals_waiting(), _renaming_alone(final.parent):
                check()
                _give_name(part, final)
            # Before the old folder is emptied: the disk must not keep its name.
            sync(final.parent)
    except (FileError, RunFolderError):
        raise
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot be written: {reason}") from error


@contextmanager
def folder_beside(final: Path) -> Generator[Path]:
    """Make a folder beside another one: locked while it is written, gone at the end."""
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    handle: int | None = None
    try:
        with signals_waiting():
            handle = _make(part, final)
        yield part
    finally:
        if handle is not None:
            with signals_waiting():
                shutil.rmtree(part, ignore_errors=True)
                os.close(handle)


def _make(part: Path, final: Path) -> int:
    """Make a folder and lock it, and removes those of dead writers."""
    # Before it has its lock, another writer would take it for a dead one's.
    with _renaming_alone(final.parent):
        _remove_dead(final)
        part.mkdir()
        handle = open_handle(part, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks
            lock(handle)
        return handle


@contextmanager
def _renaming_alone(folder: Path) -> Generator[None]:
    """Wait for the lock of a folder: one process at a time changes names in it."""
    handle = open_handle(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            lock(handle)
        yield
    finally:
        os.close(handle)


def _remove_dead(final: Path) -> None:
    """Remove the folders of writers that were killed: nobody has locked them."""
    for left in final.parent.glob(f".{final.name}.????????.part"):
        try:
            handle = open_handle(left, os.O_RDONLY | NOFOLLOW)
        except FileNotFoundError:
            continue  # removed by its writer
        with suppress(OSError):
            lock(handle, wait=False)
            shutil.rmtree(left, ignore_errors=True)
        os.close(handle)


def _give_name(part: Path, final: Path) -> None:
    """Rename a new folder; what had the name before has the other one then."""
    if not final.exists() or not any(final.iterdir()):
        part.replace(final)  # an empty folder is replaced in one step
        return
    if rename_exchange(part, final):
        return
    # In three steps; an error brings the old folder back.
    old = part.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    final.rename(old)
    try:
        part.rename(final)
    except OSError:
        old.rename(final)
        raise
    sync(final.parent)
    shutil.rmtree(old, ignore_errors=True)
