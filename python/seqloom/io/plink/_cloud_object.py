"""Objects in the cloud: the store that a URL names, and requests for their bytes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, cast
from urllib.parse import unquote

from seqloom._system import after_fork
from seqloom.errors import (
    ArgumentError,
    MissingExtraError,
    MissingObjectError,
    RemoteError,
    SeqloomError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import ParseResult

    from obstore import GetOptions
    from obstore.store import ClientConfig, ObjectStore, RetryConfig


_SCHEMES = "http, https, s3, gs, az, azure, abfs or file"
_KNOWN = {"http", "https", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"}
# Options of the connection, whatever the store; all others are options of the store.
_CLIENT = {
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "randomize_addresses",
    "read_timeout",
    "root_certificate",
    "timeout",
    "user_agent",
}
_PREFIXES = ("aws_", "azure_", "google_")
_RETRIES = "max_retries"
_MAX_LENGTH = 400
_SERVE = (
    "import sys; from seqloom.io.plink._cloud_object import serve; serve(int(sys.argv[1]))"
)
_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_forked: list[int] = []


def open_store(location: ParseResult, options: Mapping[str, str]) -> ObjectStore:
    """Make the store of a URL; the object has the empty path in it."""
    url = location.geturl()
    if location.scheme not in _KNOWN:
        raise ArgumentError(
            f"{url}: Unable to recognise URL: expected {_SCHEMES}, "
            f"found {location.scheme!r}; for a file of this machine give its path"
        )
    parts: dict[str, dict[str, Any]] = {"client": {}, "store": {}, "retry": {}}
    for name, value in options.items():
        # The value may be secret and is not shown.
        if not isinstance(cast("object", value), str):
            raise ArgumentError(
                f"cloud_options[{name!r}] must be a string, got {type(value).__name__}"
            )
        kind, key = _classify(name)
        parts[kind][key] = value
    if location.scheme == "http":
        parts["client"].setdefault("allow_http", "true")
    return _make(location, parts)


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error, without its debugging details."""
    return str(error).partition("\n")[0].partition(": <")[0].strip()


def _classify(name: str) -> tuple[str, str]:
    """Return the part of the library that an option is for, and its name there."""
    plain = name.lower()
    for prefix in _PREFIXES:
        if plain.removeprefix(prefix) in _CLIENT:
            return "client", plain.removeprefix(prefix)
    return ("retry" if plain == _RETRIES else "store"), plain


def _make(location: ParseResult, parts: Mapping[str, dict[str, Any]]) -> ObjectStore:
    """Make the store by the library; a URL of the web is a store of its own."""
    retry: dict[str, int] = {}
    for name, value in parts["retry"].items():
        if not (value.isascii() and value.isdigit()):
            raise ArgumentError(
                f"cloud_options[{name!r}] must be an integer, got {value!r}"
            )
        retry[name] = int(value)
    library = _import_library()
    plain = location.scheme in {"http", "https"} and not parts["store"]
    make = library.HTTPStore.from_url if plain else library.from_url
    settings: dict[str, Any] = {} if plain else {"config": parts["store"]}
    try:
        return make(
            location._replace(fragment="").geturl(),
            client_options=cast("ClientConfig", parts["client"]),
            retry_config=cast("RetryConfig", retry) if retry else None,
            **settings,
        )
    except SeqloomError:
        raise
    except Exception as error:
        raise _describe_wrong_option(location, parts["store"], error) from error


def _import_library() -> Any:
    """Import the library of stores; the error says how to install it."""
    try:
        from obstore import store
    except ImportError as error:
        raise MissingExtraError(
            "a URL of the cloud needs obstore: pip install obstore; or download "
            "the file and give its path"
        ) from error
    return store


def _describe_wrong_option(
    location: ParseResult, store: Mapping[str, str], error: Exception
) -> ArgumentError:
    """Make the error that names the wrong option."""
    url, said = location._replace(query="").geturl(), first_line(error)
    if "does not accept any configuration" in said:
        said = f"unknown: {', '.join(map(repr, store))}"
    return ArgumentError(
        f"{url}: cloud_options: {said}; expected options of the connection "
        f"({', '.join(sorted(_CLIENT))}), {_RETRIES}, or of the store, such as "
        "'aws_region' for s3://"
    )


# A started request has `result`, which waits for the answer, and `cancel`.
CloudRequest: TypeAlias = "Future[Fetched] | _LocalRequest"
RemoteObject: TypeAlias = "CloudObject | ForkedObject | LocalObject"
Answer: TypeAlias = "tuple[Identity, bytes] | BaseException"


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


