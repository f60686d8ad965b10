"""An object that a URL names, from which any range of bytes can be read."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol, TypeVar
from urllib.parse import unquote

from seqloom.errors import ArgumentError, MissingObjectError, RemoteError
from seqloom.io.plink._cloud_store import first_line, open_store

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from concurrent.futures import Future
    from typing import Any
    from urllib.parse import ParseResult

    from obstore import GetOptions, GetResult

T = TypeVar("T")

_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def start_request(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Runs a coroutine on the thread of requests; returns a future at once."""
    # The caller may have an event loop of its own (a notebook does) and may press Ctrl-C:
    # it waits for the future, and cancels what it no longer needs.
    return asyncio.run_coroutine_threadsafe(work, _find_loop())


def _find_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop of this process; starts it at the first call."""
    with _lock:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            run = _loops[0].run_forever
            threading.Thread(target=run, name="seqloom-requests", daemon=True).start()
    return _loops[0]


_MAX_LENGTH = 400


class Identity(NamedTuple):
    """What differs for an object after a change, as far as its store says so."""

    size: int
    tag: str | None
    version: str | None
    modified: float


class Fetched(NamedTuple):
    """Bytes of an object, and the identity of the object."""

    identity: Identity
    data: memoryview


class CloudRequest(Protocol):
    """A request that was started; a future is one."""

    def result(self) -> Fetched:
        """Waits for the answer."""
        ...

    def cancel(self) -> object:
        """Cancels the request."""
        ...


class RemoteObject(Protocol):
    """An object from which ranges of bytes can be read."""

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Requests the bytes from start to stop; with None, all bytes."""
        ...


class CloudObject:
    """An object in a store of the cloud."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        self._url = location.geturl()
        self._store = open_store(location, options)

    def request(self, start: int, stop: int | None) -> Future[Fetched]:
        """Requests the bytes from start to stop; with None, all bytes."""
        return start_request(self._get(start, stop))

    async def _get(self, start: int, stop: int | None) -> Fetched:
        """Fetches bytes."""
        import obstore

        # A server that does not support ranges can send the whole object.
        options: GetOptions = {} if stop is None else {"range": (start, stop)}
        try:
            answer = await obstore.get_async(self._store, "", options=options)
            data = await answer.bytes_async()
            return Fetched(_identify_answer(answer), memoryview(data))
        except Exception as error:  # noqa: BLE001 - the library's errors have no one base
            _raise_error(self._url, error)


class LocalObject:
    """A file of this machine, named by a URL."""

    def __init__(self, location: ParseResult) -> None:
        self._url = location.geturl()
        if location.netloc not in {"", "localhost"}:
            raise ArgumentError(
                f"{self._url}: Unable to recognise URL: expected file:///PATH for a file "
                f"of this machine, found the machine {location.netloc!r}"
            )
        self._path = Path(unquote(location.path))

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Requests the bytes from start to stop; with None, all bytes."""
        return _LocalRequest(self, start, stop)

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
        return Fetched(_identify_file(seen), memoryview(data))


class _LocalRequest(NamedTuple):
    """A read that runs in `result`: the system reads ahead by itself."""

    file: LocalObject
    start: int
    stop: int | None

    def result(self) -> Fetched:
        """Reads."""
        return self.file.read(self.start, self.stop)

    def cancel(self) -> None:
        """Does nothing: nothing was started."""


def _identify_answer(answer: GetResult) -> Identity:
    """Returns the identity that a store reports."""
    meta = answer.meta
    modified = meta["last_modified"].timestamp()
    return Identity(meta["size"], meta["e_tag"], meta["version"], modified)


def _identify_file(seen: os.stat_result) -> Identity:
    """Returns the identity that a file system reports."""
    return Identity(seen.st_size, f"{seen.st_dev}-{seen.st_ino}", None, seen.st_mtime_ns)


def _raise_error(url: str, error: Exception) -> NoReturn:
    """Raises our error for an error of the library."""
    said = first_line(error)[:_MAX_LENGTH]
    if isinstance(error, FileNotFoundError):
        raise MissingObjectError(
            f"{url}: not found: check the spelling of the URL, and whether cloud_options "
            f"are needed to see the object ({said})"
        ) from error
    if "Range request not supported" in said:
        raise RemoteError(
            f"{url}: the server does not send parts of a file (HTTP 206); download the "
            "file and open the copy"
        ) from error
    raise RemoteError(f"{url}: cannot be read: {said}") from error
