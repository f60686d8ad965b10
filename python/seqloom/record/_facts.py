"""Facts: what a file of ours says beside its arrays, as JSON with a checksum."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.errors import RecordError
from seqloom.record._checksum import ALGORITHM

if TYPE_CHECKING:
    from collections.abc import Mapping

# The version of all formats of this package; each later version reads all earlier ones.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Facts:
    """The checksums, metadata and least precisions of a record."""

    sums: Mapping[str, str]
    metadata: dict[str, Any]
    least: dict[str, str] = field(default_factory=dict[str, str])
    is_old: bool = False  # checksums are CRC-32

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as JSON's values."""
        return {
            "format": VERSION,
            "checksum": ALGORITHM,
            "sums": dict(self.sums),
            "least_dtypes": self.least,
            "metadata": self.metadata,
        }


def seal(facts: Facts) -> str:
    """Returns facts as a checksum and JSON; equal lengths of sums give equal lengths."""
    text = json.dumps(facts.to_dict(), default=_to_json)
    return f"{zlib.crc32(text.encode()):08x} {text}"


def unseal(name: str, sealed: str) -> Facts:
    """Parses what `seal` wrote."""
    checksum, _, text = sealed.partition(" ")
    if checksum != f"{zlib.crc32(text.encode(errors='surrogatepass')):08x}":
        raise RecordError(f"{name}: its metadata is damaged (the checksum differs)")
    parsed = parse_json(name, text)
    parts = cast("dict[str, Any]", parsed if isinstance(parsed, dict) else {})
    _require_version(name, parts.get("format", 0))
    return _old_facts(name, parts) if "format" not in parts else _facts(name, parts)


def _facts(name: str, parts: dict[str, Any]) -> Facts:
    """Returns the facts of this format version."""
    if parts.get("checksum") != ALGORITHM:
        raise RecordError(
            f"{name}: has checksums of the kind {parts.get('checksum')!r}, expected "
            f"{ALGORITHM!r}"
        )
    names = ("sums", "least_dtypes", "metadata")
    sums, least, metadata = (_require_dict(name, parts.get(key)) for key in names)
    _require_all(name, [*sums.values(), *least.values()], str)
    return Facts(sums, metadata, least)


def _old_facts(name: str, parts: dict[str, Any]) -> Facts:
    """Returns the facts of a file from before there was a format version."""
    sums, metadata = (_require_dict(name, parts.get(key)) for key in ("crc32", "metadata"))
    _require_all(name, list(sums.values()), int)
    hexadecimal = {path: f"{value:08x}" for path, value in sums.items()}
    return Facts(hexadecimal, metadata, is_old=True)


def _require_version(name: str, version: object) -> None:
    """Refuses a file of a later version."""
    if type(version) is not int or not 0 <= version <= VERSION:
        raise RecordError(
            f"{name}: has the format version {version}; this seqloom reads versions up to "
            f"{VERSION}; install a newer one"
        )


def _require_dict(name: str, value: object) -> dict[str, Any]:
    """Refuses facts that are no dict."""
    if not isinstance(value, dict):
        raise RecordError(f"{name}: its facts must have metadata and checksums")
    return cast("dict[str, Any]", value)


def _require_all(name: str, values: list[Any], kind: type) -> None:
    """Refuses values of another type."""
    if any(type(value) is not kind for value in values):
        raise RecordError(f"{name}: its facts must have metadata and checksums")


def parse_json(name: str, text: str | bytes) -> Any:
    """Parses JSON; refuses a name that appears twice, and too deep nesting."""
    try:
        return json.loads(text, object_pairs_hook=_require_unique)
    except RecursionError:
        raise RecordError(f"{name}: its metadata is nested too deeply") from None
    except ValueError as error:
        raise RecordError(f"{name}: its header is not valid ({error})") from None


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns pairs as a dict; refuses a name that appears twice."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"the name {quote(twice)} appears twice")
    return entries


def _to_json(value: Any) -> Any:
    """Converts a number of NumPy; JSON can hold no other objects."""
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    raise RecordError(
        f"a record's metadata can hold strings, numbers, lists and dicts, not a "
        f"{type(value).__name__}: {value!r}"
    )
