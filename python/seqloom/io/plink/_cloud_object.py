"""Objects in cloud stores: open a URL, and request bytes."""

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

from seqloom._system import run_after_fork
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


_SCHEME_NAMES = "http, https, s3, gs, az, azure, abfs or file"
_STORE_SCHEMES = {"http", "https", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"}
# Connection options that every store accepts; other options are specific to a store.
_CLIENT_OPTIONS = {
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
_STORE_PREFIXES = ("aws_", "azure_", "google_")
_RETRY_OPTION = "max_retries"
_MAX_ERROR_CHARACTERS = 400
_CHILD_PROGRAM = (
    "import sys; from seqloom.io.plink._cloud_object import serve_requests; "
    "serve_requests(int(sys.argv[1]))"
)
_loop_lock = threading.Lock()
_event_loops: list[asyncio.AbstractEventLoop] = []
_fork_marks: list[int] = []


def open_store(location: ParseResult, options: Mapping[str, str]) -> ObjectStore:
    """Open a store whose root is the object of a URL."""
    url = location.geturl()
    if location.scheme not in _STORE_SCHEMES:
        raise ArgumentError(
            f"{url}: Unable to recognise URL: expected {_SCHEME_NAMES}, "
            f"found {location.scheme!r}; for a local file give its path"
        )
    parts: dict[str, dict[str, Any]] = {"client": {}, "store": {}, "retry": {}}
    for name, value in options.items():
        # Do not show the value, because it may be secret.
        if not isinstance(cast("object", value), str):
            raise ArgumentError(
                f"cloud_options[{name!r}] must be a string, got {type(value).__name__}"
            )
        kind, key = _find_option_group(name)
        parts[kind][key] = value
    if location.scheme == "http":
        parts["client"].setdefault("allow_http", "true")
    return _make_store(location, parts)


def first_line(error: BaseException) -> str:
    """Return the first line of an obstore error, without debugging details."""
    return str(error).partition("\n")[0].partition(": <")[0].strip()


def _find_option_group(name: str) -> tuple[str, str]:
    """Return the obstore argument for an option, and the option's name in obstore."""
    plain = name.lower()
    for prefix in _STORE_PREFIXES:
        if plain.removeprefix(prefix) in _CLIENT_OPTIONS:
            return "client", plain.removeprefix(prefix)
    return ("retry" if plain == _RETRY_OPTION else "store"), plain


def _make_store(location: ParseResult, parts: Mapping[str, dict[str, Any]]) -> ObjectStore:
    """Create the obstore store; an http URL without store options becomes an HTTP store."""
    retry: dict[str, int] = {}
    for name, value in parts["retry"].items():
        if not (value.isascii() and value.isdigit()):
            raise ArgumentError(
                f"cloud_options[{name!r}] must be an integer, got {value!r}"
            )
        retry[name] = int(value)
    library = _import_obstore()
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


def _import_obstore() -> Any:
    """Import obstore, or raise an error with the command that installs it."""
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
    """Return the error that names the invalid option."""
    url, message = location._replace(query="").geturl(), first_line(error)
    if "does not accept any configuration" in message:
        message = f"unknown: {', '.join(map(repr, store))}"
    return ArgumentError(
        f"{url}: cloud_options: {message}; expected options of the connection "
        f"({', '.join(sorted(_CLIENT_OPTIONS))}), {_RETRY_OPTION}, or of the store, such "
        "as 'aws_region' for s3://"
    )


# A started request: `result` waits for the answer, and `cancel` cancels the request.
CloudRequest: TypeAlias = "Future[FetchedRange] | _LocalRequest"
RemoteObject: TypeAlias = "CloudObject | ForkedObject | LocalObject"
Reply: TypeAlias = "tuple[ObjectIdentity, bytes] | BaseException"


class ObjectIdentity(NamedTuple):
    """Properties that change when an object is replaced, if its store reports them."""

    size: int
    tag: str | None
    version: str | None
    modified: float


class FetchedRange(NamedTuple):
    """Bytes of an object, and the properties that show whether the object has changed."""

    identity: ObjectIdentity
    data: memoryview


class CloudObject:
    """An object in a cloud store."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        self._url = location.geturl()
        self._store = open_store(location, options)

    def request(self, start: int, stop: int | None) -> Future[FetchedRange]:
        """Request the bytes from start to stop, or the whole object if stop is None."""
        # Return a future, because the caller may run an event loop (as a notebook does)
        # or cancel requests.
        return asyncio.run_coroutine_threadsafe(
            self._fetch(start, stop), _find_event_loop()
        )

    async def _fetch(self, start: int, stop: int | None) -> FetchedRange:
        """Fetch a range of bytes from the store."""
        import obstore

        # A whole object can be fetched even if the server does not support byte ranges.
        options: GetOptions = {} if stop is None else {"range": (start, stop)}
        try:
            answer = await obstore.get_async(self._store, "", options=options)
            data = await answer.bytes_async()
            meta = answer.meta
            modified = meta["last_modified"].timestamp()
            identity = ObjectIdentity(
                meta["size"], meta["e_tag"], meta["version"], modified
            )
            return FetchedRange(identity, memoryview(data))
        except Exception as error:  # noqa: BLE001 - obstore has no common base class
            _raise_error(self._url, error)


def _find_event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process; the first call starts the loop."""
    with _loop_lock:
        if not _event_loops:
            _event_loops.append(asyncio.new_event_loop())
            run = _event_loops[0].run_forever
            threading.Thread(target=run, name="seqloom-requests", daemon=True).start()
    return _event_loops[0]


class LocalObject:
    """A local file, opened from a file:// URL."""

    def __init__(self, location: ParseResult) -> None:
        self._url = location.geturl()
        if location.netloc not in {"", "localhost"}:
            raise ArgumentError(
                f"{self._url}: Unable to recognise URL: expected file:///PATH for a local "
                f"file, found the host {location.netloc!r}"
            )
        self._path = Path(unquote(location.path))

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Request the bytes from start to stop, or the whole object if stop is None."""
        return _LocalRequest(self, start, stop)

    def read(self, start: int, stop: int | None) -> FetchedRange:
        """Read a range of bytes of the local file."""
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
        identity = ObjectIdentity(seen.st_size, tag, None, seen.st_mtime_ns)
        return FetchedRange(identity, memoryview(data))


class _LocalRequest(NamedTuple):
    """A request to a local file, which is read when `result` is called."""

    file: LocalObject
    start: int
    stop: int | None

    def result(self) -> FetchedRange:
        """Read and return the bytes."""
        return self.file.read(self.start, self.stop)

    def cancel(self) -> None:
        """Do nothing, because reading starts only in `result`."""


def _raise_error(url: str, error: Exception) -> NoReturn:
    """Convert errors of obstore to errors of seqloom."""
    message = first_line(error)[:_MAX_ERROR_CHARACTERS]
    if isinstance(error, FileNotFoundError):
        raise MissingObjectError(
            f"{url}: not found: check the URL, and whether the object needs cloud_options "
            f"({message})"
        ) from error
    if "Range request not supported" in message:
        raise RemoteError(
            f"{url}: the server does not support byte ranges (HTTP 206); download the "
            "file and open the copy"
        ) from error
    raise RemoteError(f"{url}: cannot be read: {message}") from error


def is_forked() -> bool:
    """Return whether this is a forked process whose parent may have sent requests."""
    return bool(_fork_marks)


class ForkedObject:
    """A cloud object that a child process fetches, because obstore fails after a fork."""

    def __init__(self, location: ParseResult, options: Mapping[str, str]) -> None:
        pair: Any = Pipe()  # its type depends on the operating system
        ours, theirs = pair
        self._connection: Connection = ours
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - runs a module of seqloom
                [sys.executable, "-c", _CHILD_PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C does not reach the child process
            )
        self._lock, self._numbers = threading.Lock(), count()
        self._pending: dict[int, Future[FetchedRange]] = {}
        weakref.finalize(self, _stop_child_process, process)
        receive = ours, self._pending
        threading.Thread(target=_receive_replies, args=receive, daemon=True).start()
        ours.send((location, dict(options)))

    def request(self, start: int, stop: int | None) -> CloudRequest:
        """Request the bytes from start to stop, or the whole object if stop is None."""
        future: Future[FetchedRange] = Future()
        with self._lock:
            number = next(self._numbers)
            self._pending[number] = future
            try:
                self._connection.send((number, start, stop))
            except OSError as error:
                raise _make_child_ended_error() from error
        return future


def serve_requests(handle: int) -> None:
    """Answer the requests of the parent process until that process ends."""
    connection, lock = Connection(handle), threading.Lock()

    def send(number: int, answer: Reply) -> None:
        with lock, suppress(OSError):
            connection.send((number, answer))

    location, options = connection.recv()
    source: CloudObject | None = None
    while True:
        try:
            number, start, stop = connection.recv()
        except (EOFError, OSError):  # the parent process has closed the pipe
            return
        try:
            source = source or CloudObject(location, options)
            pending = source.request(start, stop)
        except Exception as error:  # noqa: BLE001 - the other process raises it
            send(number, error)
        else:
            pending.add_done_callback(lambda done, n=number: send(n, _read_reply(done)))


def _read_reply(done: Future[FetchedRange]) -> Reply:
    """Convert the result of a request to an answer that can be pickled."""
    error = done.exception()
    if error is not None:
        return error
    fetched = done.result()
    return fetched.identity, bytes(fetched.data)


def _receive_replies(
    connection: Connection, pending: dict[int, Future[FetchedRange]]
) -> None:
    """Pass each answer of the child process to the future that waits for the answer."""
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
                future.set_result(FetchedRange(identity, memoryview(data)))
    except (EOFError, OSError):
        for future in list(pending.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(_make_child_ended_error())


def _stop_child_process(process: subprocess.Popen[bytes]) -> None:
    """Stop the child process that fetches the object."""
    process.kill()
    process.wait()


def _make_child_ended_error() -> RemoteError:
    """Return the error for a child process that has ended unexpectedly."""
    return RemoteError(
        "the child process that fetches the file has ended; open the file again"
    )


def _record_fork() -> None:
    """Record that this process was forked and has none of its parent's threads."""
    if "obstore" in sys.modules:
        _fork_marks[:] = [os.getpid()]


run_after_fork(_record_fork)
