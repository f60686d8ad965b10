"""The output folder: files that are made once, whole, by one of many writers."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._signals import signals_waiting
from seqloom._system import sync
from seqloom.errors import FileError, MissingFileError
from seqloom.infer.embedding._name import give_name

if TYPE_CHECKING:
    from collections.abc import Sequence


class OutputFolder:
    """A folder of a disk, to which several processes and machines may write at once.

    `create` is the one way in which a file comes to be there: whole, synced, and by one
    writer only. Nothing is ever written over.
    """

    poll = 0.25  # seconds between looks at what other processes finish

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{self.path}: the output folder cannot be made: {error.strerror or error}"
            ) from error

    def create(self, name: str, pieces: Sequence[bytes | memoryview]) -> bool:
        """Writes a new file; says False, and changes nothing, if it is there already."""
        final = self.path / name
        try:
            while (is_made := self._try(final, pieces)) is None:
                pass
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"{final}: cannot be written: {error.strerror or error}; what was finished "
                "stays, and the same command goes on from there"
            ) from error
        return is_made

    def _try(self, final: Path, pieces: Sequence[bytes | memoryview]) -> bool | None:
        """Writes a part and gives it its name; None if the part is gone meanwhile."""
        # A process that was stopped for long may find its part removed as a dead writer's.
        part = self.path / f".{final.name}.{secrets.token_hex(8)}.part"
        try:
            return self._publish(part, final, pieces)
        except FileNotFoundError:
            if not self.path.is_dir():
                raise
            return None
        finally:
            with signals_waiting(), suppress(OSError):
                part.unlink(missing_ok=True)

    def _publish(
        self, part: Path, final: Path, pieces: Sequence[bytes | memoryview]
    ) -> bool:
        """Writes a part, and gives it its name unless somebody else was first."""
        with part.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if not give_name(part, final):
            return False
        sync(self.path)
        return True

    def where(self, name: str) -> str:
        """Names a file in a message."""
        return str(self.path / name)

    def local(self, name: str) -> Path | None:
        """Returns the path of a file that can be mapped into memory."""
        return self.path / name

    def size(self, name: str) -> int | None:
        """Returns the bytes of a file; None if there is none."""
        path = self.path / name
        return path.stat().st_size if path.exists() else None

    def read(self, name: str) -> bytes:
        """Reads a whole file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path / name}: no such file") from error
        except OSError as error:
            raise FileError(
                f"{self.path / name}: cannot be read: {error.strerror}"
            ) from error

    def names(self) -> set[str]:
        """Lists the files."""
        try:
            return {entry.name for entry in os.scandir(self.path)}
        except OSError as error:
            raise FileError(f"{self.path}: cannot be read: {error.strerror}") from error

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        with suppress(OSError):
            (self.path / name).unlink(missing_ok=True)

    def remove_old_parts(self, seconds: float) -> None:
        """Removes what killed writers left, once it is old enough to be nobody's."""
        try:
            now = filesystem_time(self.path)
        except FileError:
            return  # a full disk: what was finished is finished
        for name in self.names():
            path = self.path / name
            with suppress(OSError):
                if name.endswith(".part") and now - path.stat().st_mtime > seconds:
                    path.unlink()


def filesystem_time(folder: Path) -> float:
    """Asks a file system's clock, by which it dates its files."""
    probe = folder / f".clock.{secrets.token_hex(8)}.part"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        with signals_waiting(), suppress(OSError):
            probe.unlink(missing_ok=True)
