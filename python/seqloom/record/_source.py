"""RecordSource: the bytes of a record in a file, in memory, or in a zip archive."""

from __future__ import annotations

import io
import mmap
import os
import struct
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from seqloom._files import check_not_truncated
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import FileError, MissingFileError, RecordError

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray


# Below this number of bytes, a second thread costs more time than it saves.
_MIN_THREADED_BYTES = 8 << 20
# Weights hardly compress, so uncompressed content that exceeds both limits is not a
# model.
_MAX_UNCHECKED_BYTES, _MAX_EXPANSION_FACTOR = 1 << 26, 16


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Bytes of a record, read by a recorder's ``decode``.

    Attributes:
        name: Name of the source in messages: the path of the file, or ``"bytes"``.
        size: Number of bytes.
        path: Path of the file; ``Path()`` for bytes in memory.

    Examples:
        >>> from seqloom.record import RecordSource
        >>> with RecordSource.of_bytes(b"ACGT").open() as file:
        ...     file.read(2)
        b'AC'
    """

    name: str
    size: int
    path: Path = Path()
    _memory: NDArray[np.uint8] | None = field(default=None, repr=False)
    _state: tuple[int, ...] = ()

    @classmethod
    def of_file(cls, path: str | os.PathLike[str], *, mapped: bool = False) -> RecordSource:
        """Create the source of a file.

        Args:
            path: Path of the file.
            mapped: If True, arrays are views of the memory-mapped file, whose pages are
                read on access.

        Returns:
            A source.

        Raises:
            MissingFileError: The file does not exist.
            FileError: The file cannot be read.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_file("none")
            Traceback (most recent call last):
            ...
            seqloom.errors.MissingFileError: none: no such file; expected a model record
        """
        try:
            with Path(path).open("rb") as file:
                state = _fingerprint_file(os.fstat(file.fileno()))
                memory = None
                if mapped and state[0]:
                    # The file is mapped until its last view is deleted.
                    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                    memory = np.frombuffer(pages, np.uint8)
        except FileNotFoundError:
            raise MissingFileError(
                f"{path}: no such file; expected a model record"
            ) from None
        except OSError as error:
            raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
        return cls(str(path), state[0], Path(path), memory, state)

    @classmethod
    def of_bytes(cls, data: bytes | bytearray | memoryview) -> RecordSource:
        """Create the source of bytes in memory.

        Args:
            data: The bytes.

        Returns:
            A source.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_bytes(b"ACGT").size
            4
        """
        memory = np.frombuffer(data, np.uint8)
        memory.flags.writeable = False
        return cls("bytes", memory.size, Path(), memory)

    def open(self) -> BinaryIO:
        """Open the bytes as a binary file.

        Returns:
            A file that the caller must close.

        Raises:
            RecordError: The file was changed after the source was created.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_bytes(b"ACGT").open().read()
            b'ACGT'
        """
        if self._memory is not None:
            return io.BytesIO(self._memory.data)
        file = self._checked_path().open("rb")
        try:
            # The path may now refer to another file.
            self._check_unchanged(os.fstat(file.fileno()))
        except RecordError:
            file.close()
            raise
        return file

    def read(self, start: int, stop: int) -> bytes:
        """Read a range of bytes.

        Args:
            start: Offset of the first byte.
            stop: Offset after the last byte.

        Returns:
            The bytes.

        Raises:
            RecordError: The file was changed after the source was created, or ends
                before `stop`.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_bytes(b"ACGT").read(1, 3)
            b'CG'
        """
        if not 0 <= start <= stop <= self.size:
            raise RecordError(
                f"{self.name}: is truncated: {stop} bytes expected, {self.size} found"
            )
        if self._memory is not None:
            return self._memory[start:stop].tobytes()
        try:
            with self.open() as file:
                file.seek(start)
                return file.read(stop - start)
        except OSError as error:
            raise RecordError(f"{self.name}: cannot be read ({error})") from None

    def require_plausible(self, what: str, size: int) -> None:
        """Raise if the content needs far more memory than the file has bytes."""
        if size > max(_MAX_UNCHECKED_BYTES, _MAX_EXPANSION_FACTOR * self.size):
            raise RecordError(
                f"{self.name}: {what} would take {size} bytes, but the file has only "
                f"{self.size}; the file is damaged or hostile and is not read"
            )

    @property
    def is_mapped(self) -> bool:
        """True if arrays are views of a memory-mapped file."""
        return self._memory is not None and bool(self._state)

    def view(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return a range of bytes, without copying if the source is in memory or mapped."""
        if self._memory is None:
            return self.take(start, stop)[0]
        if self.is_mapped:
            check_not_truncated(self.path, self.size)
        return self._memory[start:stop]

    def take(self, start: int, stop: int) -> tuple[NDArray[np.uint8], bytes]:
        """Return a range of bytes as a uint8 array, and the hash of each MiB."""
        if self._memory is not None:
            view = self._memory[start:stop]
            return view, hash_bytes(view)
        out = np.empty(stop - start, np.uint8)
        path = self._checked_path()
        try:
            hashes = _native.read_pieces(path, start, out, _count_threads(out.size))
        except FileError as error:
            raise RecordError(f"{self.name}: can no longer be read ({error})") from None
        self._checked_path()  # the file may have been replaced
        return out, hashes

    def _checked_path(self) -> Path:
        """Return the path; raise if the file was changed or replaced."""
        path = self.path
        try:
            now = path.stat()
        except OSError as error:
            raise RecordError(f"{path}: can no longer be read ({error})") from None
        self._check_unchanged(now)
        return path

    def _check_unchanged(self, now: os.stat_result) -> None:
        """Raise if the file was changed or replaced."""
        if _fingerprint_file(now) != self._state:
            raise RecordError(
                f"{self.path}: was changed after it was opened; load it again"
            )


def hash_bytes(data: NDArray[np.uint8]) -> bytes:
    """Return the XXH3 hash of each MiB of the data, eight bytes each."""
    return _native.hash_pieces(data, _count_threads(data.size))


def _count_threads(size: int) -> int:
    """Return the number of threads to use for a number of bytes."""
    return count_threads() if size >= _MIN_THREADED_BYTES else 1


def _fingerprint_file(status: os.stat_result) -> tuple[int, ...]:
    """Return properties of a file that reveal a change or replacement of the file."""
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


_HASH_BLOCK_BYTES = 1 << 20  # Bytes that are decompressed at a time.
# Exceptions that zipfile raises for damage, unknown methods, encrypted members and
# invalid names.
_ZIP_ERRORS = (
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
    """Open a zip archive; convert errors inside the block to RecordError."""
    try:
        with source.open() as file, ZipFile(file) as archive:
            yield archive
    except RecordError:
        raise
    except _ZIP_ERRORS as error:
        raise RecordError(f"{source.name}: not a complete zip archive ({error})") from None


def read_member(source: RecordSource, archive: ZipFile, name: str) -> bytes:
    """Read a zip member; raise if its content is far larger than the archive."""
    info = archive.getinfo(name)
    # With other compression methods, zipfile has no size limit for a decompressed
    # block.
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise RecordError(
            f"{source.name}: {name} is compressed by method {info.compress_type}; only "
            "stored and deflated members are read; pack the archive again"
        )
    source.require_plausible(name, info.file_size)
    with archive.open(info) as member:
        return b"".join(iter(lambda: member.read(_HASH_BLOCK_BYTES), b""))
