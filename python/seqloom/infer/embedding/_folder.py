"""The output of `embed`: a folder or object store in which files are never replaced."""

from __future__ import annotations

import errno
import os
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from seqloom._signals import delay_signals
from seqloom._system import fsync, rename_without_replacing
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

# Error codes of file systems without hard links (FAT, some network and user-space file
# systems), and of file systems that cannot rename without replacing.
_NO_HARD_LINK_ERRORS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_NO_RENAME_ERRORS = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
# Seconds after which a temporary file is considered the remains of a killed process.
_STALE_SECONDS = 600.0
# Writing a shard is a single request, which may take longer than the default timeout of
# 30 seconds.
_WRITE_TIMEOUT = {"timeout": "15m"}


def open_folder(
    out: str | os.PathLike[str], cloud_options: Mapping[str, str] | None = None
) -> OutputFolder:
    """Open the output folder at a path or URL."""
    if isinstance(out, str) and "://" in out:
        return ObjectFolder(out, cloud_options or {})
    if cloud_options:
        raise ArgumentError(
            f"cloud_options are for a URL such as s3://bucket/embeddings, got {out!s}"
        )
    return OutputFolder(out)


class OutputFolder:
    """A folder on a disk, to which several processes and machines may write concurrently.

    Only the method `create` writes files: atomically, with a sync to disk, and without
    replacing existing files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{self.path}: output folder cannot be created: {error.strerror or error}"
            ) from error

    def create(self, name: str, data: bytes) -> bool:
        """Write a new file; return False and change nothing if the file already exists."""
        final = self.path / name
        try:
            while (is_made := self._try_to_create(final, data)) is None:
                pass
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"{final}: cannot be written: {error.strerror or error}; finished files "
                "are kept, and repeating the command continues the job"
            ) from error
        return is_made

    def _try_to_create(self, final: Path, data: bytes) -> bool | None:
        """Write and rename a temporary file; return None if another process removed it."""
        # If this process pauses for long, another process may remove the temporary
        # file.
        part = self.path / f".{final.name}.{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            is_first = _rename_without_replacing(part, final)
            if is_first:
                fsync(self.path)
        except FileNotFoundError:
            if not self.path.is_dir():
                raise
            return None
        else:
            return is_first
        finally:
            with delay_signals(), suppress(OSError):
                part.unlink(missing_ok=True)

    def where(self, name: str) -> str:
        """Return the path of a file for messages."""
        return str(self.path / name)

    def local_path(self, name: str) -> Path | None:
        """Return the path of a file for memory mapping."""
        return self.path / name

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        path = self.path / name
        return path.stat().st_size if path.exists() else None

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError as error:
            raise MissingFileError(f"{self.path / name}: no such file") from error
        except OSError as error:
            raise FileError(
                f"{self.path / name}: cannot be read: {error.strerror}"
            ) from error

    def names(self) -> set[str]:
        """Return the names of the files."""
        try:
            return {entry.name for entry in os.scandir(self.path)}
        except OSError as error:
            raise FileError(f"{self.path}: cannot be read: {error.strerror}") from error

    def remove_stale_parts(self) -> None:
        """Remove old temporary files, which a paused process writes again if necessary."""
        for name in self.names():
            path = self.path / name
            with suppress(OSError):
                age = time.time() - path.stat().st_mtime
                if name.endswith(".part") and age > _STALE_SECONDS:
                    path.unlink()


def _rename_without_replacing(part: Path, final: Path) -> bool:
    """Rename a temporary file; return False and change nothing if the new name exists."""
    try:
        os.link(part, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINK_ERRORS:
            raise
    else:
        return True
    # Do not reserve the name with an empty file and then rename over this file. A
    # killed process would leave an empty file, and a paused process may replace the
    # file of another process.
    code = rename_without_replacing(part, final)
    if code in _NO_RENAME_ERRORS:
        raise FileError(
            f"{final}: this file system has neither hard links nor a rename without "
            "replacement; use another disk, or the URL of an object store"
        )
    if code not in (0, errno.EEXIST):
        raise OSError(code, os.strerror(code), str(final))
    return code == 0


class ObjectFolder(OutputFolder):
    """An output folder in an object store, such as ``s3://bucket/embeddings``.

    The method `create` writes an object only if the object does not exist, and raises
    an error for stores that ignore this condition.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self.path = url.rstrip("/")
        # The object store library expects this connection option among the store's
        # options.
        allowed = os.environ.get("AWS_ALLOW_HTTP")
        environment = {"allow_http": allowed} if allowed else {}
        every = {**_WRITE_TIMEOUT, **environment, **options}
        self.store: Any = open_store(urlparse(self.path), every)
        self._is_checked = False

    def where(self, name: str) -> str:
        """Return the URL of an object for messages."""
        return f"{self.path}/{name}"

    def local_path(self, name: str) -> None:
        """Return None, because an object cannot be mapped into memory."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a new object; return False and change nothing if the object exists."""
        if not self._is_checked:
            self._check_conditional_put()
        return self.put(name, data)

    def put(self, name: str, data: bytes) -> bool:
        """Write an object if the object does not exist."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._converting_errors(name, "cannot be written"):
            try:
                self.store.put(name, data, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def _check_conditional_put(self) -> None:
        """Raise if the store would replace existing objects, which is tested only once."""
        name = f"probe.{secrets.token_hex(8)}.part"
        made = [self.put(name, b"") for _ in range(2)]
        with suppress(RemoteError), self._converting_errors(name, "cannot be removed"):
            self.store.delete(name)
        if made != [True, False]:
            raise RemoteError(
                f"{self.path}: the store replaces existing objects; use a store that "
                "supports If-None-Match (S3, Google Cloud, Azure, MinIO from 2024), or a "
                "disk"
            )
        self._is_checked = True

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        with self._converting_errors(name, "cannot be read"):
            return bytes(self.store.get(name).bytes())

    def size(self, name: str) -> int | None:
        """Return the size of an object in bytes; None if it does not exist."""
        try:
            with self._converting_errors(name, "cannot be read"):
                return int(self.store.head(name)["size"])
        except MissingObjectError:
            return None

    def names(self) -> set[str]:
        """Return the names of the objects."""
        with self._converting_errors("", "cannot be listed"):
            parts = self.store.list()
            return {PurePosixPath(it["path"]).name for part in parts for it in part}

    def remove_stale_parts(self) -> None:
        """Do nothing, because object stores have no temporary files."""

    @contextmanager
    def _converting_errors(self, name: str, what: str) -> Generator[None]:
        """Convert errors of the object store library to seqloom errors."""
        from obstore.exceptions import BaseError, NotSupportedError

        try:
            yield
        except FileNotFoundError as error:
            raise MissingObjectError(f"{self.where(name)}: no such object") from error
        except (NotImplementedError, NotSupportedError) as error:
            raise RemoteError(
                f"{self.where(name)}: {what}: the store does not support it "
                f"({first_line(error)}); use S3, Google Cloud, Azure or a folder on a disk"
            ) from error
        except (BaseError, OSError) as error:
            raise RemoteError(
                f"{self.where(name)}: {what}: {first_line(error)}; finished files are "
                "kept, and repeating the command continues the job"
            ) from error
