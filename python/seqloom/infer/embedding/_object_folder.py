"""The output folder in an object store: objects that one of many writers creates."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from seqloom.errors import MissingObjectError, RemoteError
from seqloom.infer.embedding._folder import OutputFolder
from seqloom.io.plink._cloud_store import first_line, open_store

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

# A whole shard is one request, which may take longer than the library's 30 seconds.
_PATIENCE = {"timeout": "15m"}


class ObjectFolder(OutputFolder):
    """A prefix of an object store, such as ``s3://bucket/embeddings``.

    An object appears whole, and `create` asks the store to make it only if nobody has: that
    is what a link is on a disk. A store that does not heed this is refused.
    """

    poll = 2.0

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self.path = url.rstrip("/")
        every = {**_PATIENCE, **_from_environment(), **options}
        self.store: Any = open_store(urlparse(self.path), every)
        self._is_proved = False

    def where(self, name: str) -> str:
        """Names an object in a message."""
        return f"{self.path}/{name}"

    def local(self, name: str) -> None:
        """Says that no object can be mapped into memory."""

    def create(self, name: str, pieces: Iterable[bytes | memoryview]) -> bool:
        """Puts a new object; says False, and changes nothing, if it is there already."""
        return self.make(name, b"".join(pieces)) is not None

    def make(self, name: str, data: bytes) -> str | None:
        """Puts a new object; returns its tag, None if it is there already."""
        self._prove()
        return self.put(name, data, "create")

    def put(self, name: str, data: bytes, mode: Any) -> str | None:
        """Puts an object on a condition; returns its tag, None if the condition fails."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._spelling(name, "cannot be written"):
            try:
                found = self.store.put(name, data, mode=mode)
            except (AlreadyExistsError, PreconditionError):
                return None
        return found["e_tag"] or ""

    def _prove(self) -> None:
        """Makes sure, once, that the store makes no object twice."""
        if self._is_proved:
            return
        name = f"probe.{secrets.token_hex(8)}.part"
        made = [self.put(name, b"", "create") is not None for _ in range(2)]
        self.remove(name)
        if made != [True, False]:
            raise RemoteError(
                f"{self.path}: the store creates an object that is there already, so that "
                "two processes could write one shard; use a store that heeds If-None-Match "
                "(S3, Google Cloud, Azure, MinIO from 2024 on), or a folder of a disk"
            )
        self._is_proved = True

    def read(self, name: str) -> bytes:
        """Reads a whole object."""
        with self._spelling(name, "cannot be read"):
            return bytes(self.store.get(name).bytes())

    def size(self, name: str) -> int | None:
        """Returns the bytes of an object; None if there is none."""
        found = self.look(name)
        return None if found is None else int(found["size"])

    def look(self, name: str) -> Any:
        """Asks for the tag, the size and the time of an object; None if there is none."""
        try:
            with self._spelling(name, "cannot be read"):
                return self.store.head(name)
        except MissingObjectError:
            return None

    def names(self) -> set[str]:
        """Lists the objects."""
        with self._spelling("", "cannot be listed"):
            parts = self.store.list()
            return {PurePosixPath(it["path"]).name for part in parts for it in part}

    def remove(self, name: str) -> None:
        """Removes an object, if it is there."""
        with suppress(RemoteError), self._spelling(name, "cannot be removed"):
            self.store.delete(name)

    def remove_old_parts(self, seconds: float) -> None:
        """Does nothing: an object is whole or not there."""

    @contextmanager
    def _spelling(self, name: str, what: str) -> Generator[None]:
        """Turns the library's errors into ours."""
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


def _from_environment() -> dict[str, str]:
    """Finds an option of the connection that the library takes for one of the store."""
    allowed = os.environ.get("AWS_ALLOW_HTTP")
    return {"allow_http": allowed} if allowed else {}