class CloudObject:
    """An object in a store of the cloud."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        self._url = location.geturl()
        self._store = open_store(location, options)

    def request(self, start: int, stop: int | None) -> Future[Fetched]:
        """Request the bytes from start to stop; with None, all bytes."""
        # The caller may have an event loop of its own (a notebook does) and may press
        # Ctrl-C: it waits for the future, and cancels what it no longer needs.
        return asyncio.run_coroutine_threadsafe(self._get(start, stop), _find_loop())

    async def _get(self, start: int, stop: int | None) -> Fetched:
        """Fetch bytes."""
        import obstore

        # A server that does not support ranges can send the whole object.
        options: GetOptions = {} if stop is None else {"range": (start, stop)}
        try:
            answer = await obstore.get_async(self._store, "", options=options)
            data = await answer.bytes_async()
            meta = answer.meta
            modified = meta["last_modified"].timestamp()
            identity = Identity(meta["size"], meta["e_tag"], meta["version"], modified)
            return Fetched(identity, memoryview(data))
        except Exception as error:  # noqa: BLE001 - the library's errors have no one base
            _raise_error(self._url, error)


def _find_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process; starts it at the first call."""
    with _lock:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            run = _loops[0].run_forever
            threading.Thread(target=run, name="seqloom-requests", daemon=True).start()
    return _loops[0]


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
        """Request the bytes from start to stop; with None, all bytes."""
        return _LocalRequest(self, start, stop)

    def read(self, start: int, stop: int | None) -> Fetched:
        """Read bytes now."""
        try:
            with self._path.open("rb", buffering=0) as file:
                seen = os.fstat(file.fileno())
                file.seek(start)
                data = file.read(-1 if stop is None else stop - start)
        except FileNotFoundError as error:
            raise MissingObjectError(f"{self._url}: not found") from error
        except OSError as error:
            raise RemoteError(f"{self._url}: cannot be read: {error.strerror}") from error
        tag = f"{seen.st_dev}-{seen.st_ino}"
        identity = Identity(seen.st_size, tag, None, seen.st_mtime_ns)
        return Fetched(identity, memoryview(data))


class _LocalRequest(NamedTuple):
    """A read that runs in `result`: the system reads ahead by itself."""

    file: LocalObject
    start: int
    stop: int | None

    def result(self) -> Fetched:
        """Reads."""
        return self.file.read(self.start, self.stop)

    def cancel(self) -> None:
        """Do nothing: nothing was started."""


def _raise_error(url: str, error: Exception) -> NoReturn:
    """Raise our error for an error of the library."""
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


def was_forked() -> bool:
    """Return whether this process was forked from one that may have been fetching."""
    return bool(_forked)


class ForkedObject:
    """An object that a new process fetches."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        pair: Any = Pipe()  # its type differs between systems
        ours, theirs = pair
        self._connection: Connection = ours
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter runs our own module
                [sys.executable, "-c", _SERVE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must not reach it
            )
        self._lock, self._numbers = threading.Lock(), count()
        self._pending: dict[int, Future[Fetched]] = {}
        weakref.finalize(self, _stop, process)
        receive = ours, self._pending
        threading.Thread(target=_receive_answers, args=receive, daemon=True).start()
        ours.send((location, dict(options)))

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Request the bytes from start to stop; with None, all bytes."""
        future: Future[Fetched] = Future()
        with self._lock:
            number = next(self._numbers)
            self._pending[number] = future
            try:
                self._connection.send((number, start, stop))
            except OSError as error:
                raise _make_error() from error
        return future


def serve(handle: int) -> None:
    """Serve the requests of another process, until that one ends."""
    connection, lock = Connection(handle), threading.Lock()

    def send(number: int, answer: Answer) -> None:
        with lock, suppress(OSError):
            connection.send((number, answer))

    location, options = connection.recv()
    source: CloudObject | None = None
    while True:
        try:
            number, start, stop = connection.recv()
        except (EOFError, OSError):  # the other process has closed the pipe
            return
        try:
            source = source or CloudObject(location, options)
            pending = source.request(start, stop)
        except Exception as error:  # noqa: BLE001 - the other process raises it
            send(number, error)
        else:
            pending.add_done_callback(lambda done, n=number: send(n, _read_answer(done)))


def _read_answer(done: Future[Fetched]) -> Answer:
    """Convert the result of a request to what a pipe can carry."""
    error = done.exception()
    if error is not None:
        return error
    fetched = done.result()
    return fetched.identity, bytes(fetched.data)


def _receive_answers(connection: Connection, pending: dict[int, Future[Fetched]]) -> None:
    """Pass answers to the futures that wait for them."""
    try:
        while True:
            number, answer = connection.recv()
            future = pending.pop(number)
            if not future.set_running_or_notify_cancel():
                continue
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                identity, data = answer
                future.set_result(Fetched(identity, memoryview(data)))
    except (EOFError, OSError):
        for future in list(pending.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(_make_error())


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the process that fetches."""
    process.kill()
    process.wait()


def _make_error() -> RemoteError:
    """Make the error for a process that has ended."""
    return RemoteError(
        "the process that fetches for this forked process has ended; open the file again"
    )


def _note_fork() -> None:
    """Note that this process does not have the threads that fetch."""
    if "obstore" in sys.modules:
        _forked[:] = [os.getpid()]


after_fork(_note_fork)
