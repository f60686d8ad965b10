"""Facts: the metadata and checksums of a seqloom file, stored as JSON with a checksum."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import is_dict, quote
from seqloom.errors import RecordError
from seqloom.record._source import hash_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


# Version of all file formats of this package. Files of earlier versions can be read.
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """Checksums, metadata and narrowest allowed dtypes of a record."""

    sums: Mapping[str, str]
    metadata: dict[str, Any]
    least: dict[str, str] = field(default_factory=dict[str, str])
    is_old: bool = False  # True if the checksums are CRC-32

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return {
            "format": FORMAT_VERSION,
            "checksum": CHECKSUM_ALGORITHM,
            "sums": dict(self.sums),
            "least_dtypes": self.least,
            "metadata": self.metadata,
        }


def encode_facts(facts: RecordFacts) -> str:
    """Encode facts as a checksum and JSON; the length does not depend on array values."""
    text = json.dumps(facts.to_dict(), default=_scalar_to_json)
    return f"{zlib.crc32(text.encode()):08x} {text}"


def decode_facts(name: str, sealed: str) -> RecordFacts:
    """Decode the result of `encode_facts`; raise if it is damaged."""
    checksum, _, text = sealed.partition(" ")
    if checksum != f"{zlib.crc32(text.encode(errors='surrogatepass')):08x}":
        raise RecordError(f"{name}: its metadata is damaged (the checksum differs)")
    parsed = parse_json(name, text)
    parts = parsed if is_dict(parsed) else {}
    version = parts.get("format", 0)
    if type(version) is not int or not 0 <= version <= FORMAT_VERSION:
        raise RecordError(
            f"{name}: has the format version {version}; this seqloom reads versions up to "
            f"{FORMAT_VERSION}; install a newer one"
        )
    if "format" not in parts:  # the file was written before format version 1
        sums = _require_dict(name, parts, "crc32", kind=int)
        hexadecimal = {path: f"{value:08x}" for path, value in sums.items()}
        return RecordFacts(hexadecimal, _require_dict(name, parts, "metadata"), is_old=True)
    if parts.get("checksum") != CHECKSUM_ALGORITHM:
        raise RecordError(
            f"{name}: has checksums of the kind {parts.get('checksum')!r}, expected "
            f"{CHECKSUM_ALGORITHM!r}"
        )
    sums = _require_dict(name, parts, "sums", kind=str)
    least = _require_dict(name, parts, "least_dtypes", kind=str)
    return RecordFacts(sums, _require_dict(name, parts, "metadata"), least)


def _require_dict(
    name: str, parts: dict[str, Any], key: str, *, kind: type | None = None
) -> dict[str, Any]:
    """Return a dict from the facts; raise if a value is not of the type `kind`."""
    value = parts.get(key)
    table = value if is_dict(value) else {}
    is_odd = kind is not None and any(type(each) is not kind for each in table.values())
    if not isinstance(value, dict) or is_odd:
        raise RecordError(f"{name}: its metadata or checksums are missing or invalid")
    return table


def parse_json(name: str, text: str | bytes) -> Any:
    """Parse JSON; raise on duplicate names and deep nesting."""
    try:
        return json.loads(text, object_pairs_hook=_require_unique)
    except RecursionError:
        raise RecordError(f"{name}: its metadata is nested too deeply") from None
    except ValueError as error:
        raise RecordError(f"{name}: its header is not valid ({error})") from None


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dict; raise on duplicate names."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"the name {quote(twice)} appears twice")
    return entries


def _scalar_to_json(value: Any) -> Any:
    """Convert a NumPy scalar; JSON supports no other objects."""
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    raise RecordError(
        f"a record's metadata can contain strings, numbers, lists and dicts, not a "
        f"{type(value).__name__}: {value!r}"
    )


# Name of the checksum algorithm in files. Each MiB of an array is hashed with 64-bit
# XXH3. The dtype, the shape and the hashes of all MiB are then hashed again in the same
# way, until one hash is left.
CHECKSUM_ALGORITHM = "xxh3-64-mib"
_HASH_BYTES = 8
CHECKSUM_PLACEHOLDER = "0" * 2 * _HASH_BYTES  # replaced when the checksum is known


def checksum(kind: str, shape: Sequence[int], pieces: bytes) -> str:
    """Return the checksum of an array from its dtype, shape and hashes of each MiB."""
    hashes = _hash_blocks(f"{kind}{list(shape)}".encode() + pieces)
    while len(hashes) > _HASH_BYTES:
        hashes = _hash_blocks(hashes)
    return hashes.hex()


def _hash_blocks(data: bytes) -> bytes:
    """Return the hashes of each MiB of the data."""
    return hash_bytes(np.frombuffer(data, np.uint8))


def array_crc32(array: NDArray[Any]) -> str:
    """Return the checksum that files used before format version 1."""
    # dtypes of ml_dtypes have no type code.
    code = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
    kind = zlib.crc32(f"{code}{array.shape}".encode())
    whole = np.ascontiguousarray(array).reshape(-1)
    return f"{zlib.crc32(whole.view(np.uint8).data, kind):08x}"


def joint_checksum(arrays: Mapping[str, Any]) -> str:
    """Return the checksum of several arrays, such as all weights of a network."""
    lines: list[str] = []
    for path, value in arrays.items():
        array = np.asarray(value)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        lines.append(f"{path} {checksum(array.dtype.name, array.shape, hash_bytes(flat))}")
    return checksum("weights", [len(lines)], _hash_blocks("\n".join(lines).encode()))
