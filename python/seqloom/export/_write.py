"""Writes an export: a folder that is whole or absent, or one zip."""

from __future__ import annotations

import json
import stat
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from seqloom._files import write_atomic
from seqloom.errors import FileError, RunFolderError
from seqloom.export._folder import write_folder
from seqloom.export._manifest import FORMAT
from seqloom.infer._exported import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The time of every file in a zip: the same model gives the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_READABLE = stat.S_IFREG | 0o644


def write(path: Path, files: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Writes a zip where the name ends in .zip, else a folder."""
    check_target(path, overwrite=overwrite)
    if is_zip(path):
        write_atomic(path, _pack(files))
    else:
        check = partial(check_target, path, overwrite=overwrite)
        write_folder(path, files, check=check)


def is_zip(path: Path) -> bool:
    """Tells by the name whether an export is one file."""
    return path.suffix == ".zip"


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuses a path at which something would be lost."""
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
    """Makes the error of a path that holds an export."""
    return RunFolderError(
        f"{path}: holds an export already; choose another path, or replace it "
        "(overwrite=True, --overwrite)"
    )


def _is_export(path: Path) -> bool:
    """Tells whether a folder holds an export, of whatever version, and nothing else."""
    try:
        facts: Any = json.loads((path / MANIFEST).read_bytes())
        listed: list[str] = list(facts["files"]) if facts["format"] == FORMAT else []
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return False
    return all(found.name in {MANIFEST, *listed} for found in path.iterdir())


def _pack(files: Mapping[str, bytes]) -> bytes:
    """Joins files in one zip without compression."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, _EPOCH)
            entry.external_attr = _READABLE << 16
            archive.writestr(entry, data)
    return packed.getvalue()
