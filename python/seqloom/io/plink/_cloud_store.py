"""The store of objects that a URL names, and the options to reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, MissingExtraError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import ParseResult

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


def open_store(location: ParseResult, options: Mapping[str, str]) -> ObjectStore:
    """Makes the store of a URL; the object has the empty path in it."""
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
    """Returns the first line of a library's error, without its debugging details."""
    return str(error).partition("\n")[0].partition(": <")[0].strip()


def _classify(name: str) -> tuple[str, str]:
    """Returns the part of the library that an option is for, and its name there."""
    plain = name.lower()
    for prefix in _PREFIXES:
        if plain.removeprefix(prefix) in _CLIENT:
            return "client", plain.removeprefix(prefix)
    return ("retry" if plain == _RETRIES else "store"), plain


def _make(location: ParseResult, parts: Mapping[str, dict[str, Any]]) -> ObjectStore:
    """Makes the store by the library; a URL of the web is a store of its own."""
    retry = {name: _parse_number(name, value) for name, value in parts["retry"].items()}
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
        raise _make_error(location, parts["store"], error) from error


def _import_library() -> Any:
    """Imports the library of stores; the error says how to install it."""
    try:
        from obstore import store
    except ImportError as error:
        raise MissingExtraError(
            "a URL of the cloud needs obstore: pip install obstore; or download "
            "the file and give its path"
        ) from error
    return store


def _parse_number(name: str, value: str) -> int:
    """Converts an option to an integer."""
    if not (value.isascii() and value.isdigit()):
        raise ArgumentError(f"cloud_options[{name!r}] must be an integer, got {value!r}")
    return int(value)


def _make_error(
    location: ParseResult, store: Mapping[str, str], error: Exception
) -> ArgumentError:
    """Makes the error that names the wrong option."""
    url, said = location._replace(query="").geturl(), first_line(error)
    if "does not accept any configuration" in said:
        said = f"unknown: {', '.join(map(repr, store))}"
    return ArgumentError(
        f"{url}: cloud_options: {said}; expected options of the connection "
        f"({', '.join(sorted(_CLIENT))}), {_RETRIES}, or of the store, such as "
        "'aws_region' for s3://"
    )
