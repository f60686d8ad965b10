"""Zip archives of other programs: one place that opens them and reads their members."""

from __future__ import annotations

import struct
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from seqloom.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Generator

    from seqloom.record._source import RecordSource

_PIECE = 1 << 20  # bytes that are unpacked together
# The errors of zipfile for damage, unknown methods and encrypted members. A name in another
# encoding is a ValueError.
_DAMAGE = (
    BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
)


@contextmanager
def open_archive(source: RecordSource) -> Generator[ZipFile]:
    """Opens a zip archive; damage that is found inside the block is a RecordError."""
    try:
        with source.open() as file, ZipFile(file) as archive:
            yield archive
    except RecordError:
        raise
    except _DAMAGE as error:
        raise RecordError(f"{source.name}: not a whole zip archive ({error})") from None


def read_member(source: RecordSource, archive: ZipFile, name: str) -> bytes:
    """Reads a member in pieces; refuses one that is far larger than its archive."""
    info = archive.getinfo(name)
    # Python's other methods unpack without a limit for each piece.
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise RecordError(
            f"{source.name}: {name} is compressed by method {info.compress_type}; only "
            "stored and deflated members are read; pack the archive again"
        )
    source.require_plausible(name, info.file_size)
    with archive.open(info) as member:
        return b"".join(iter(lambda: member.read(_PIECE), b""))
