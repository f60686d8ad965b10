"""Files that are whole or absent, and how to tell two apart."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import FileError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Generator


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file so that a crash leaves the old one or the new one, never a part.

    Args:
        path: The file's final name; its folder must exist.
        data: All of its bytes.

    Examples:
        >>> write_atomic("note.txt", b"hello")
        >>> Path("note.txt").read_bytes()
        b'hello'
    """
    with atomic_path(path) as part:
        part.write_bytes(data)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Generator[Path]:
    """Lends a name beside ``path`` to write to, and renames it when the block ends well.

    Args:
        path: The file's final name; its folder must exist. A symbolic link stays, and the
            file that it names is written.

    Yields:
        A temporary name in the same folder; it is removed when the block fails.

    Raises:
        FileError: The folder does not exist or may not be written, or ``path`` is a folder,
            a device or a pipe, which a file would replace.

    Examples:
        >>> with atomic_path("a.txt") as part:
        ...     _ = part.write_text("whole")
        >>> [p.name for p in Path().glob("*a.txt*")]
        ['a.txt']
    """
    final = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    if final.exists() and not final.is_file():
        raise FileError(
            f"{final}: is no regular file; expected the name of a file to write"
        )
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        # Asked here: whoever writes the part would miss the part, not the folder.
        final.parent.stat()
        yield part
        _sync(part)
        part.replace(final)
        _sync(final.parent)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{final}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Waits until the disk has what was written to a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Names a file's content by 32 hexadecimal digits.

    Args:
        path: The file.

    Returns:
        The same text for the same bytes, whatever the file is called.

    Raises:
        MissingFileError: There is no such file.
        FileError: It cannot be read.

    Examples:
        >>> write_atomic("a", b"ACGT")
        >>> write_atomic("b", b"ACGT")
        >>> fingerprint("a") == fingerprint("b")
        True
    """
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, _digest).hexdigest()
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error


def _digest() -> hashlib.blake2b:
    """Makes the hash that fingerprints are: fast, and long enough to be unique."""
    return hashlib.blake2b(digest_size=16)
