"""The output: a folder or an object store, where each file is made once and whole."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from seqloom._signals import signals_waiting
from seqloom._system import rename_new, sync
from seqloom.errors import (
    ArgumentError,
    FileError,
    MissingFileError,
    MissingObjectError,
    RemoteError,
)
from seqloom.io.plink._cloud_object import first_line, open_store

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

# The error codes of file systems without hard links (FAT, some network and user-space
# ones), and of those that cannot rename without replacing either.
_WITHOUT_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_WITHOUT_RENAME = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
# A part that is older was left by a writer that was killed.
_STALE_SECONDS = 600.0
# A whole shard is one request, which may take longer than the library's 30 seconds.
_PATIENCE = {"timeout": "15m"}


def open_folder(
    out: str | os.PathLike[str], cloud_options: Mapping[str, str] | None = None
) -> OutputFolder:
    """Open the output that a path or a URL names."""
    if isinstance(out, str) and "://" in out:
        return ObjectFolder(out, cloud_options or {})
    if cloud_options:
        raise ArgumentError(
            f"cloud_options are for a URL such as s3://bucket/embeddings, got {out!s}"
        )
    return OutputFolder(out)


class OutputFolder:
    """A folder of a disk, to which several processes and machines may write at once.

    Only `create` makes files: whole, synced, and by one writer. No file is replaced.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{self.path}: the output folder cannot be made: {error.strerror or error}"
            ) from error

    def create(self, name: str, data: bytes) -> bool:
        """Write a new file; returns False, and changes nothing, if it exists already."""
        final = self.path / name
        try:
            while (is_made := self._try_to_create(final, data)) is None:
                pass
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"{final}: cannot be written: {error.strerror or error}; what was finished "
                "stays, and the same command goes on from there"
            ) from error
        return is_made

    def _try_to_create(self, final: Path, data: bytes) -> bool | None:
        """Write a part and give it its name; None if the part was removed meanwhile."""
        # Another process removes the part of a process that was stopped for long.
        part = self.path / f".{final.name}.{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            is_first = _give_name(part, final)
            if is_first:
                sync(self.path)
        except FileNotFoundError:
            if not self.path.is_dir():
                raise
            return None
        else:
            return is_first
        finally:
            with signals_waiting(), suppress(OSError):
                part.unlink(missing_ok=True)

    def where(self, name: str) -> str:
        """Return the name of a file for a message."""
        return str(self.path / name)

    def local(self, name: str) -> Path | None:
        """Return the path of a file that can be mapped into memory."""
        return self.path / name

    def size(self, name: str) -> int | None:
        """Return the bytes of a file; None if it does not exist."""
        path = self.path / name
        return path.stat().st_size if path.exists() else None

    def read(self, name: str) -> bytes:
        """Read a whole file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path / name}: no such file") from error
        except OSError as error:
            raise FileError(
                f"{self.path / name}: cannot be read: {error.strerror}"
            ) from error

    def names(self) -> set[str]:
        """List the files."""
        try:
            return {entry.name for entry in os.scandir(self.path)}
        except OSError as error:
            raise FileError(f"{self.path}: cannot be read: {error.strerror}") from error

    def remove_stale_parts(self) -> None:
        """Remove what killed writers left; a writer whose part goes writes it again."""
        for name in self.names():
            path = self.path / name
            with suppress(OSError):
                age = time.time() - path.stat().st_mtime
                if name.endswith(".part") and age > _STALE_SECONDS:
                    path.unlink()


def _give_name(part: Path, final: Path) -> bool:
    """Return a whole file its name; returns False, and changes nothing, if it is taken."""
    try:
        os.link(part, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
    else:
        return True
    # To take the name by an empty file and to rename over it is no way: a process that is
    # killed between the two leaves an empty file, one that sleeps there replaces another's.
    code = rename_new(part, final)
    if code in _WITHOUT_RENAME:
        raise FileError(
            f"{final}: this file system has neither hard links nor a rename that replaces "
            "nothing, so that two processes could write one shard; give a folder of "
            "another disk, or the URL of an object store"
        )
    if code not in (0, errno.EEXIST):
        raise OSError(code, os.strerror(code), str(final))
    return code == 0


class ObjectFolder(OutputFolder):
    """A prefix of an object store, such as ``s3://bucket/embeddings``.

    `create` puts an object on the condition that it does not exist. A store that ignores
    the condition is an error.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self.path = url.rstrip("/")
        # The library takes this option of the connection for one of the store.
        allowed = os.environ.get("AWS_ALLOW_HTTP")
        environment = {"allow_http": allowed} if allowed else {}
        every = {**_PATIENCE, **environment, **options}
        self.store: Any = open_store(urlparse(self.path), every)
        self._is_proved = False

    def where(self, name: str) -> str:
        """Return the name of an object for a message."""
        return f"{self.path}/{name}"

    def local(self, name: str) -> None:
        """Return None: an object cannot be mapped into memory."""

    def create(self, name: str, data: bytes) -> bool:
        """Put a new object; returns False, and changes nothing, if it exists already."""
        if not self._is_proved:
            self._prove()
        return self.put(name, data)

    def put(self, name: str, data: bytes) -> bool:
        """Put an object if it does not exist."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._renamed_errors(name, "cannot be written"):
            try:
                self.store.put(name, data, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def _prove(self) -> None:
        """Checks, once, that the store creates no object twice."""
        name = f"probe.{secrets.token_hex(8)}.part"
        made = [self.put(name, b"") for _ in range(2)]
        with suppress(RemoteError), self._renamed_errors(name, "cannot be removed"):
            self.store.delete(name)
        if made != [True, False]:
            raise RemoteError(
                f"{self.path}: the store creates an object that is there already, so that "
                "two processes could write one shard; use a store that heeds If-None-Match "
                "(S3, Google Cloud, Azure, MinIO from 2024 on), or a folder of a disk"
            )
        self._is_proved = True

    def read(self, name: str) -> bytes:
        """Read a whole object."""
        with self._renamed_errors(name, "cannot be read"):
            return bytes(self.store.get(name).bytes())

    def size(self, name: str) -> int | None:
        """Return the bytes of an object; None if it does not exist."""
        try:
            with self._renamed_errors(name, "cannot be read"):
                return int(self.store.head(name)["size"])
        except MissingObjectError:
            return None

    def names(self) -> set[str]:
        """List the objects."""
        with self._renamed_errors("", "cannot be listed"):
            parts = self.store.list()
            return {PurePosixPath(it["path"]).name for part in parts for it in part}

    def remove_stale_parts(self) -> None:
        """Do nothing: an object is whole or does not exist."""

    @contextmanager
    def _renamed_errors(self, name: str, what: str) -> Generator[None]:
        """Turn the library's errors into ours."""
        from obstore.exceptions import BaseError, NotSupportedError

        try:
            yield
        except FileNotFoundError as error:
            raise MissingObjectError(f"{self.where(name)}: no such object") from error
        except (NotImplementedError, NotSupportedError) as error:
            raise RemoteError(
                f"{self.where(name)}: {what}: the store does not support it "
                f"({first_line(error)}); use S3, Google Cloud, Azure or a folder of a disk"
            ) from error
        except (BaseError, OSError) as error:
            raise RemoteError(
                f"{self.where(name)}: {what}: {first_line(error)}; what was finished "
                "stays, and the same command goes on from there"
            ) from error
