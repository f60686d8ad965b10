"""RecordSource: the bytes of a record, in a file or in memory, perhaps a zip archive."""

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

from seqloom._files import check_uncut
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import FileError, MissingFileError, RecordError

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray


# Below this number of bytes a second thread costs more than it saves.
_SHARED = 8 << 20
# Weights hardly compress: content of more bytes than both limits is no model.
_PLAUSIBLE, _PLAUSIBLE_RATIO = 1 << 26, 16


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The bytes of a record, which a recorder's ``decode`` reads.

    Attributes:
        name: Name for messages: the path of the file, or ``"bytes"``.
        size: Number of bytes.
        path: Path of the file; that of no file in memory.

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
        """Describe a file.

        Args:
            path: Path of the file.
            mapped: Whether arrays become views of the file, which the system reads when
                somebody looks at them.

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
                state = _describe(os.fstat(file.fileno()))
                memory = None
                if mapped and state[0]:
                    # The map lives as long as a view of it.
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
        """Describe bytes in memory.

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
            A file, to be closed by the caller.

        Raises:
            RecordError: The file was changed since it was described.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_bytes(b"ACGT").open().read()
            b'ACGT'
        """
        if self._memory is not None:
            return io.BytesIO(self._memory.data)
        file = self._checked_path().open("rb")
        try:
            # Another file may have got the name meanwhile.
            self._check(os.fstat(file.fileno()))
        except RecordError:
            file.close()
            raise
        return file

    def read(self, start: int, stop: int) -> bytes:
        """Read some bytes.

        Args:
            start: First byte.
            stop: Byte behind the last one.

        Returns:
            The bytes.

        Raises:
            RecordError: The file was changed since it was described, or ends before.

        Examples:
            >>> from seqloom.record import RecordSource
            >>> RecordSource.of_bytes(b"ACGT").read(1, 3)
            b'CG'
        """
        if not 0 <= start <= stop <= self.size:
            raise RecordError(
                f"{self.name}: is cut: {stop} bytes expected, {self.size} found"
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
        """Refuse content that would take far more memory than the source has bytes."""
        if size > max(_PLAUSIBLE, _PLAUSIBLE_RATIO * self.size):
            raise RecordError(
                f"{self.name}: {what} would take {size} bytes, but the file has only "
                f"{self.size}; the file is damaged or hostile and is not read"
            )

    @property
    def is_mapped(self) -> bool:
        """Whether arrays are views of a file."""
        return self._memory is not None and bool(self._state)

    def view(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return bytes as a view of the memory."""
        if self._memory is None:
            return self.take(start, stop)[0]
        if self.is_mapped:
            check_uncut(self.path, self.size)
        return self._memory[start:stop]

    def take(self, start: int, stop: int) -> tuple[NDArray[np.uint8], bytes]:
        """Return bytes as a view or a new array, and the hash of each MiB."""
        if self._memory is not None:
            view = self._memory[start:stop]
            return view, hash_bytes(view)
        out = np.empty(stop - start, np.uint8)
        path = self._checked_path()
        try:
            hashes = _native.read_pieces(path, start, out, _count_threads(out.size))
        except FileError as error:
            raise RecordError(f"{self.name}: cannot be read any more ({error})") from None
        self._checked_path()  # another file may have got the name meanwhile
        return out, hashes

    def _checked_path(self) -> Path:
        """Return the path; refuses another file than the one that was described."""
        path = self.path
        try:
            now = path.stat()
        except OSError as error:
            raise RecordError(f"{path}: cannot be read any more ({error})") from None
        self._check(now)
        return path

    def _check(self, now: os.stat_result) -> None:
        """Refuse another file than the one that was described."""
        if _describe(now) != self._state:
            raise RecordError(
                f"{self.path}: was changed after it was opened; load it again"
            )


def hash_bytes(data: NDArray[np.uint8]) -> bytes:
    """Return the XXH3 of each MiB of some bytes: eight bytes for each."""
    return _native.hash_pieces(data, _count_threads(data.size))


def _count_threads(size: int) -> int:
    """Return the number of threads for a number of bytes."""
    return count_threads() if size >= _SHARED else 1


def _describe(status: os.stat_result) -> tuple[int, ...]:
    """Return properties that change when another file gets the name."""
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


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
    """Open a zip archive; damage that is found inside the block is a RecordError."""
    try:
        with source.open() as file, ZipFile(file) as archive:
            yield archive
    except RecordError:
        raise
    except _DAMAGE as error:
        raise RecordError(f"{source.name}: not a whole zip archive ({error})") from None


def read_member(source: RecordSource, archive: ZipFile, name: str) -> bytes:
    """Read a member in pieces; refuses one that is far larger than its archive."""
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
