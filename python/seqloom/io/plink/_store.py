"""Which store of objects a URL means, and how it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, MissingExtraError, SeqloomError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import ParseResult

    from obstore.store import ClientConfig, ObjectStore, RetryConfig

_SCHEMES = "http, https, s3, gs, az, azure, abfs or file"
_KNOWN = {"http", "https", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"}
# What a connection is like, whatever store is at its end; the rest is the store's matter.
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
    """Makes the store in which a URL names the object whose path is empty."""
    url = location.geturl()
    if location.scheme not in _KNOWN:
        raise ArgumentError(
            f"{url}: Unable to recognise URL: expected {_SCHEMES}, "
            f"found {location.scheme!r}; give a path for a file of this machine"
        )
    names = {name: _place_of(name) for name in _texts(options)}
    parts: dict[str, dict[str, Any]] = {"client": {}, "store": {}, "retry": {}}
    for name, (kind, key) in names.items():
        parts[kind][key] = options[name]
    if location.scheme == "http":
        parts["client"].setdefault("allow_http", "true")
    return _make(location, parts)


def first_line(error: BaseException) -> str:
    """Gives what an error of the library says, without what only its authors need."""
    return str(error).partition("\n")[0].partition(": <")[0].strip()


def _texts(options: Mapping[str, str]) -> Mapping[str, str]:
    """Refuses options that are no texts, of which some hold what nobody may see."""
    for name, value in options.items():
        if not isinstance(cast("object", value), str):
            raise ArgumentError(
                f"cloud_options[{name!r}] must be a text, got {type(value).__name__}"
            )
    return options


def _place_of(name: str) -> tuple[str, str]:
    """Says what an option is about, and how the library calls it."""
    plain = name.lower()
    for prefix in _PREFIXES:
        if plain.removeprefix(prefix) in _CLIENT:
            return "client", plain.removeprefix(prefix)
    return ("retry" if plain == _RETRIES else "store"), plain


def _make(location: ParseResult, parts: Mapping[str, dict[str, Any]]) -> ObjectStore:
    """Lets the library make the store; a URL of the web is a store of its own."""
    retry = {name: _number(name, value) for name, value in parts["retry"].items()}
    library = _library()
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
        raise _refused(location, parts["store"], error) from error


def _library() -> Any:
    """Gives the library that knows the stores, or says how to get it."""
    try:
        from obstore import store
    except ImportError as error:
        raise MissingExtraError(
            "a location in the cloud needs obstore: pip install 'seqloom[cloud]'; "
            "a path or a file:// URL does not"
        ) from error
    return store


def _number(name: str, value: str) -> int:
    """Reads an option that counts something."""
    if not (value.isascii() and value.isdigit()):
        raise ArgumentError(f"cloud_options[{name!r}] must be a number, got {value!r}")
    return int(value)


def _refused(
    location: ParseResult, store: Mapping[str, str], error: Exception
) -> ArgumentError:
    """Says which option is wrong; a store of the web has none of its own."""
    url, said = location._replace(query="").geturl(), first_line(error)
    if "does not accept any configuration" in said:
        said = f"unknown: {', '.join(map(repr, store))}"
    return ArgumentError(
        f"{url}: cloud_options: {said}; expected options of the connection "
        f"({', '.join(sorted(_CLIENT))}), {_RETRIES}, or of the store, such as "
        "'aws_region' for s3://"
    )
