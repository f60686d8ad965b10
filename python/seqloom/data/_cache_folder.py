"""Cache folders with atomic writes, checksums, locks and a size limit."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from seqloom._signals import delay_signals
from seqloom._system import NOFOLLOW, fsync, lock_file, open_handle
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Chunks = Iterable[dict[str, NDArray[Any]]]

Opened = TypeVar("Opened")
_ENTRY_FILE = "facts.json"
_CHECKSUM_BLOCK_BYTES = 1 << 24
# File modes that let only the owner read, because data may be private.
_PRIVATE_FILE_MODE, _PRIVATE_FOLDER_MODE = 0o600, 0o700
# Name prefixes of unfinished and deleted entries; the owner of the lock may remove
# these entries.
_UNFINISHED_PREFIX, _DELETED_PREFIX = ".part-", ".gone-"


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """A folder that stores arrays by key; several processes may use it at once.

    A cache entry can be read only by the user who created it. Symbolic links in the folder
    are not followed, but the folder itself may be a link.

    A cache entry is written under a temporary name and then renamed, so it is never
    incomplete. The writing process holds a lock, and other processes wait; the system
    releases the lock if the process is killed. Files are never modified, only replaced or
    removed, so a process that has mapped a file can always read it.

    Args:
        path: The folder; created if it does not exist.
        size_limit: The maximum size of all entries in bytes; the least recently used are
            removed first.

    Examples:
        >>> from pathlib import Path
        >>> cache = CacheFolder(Path("cache"))
        >>> arrays = cache.get("0a", lambda: [{"x": np.arange(2)}, {"x": np.arange(1)}])
        >>> arrays["x"].tolist()
        [0, 1, 0]
    """

    path: Path
    size_limit: int | None = None

    def get(self, key: str, make: Callable[[], Chunks]) -> Arrays:
        """Open an entry of arrays; create it if it is missing or damaged."""
        return self.entry(
            key, _open_arrays, lambda part: _write_arrays(part, make(), self.size_limit)
        )

    def entry(
        self,
        key: str,
        opened: Callable[[Path], Opened | None],
        write: Callable[[Path], None],
    ) -> Opened:
        """Open an entry of arbitrary files; create it if it is missing or damaged."""
        content = _open_entry(self.path / key, opened)
        if content is not None:
            return content
        try:
            create_private_folder(self.path)
            with _lock_file(self.path / f"{key}.lock"):
                content = _open_entry(self.path / key, opened)
                return self._write_entry(key, opened, write) if content is None else content
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self.path}: cannot cache: {error}") from error

    def _write_entry(
        self,
        key: str,
        opened: Callable[[Path], Opened | None],
        write: Callable[[Path], None],
    ) -> Opened:
        """Write an entry; the caller holds its lock."""
        for abandoned in self.path.glob(f"{_UNFINISHED_PREFIX}{key}-*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        part = self.path / f"{_UNFINISHED_PREFIX}{key}-{secrets.token_hex(4)}"
        try:
            part.mkdir(_PRIVATE_FOLDER_MODE)
            write(part)
            with delay_signals():
                self._remove_entry(self.path / key)
                part.rename(self.path / key)
        finally:
            with delay_signals():
                shutil.rmtree(part, ignore_errors=True)
        self._remove_oldest(key)
        content = _open_entry(self.path / key, opened)
        if content is None:
            raise FileError(
                f"{self.path / key}: differs from the data that was written; check the disk"
            )
        return content

    def _remove_oldest(self, key: str) -> None:
        """Remove the least recently used entries, except the newest entry."""
        if self.size_limit is None:
            return
        with _lock_file(self.path / "limit.lock"):
            entries = sorted(self.path.glob(f"*/{_ENTRY_FILE}"), key=_last_use_time)
            sizes = {facts.parent: _entry_size(facts.parent) for facts in entries}
            excess = sum(sizes.values()) - self.size_limit
            for entry, size in sizes.items():
                if excess > 0 and entry.name != key and not entry.name.startswith("."):
                    self._remove_entry(entry)
                    excess -= size

    def _remove_entry(self, entry: Path) -> None:
        """Remove an entry: rename its folder atomically, then delete its files."""
        deleted = self.path / f"{_DELETED_PREFIX}{secrets.token_hex(4)}"
        with suppress(FileNotFoundError):
            entry.rename(deleted)
        if deleted.is_symlink():
            deleted.unlink()
        shutil.rmtree(deleted, ignore_errors=True)


def _open_arrays(entry: Path) -> Arrays | None:
    """Return the arrays of an entry; None if a file is missing or changed."""
    try:
        facts = read_metadata(entry)
        arrays = {name: _map_file(entry / name, about) for name, about in facts.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None if any(array is None for array in arrays.values()) else cast("Any", arrays)


def _map_file(path: Path, about: dict[str, Any]) -> NDArray[Any] | None:
    kind, size = np.dtype(about["dtype"]), int(about["size"])
    if kind.hasobject or path.stat().st_size != size * kind.itemsize:
        return None
    if _file_checksum(path) != about["crc32"]:
        return None
    if not size:
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r", shape=(size,))


def _file_checksum(path: Path) -> int:
    """Return the CRC-32 of a file; raise if the file cannot be read."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_CHECKSUM_BLOCK_BYTES):
            crc = zlib.crc32(block, crc)
    return crc


