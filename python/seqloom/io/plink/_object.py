"""An object that a URL names, of which any bytes can be asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol
from urllib.parse import unquote

from seqloom.errors import ArgumentError, MissingObjectError, RemoteError
from seqloom.io.plink._event_loop import begin
from seqloom.io.plink._store import first_line, open_store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future
    from urllib.parse import ParseResult

    from obstore import GetOptions, GetResult

_MOST_SAID = 400


class Identity(NamedTuple):
    """Tells an object from what it was before a change, as far as its store says so."""

    size: int
    tag: str | None
    version: str | None
    modified: float


class Fetched(NamedTuple):
    """Bytes of an object, and which object they are of."""

    identity: Identity
    data: memoryview


class Waiting(Protocol):
    """A request that was begun; a future is one."""

    def result(self) -> Fetched:
        """Waits for the answer."""
        ...

    def cancel(self) -> object:
        """Gives the request up."""
        ...


class Object(Protocol):
    """What bytes can be asked for."""

    def begin(self, start: int, stop: int | None) -> Waiting:
        """Asks for bytes from one on to before another; with None, for all of them."""
        ...


class CloudObject:
    """An object in a store that answers requests.

    Args:
        location: Its URL.
        options: How the store is reached.
    """

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        self._url = location.geturl()
        self._store = open_store(location, options)

    def begin(self, start: int, stop: int | None) -> Future[Fetched]:
        """Asks for bytes from one on to before another; with None, for all of them."""
        return begin(self._get(start, stop))

    async def _get(self, start: int, stop: int | None) -> Fetched:
        """Waits for bytes."""
        import obstore

        # A server that knows no ranges can give the whole.
        options: GetOptions = {} if stop is None else {"range": (start, stop)}
        try:
            answer = await obstore.get_async(self._store, "", options=options)
            data = await answer.bytes_async()
            return Fetched(_identity_of(answer), memoryview(data))
        except Exception as error:  # noqa: BLE001 - the library's errors have no one base
            _fail(self._url, error)


class LocalObject:
    """A file of this machine, named by a URL.

    Args:
        location: Its URL.
    """

    def __init__(self, location: ParseResult) -> None:
        self._url = location.geturl()
        if location.netloc not in {"", "localhost"}:
            raise ArgumentError(
                f"{self._url}: Unable to recognise URL: expected file:///..., a file of "
                f"this machine, found one of {location.netloc!r}"
            )
        self._path = Path(unquote(location.path))

    def begin(self, start: int, stop: int | None) -> Waiting:
        """Asks for bytes from one on to before another; with None, for all of them."""
        return _Later(self, start, stop)

    def read(self, start: int, stop: int | None) -> Fetched:
        """Reads bytes now."""
        try:
            with self._path.open("rb", buffering=0) as file:
                seen = os.fstat(file.fileno())
                file.seek(start)
                data = file.read(-1 if stop is None else stop - start)
        except FileNotFoundError as error:
            raise MissingObjectError(f"{self._url}: not found") from error
        except OSError as error:
            raise RemoteError(f"{self._url}: cannot be read: {error.strerror}") from error
        return Fetched(_identity_of_file(seen), memoryview(data))


class _Later(NamedTuple):
    """A read that is done when somebody waits for it: the disk reads ahead by itself."""

    file: LocalObject
    start: int
    stop: int | None

    def result(self) -> Fetched:
        """Reads."""
        return self.file.read(self.start, self.stop)

    def cancel(self) -> None:
        """Does nothing: nothing has begun."""


def _identity_of(answer: GetResult) -> Identity:
    """Takes what a store says of an object."""
    meta = answer.meta
    modified = meta["last_modified"].timestamp()
    return Identity(meta["size"], meta["e_tag"], meta["version"], modified)


def _identity_of_file(seen: os.stat_result) -> Identity:
    """Takes what a file system says of a file."""
    return Identity(seen.st_size, f"{seen.st_dev}-{seen.st_ino}", None, seen.st_mtime_ns)


def _fail(url: str, error: Exception) -> NoReturn:
    """Says in our words what went wrong."""
    said = first_line(error)[:_MOST_SAID]
    if isinstance(error, FileNotFoundError):
        raise MissingObjectError(
            f"{url}: not found; expected an object of this name: compare the letters "
            f"of the URL, and whether cloud_options are needed to see it ({said})"
        ) from error
    if "Range request not supported" in said:
        raise RemoteError(
            f"{url}: expected a server that gives parts of a file (HTTP 206), found one "
            "that gives all of it only; download the file"
        ) from error
    raise RemoteError(f"{url}: cannot be read: {said}") from error
