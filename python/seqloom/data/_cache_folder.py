"""Folders of cached arrays: whole or absent, checked, shared by processes, and limited."""

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

from seqloom._signals import signals_waiting
from seqloom._system import NOFOLLOW, lock, open_handle, sync
from seqloom.errors import ArgumentError, FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]
    Chunks = Iterable[dict[str, NDArray[Any]]]

Opened = TypeVar("Opened")
_FACTS = "facts.json"
_AT_ONCE = 1 << 24
# Genotypes and unpublished sequences are nobody else's to read.
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700
# What a name begins with that is no entry, and may be removed by who holds its lock.
_PART, _GONE = ".part-", ".gone-"


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """Arrays in files by key; several processes may use one folder at once.

    Only the user who made an entry may read it. No symbolic link in the folder is followed;
    the folder itself may be one.

    An entry is written beside its place and renamed: it is whole or absent. Whoever makes
    one holds a lock that ends with the process, so that others wait for it, and a killed
    one stops nobody. Files are never changed, only replaced or removed, and removing one
    leaves those who have it mapped with what they had.

    Args:
        path: The folder; it is made if need be.
        size_limit: Bytes of all entries at most; the least recently used go first.

    Examples:
        >>> from pathlib import Path
        >>> cache = CacheFolder(Path("cache"))
        >>> made = cache.get("0a", lambda: [{"x": np.arange(2)}, {"x": np.arange(1)}])
        >>> made["x"].tolist()
        [0, 1, 0]
    """

    path: Path
    size_limit: int | None = None

    def get(self, key: str, make: Callable[[], Chunks]) -> Arrays:
        """Open an entry, and make it if it is absent or damaged."""
        return self.entry(key, _open, lambda part: _write(part, make(), self.size_limit))

    def entry(
        self,
        key: str,
        opened: Callable[[Path], Opened | None],
        write: Callable[[Path], None],
    ) -> Opened:
        """Open an entry of any files, and make it if it is absent or damaged."""
        found = _open_entry(self.path / key, opened)
        if found is not None:
            return found
        try:
            private_folder(self.path)
            with _lock(self.path / f"{key}.lock"):
                found = _open_entry(self.path / key, opened)
                return self._make(key, opened, write) if found is None else found
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self.path}: cannot cache: {error}") from error

    def _make(
        self,
        key: str,
        opened: Callable[[Path], Opened | None],
        write: Callable[[Path], None],
    ) -> Opened:
        """Write an entry; the lock is held."""
        for left in self.path.glob(f"{_PART}{key}-*"):
            shutil.rmtree(left, ignore_errors=True)
        part = self.path / f"{_PART}{key}-{secrets.token_hex(4)}"
        try:
            part.mkdir(_PRIVATE_FOLDER)
            write(part)
            with signals_waiting():
                self._remove(self.path / key)
                part.rename(self.path / key)
        finally:
            with signals_waiting():
                shutil.rmtree(part, ignore_errors=True)
        self._limit(key)
        made = _open_entry(self.path / key, opened)
        if made is None:
            raise FileError(
                f"{self.path / key}: differs from what was just written; check the disk"
            )
        return made

    def _limit(self, key: str) -> None:
        """Remove what was used least recently, but not the entry that was just made."""
        if self.size_limit is None:
            return
        with _lock(self.path / "limit.lock"):
            entries = sorted(self.path.glob(f"*/{_FACTS}"), key=_last_use)
            sizes = {facts.parent: _size(facts.parent) for facts in entries}
            excess = sum(sizes.values()) - self.size_limit
            for entry, size in sizes.items():
                if excess > 0 and entry.name != key and not entry.name.startswith("."):
                    self._remove(entry)
                    excess -= size

    def _remove(self, entry: Path) -> None:
        """Take an entry away at once, then deletes it."""
        gone = self.path / f"{_GONE}{secrets.token_hex(4)}"
        with suppress(FileNotFoundError):
            entry.rename(gone)
        if gone.is_symlink():
            gone.unlink()
        shutil.rmtree(gone, ignore_errors=True)


def _open(entry: Path) -> Arrays | None:
    """Map an entry's files; one that is absent or not as it was written gives None."""
    try:
        facts = entry_facts(entry)
        arrays = {name: _map(entry / name, about) for name, about in facts.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None if any(array is None for array in arrays.values()) else cast("Any", arrays)


def _map(path: Path, about: dict[str, Any]) -> NDArray[Any] | None:
    """Map one file, if it has the size and the checksum that were written down."""
    kind, size = np.dtype(about["dtype"]), int(about["size"])
    if kind.hasobject or path.stat().st_size != size * kind.itemsize:
        return None
    if _checksum(path) != about["crc32"]:
        return None
    if not size:
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r", shape=(size,))


def _checksum(path: Path) -> int:
    """Read a file through, so that it is also known to be readable."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_AT_ONCE):
            crc = zlib.crc32(block, crc)
    return crc


def _write(folder: Path, chunks: Chunks, limit: int | None) -> None:
    """Write pieces of arrays end to end, then what they are."""
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


def private_folder(path: Path) -> None:
    """Make a folder that only its owner may look into, and those above it likewise.

    One that is there already stays as it is.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(_PRIVATE_FOLDER, exist_ok=True)


def finish_entry(folder: Path, facts: dict[str, Any]) -> None:
    """Put the files of an entry on the disk, never to be changed, and what they are."""
    for path in folder.iterdir():
        _finish(path)
    text = json.dumps(facts)
    (folder / _FACTS).write_text(f"{text}\n{_sum(text)}\n", encoding="utf-8")
    _finish(folder / _FACTS)
    sync(folder)


def entry_facts(entry: Path) -> dict[str, Any]:
    """Read what an entry's files are, and notes that it was used."""
    text, _, checksum = (entry / _FACTS).read_text(encoding="utf-8").partition("\n")
    if checksum.strip() != _sum(text):
        raise ValueError("the checksum differs")  # who opens it takes it for absent
    os.utime(entry / _FACTS)
    return json.loads(text)


def _sum(text: str) -> str:
    """Write a checksum: nothing else would show that a dtype is another one."""
    return f"{zlib.crc32(text.encode()):08x}"


def forget_entry(entry: Path) -> None:
    """Make an entry absent for whoever opens it next."""
    (entry / _FACTS).unlink(missing_ok=True)


def _finish(path: Path) -> None:
    """Put a file on the disk, for nobody else to read."""
    sync(path)
    path.chmod(_PRIVATE)


def _open_entry(entry: Path, opened: Callable[[Path], Opened | None]) -> Opened | None:
    """Open an entry if it is there; a link to somewhere else is none."""
    return None if entry.is_symlink() else opened(entry)


def _last_use(facts: Path) -> float:
    """Tell when an entry was last opened."""
    with suppress(FileNotFoundError):
        return facts.stat().st_mtime
    return 0.0


def _size(entry: Path) -> int:
    """Sum the bytes of an entry."""
    with suppress(FileNotFoundError):
        return sum(path.stat().st_size for path in entry.iterdir())
    return 0


@contextmanager
def _lock(path: Path) -> Generator[None]:
    """Hold a lock that the system takes back when the process ends, however it ends."""
    # The name of a lock is known: in a shared folder it may be somebody's link.
    handle = open_handle(path, os.O_CREAT | os.O_RDWR | NOFOLLOW, _PRIVATE)
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)