def _write_arrays(folder: Path, chunks: Chunks, limit: int | None) -> None:
    """Write arrays chunk by chunk, then their dtypes, sizes and checksums."""
    facts: dict[str, dict[str, Any]] = {}
    total = 0
    for chunk in chunks:
        for name, array in chunk.items():
            about = facts.setdefault(
                name, {"dtype": array.dtype.str, "size": 0, "crc32": 0}
            )
            data = np.ascontiguousarray(array).tobytes()
            with (folder / name).open("ab") as file:
                file.write(data)
            about["size"] += array.size
            about["crc32"] = zlib.crc32(data, about["crc32"])
            total += len(data)
            if limit is not None and total > limit:
                raise ArgumentError(
                    f"size_limit must be at least the size of the dataset, more than "
                    f"{total:,} bytes, got {limit:,}"
                )
    finish_entry(folder, facts)


def create_private_folder(path: Path) -> None:
    """Create a folder, and missing parents, that only the owner can read.

    The permissions of existing folders do not change.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(_PRIVATE_FOLDER_MODE, exist_ok=True)


def finish_entry(folder: Path, facts: dict[str, Any]) -> None:
    """Flush the files of an entry to the disk, then write their metadata."""
    for path in folder.iterdir():
        _sync_private_file(path)
    text = json.dumps(facts)
    (folder / _ENTRY_FILE).write_text(f"{text}\n{_text_checksum(text)}\n", encoding="utf-8")
    _sync_private_file(folder / _ENTRY_FILE)
    fsync(folder)


def read_metadata(entry: Path) -> dict[str, Any]:
    """Return the metadata of an entry's files, and update its time of last use."""
    text, _, checksum = (entry / _ENTRY_FILE).read_text(encoding="utf-8").partition("\n")
    if checksum.strip() != _text_checksum(text):
        raise ValueError("the checksum differs")  # the caller writes the entry again
    os.utime(entry / _ENTRY_FILE)
    return json.loads(text)


def _text_checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def invalidate_entry(entry: Path) -> None:
    """Invalidate an entry, so that the next access creates it again."""
    (entry / _ENTRY_FILE).unlink(missing_ok=True)


def _sync_private_file(path: Path) -> None:
    """Flush a file to the disk and make it readable by its owner only."""
    fsync(path)
    path.chmod(_PRIVATE_FILE_MODE)


def _open_entry(entry: Path, opened: Callable[[Path], Opened | None]) -> Opened | None:
    """Open an entry; return None if the entry is missing or a symbolic link."""
    return None if entry.is_symlink() else opened(entry)


def _last_use_time(facts: Path) -> float:
    with suppress(FileNotFoundError):
        return facts.stat().st_mtime
    return 0.0


def _entry_size(entry: Path) -> int:
    with suppress(FileNotFoundError):
        return sum(path.stat().st_size for path in entry.iterdir())
    return 0


@contextmanager
def _lock_file(path: Path) -> Generator[None]:
    """Lock a file; the system releases the lock when the process ends."""
    # Do not follow links, because in a shared folder another user may have created a
    # link with the name of the lock.
    handle = open_handle(path, os.O_CREAT | os.O_RDWR | NOFOLLOW, _PRIVATE_FILE_MODE)
    try:
        lock_file(handle)
        yield
    finally:
        os.close(handle)
