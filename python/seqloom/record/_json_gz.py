"""Records as gzip-compressed JSON, for programs without a safetensors reader."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar

import msgspec
import numpy as np

from seqloom.errors import RecordError
from seqloom.record._array import parse_dtype, require_shape
from seqloom.record._facts import RecordFacts, checksum, decode_facts, encode_facts
from seqloom.record._record import Record, Recorder
from seqloom.record._source import hash_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.record._array import PreparedArray
    from seqloom.record._precision import PrecisionPolicy
    from seqloom.record._source import RecordSource

# One JSON document with a line for each array.
_JSON_START, _JSON_MIDDLE, _JSON_END = b'{"seqloom":"record","arrays":{\n', b"},\n", b"}\n"
_FACTS_KEY = b'"facts":'
_GZIP_LEVEL = 1  # Weights are nearly random, so higher levels hardly save space.
_BASE64_BYTES = 3 << 18  # bytes that are encoded at a time; a multiple of 3 for base64


class JsonArray(msgspec.Struct):
    """JSON object that represents one array."""

    dtype: str
    shape: tuple[Annotated[int, msgspec.Meta(ge=0)], ...]
    data: bytearray


@dataclass(frozen=True, slots=True)
class JsonGz(Recorder):
    """Recorder for gzip-compressed JSON.

    The document has ``arrays``, each with ``dtype``, ``shape`` and ``data``: the
    little-endian bytes of the numbers in base64, so all numbers are restored exactly.
    JSON is the slowest format. Arrays are written one at a time, but all arrays are
    read at once.

    Args:
        precision: Float type of the arrays in the file, as for `Safetensors`.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.json.gz")
        >>> sl.record.load("model.json.gz")["bias"].tolist()
        [1.0, 1.0]
    """

    precision: PrecisionPolicy | None = None
    suffixes: ClassVar[tuple[str, ...]] = (".json.gz",)

    def encode(self, record: Record, file: BinaryIO) -> None:
        """Write the arrays one after the other, then the metadata.

        Args:
            record: Record of prepared arrays.
            file: Binary file.

        Examples:
            >>> import gzip, seqloom as sl
            >>> gzip.decompress(sl.record.JsonGz().to_bytes(sl.record.Record({})))[:19]
            b'{"seqloom":"record"'
        """
        sums: dict[str, str] = {}
        with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
            packed.write(_JSON_START)
            for number, (path, array) in enumerate(record.items()):
                packed.write(b",\n" if number else b"")
                sums[path] = _write_array(packed, path, array)
            packed.write(b"\n" if record else b"")
            facts = encode_facts(RecordFacts(sums, record.metadata, record.least_dtypes))
            packed.write(
                _JSON_MIDDLE + _FACTS_KEY + json.dumps(facts).encode() + b"\n" + _JSON_END
            )

    def decode(self, source: RecordSource) -> Record:
        """Read and check all arrays.

        Args:
            source: Bytes that `encode` wrote.

        Returns:
            A record of NumPy arrays.

        Raises:
            RecordError: The bytes are not a JSON record, or they are damaged or
                truncated.

        Examples:
            >>> import seqloom as sl
            >>> sl.record.JsonGz().from_bytes(b"no record")
            Traceback (most recent call last):
            ...
            seqloom.errors.RecordError: bytes: not a complete gzip file
        """
        try:
            with source.open() as file, gzip.GzipFile(fileobj=file) as packed:
                return _read_document(source.name, packed)
        except (OSError, EOFError, zlib.error) as error:
            raise RecordError(f"{source.name}: not a complete gzip file") from error


def _write_array(file: Any, path: str, array: PreparedArray) -> str:
    """Write an array as one line of JSON; return the checksum of the array."""
    shape = json.dumps(list(array.shape))
    head = f'{json.dumps(path)}:{{"dtype":"{array.kind}","shape":{shape},"data":"'
    file.write(head.encode())
    hashes: list[bytes] = []
    for block in _split_into_blocks(array.blocks(), hashes):
        file.write(b64encode(block))
    file.write(b'"}')
    return checksum(array.kind, array.shape, b"".join(hashes))


def _split_into_blocks(
    pieces: Iterable[NDArray[np.uint8]], hashes: list[bytes]
) -> Iterator[memoryview | bytes]:
    """Yield bytes in blocks for base64, and append the hashes of each MiB to a list."""
    rest = b""
    for piece in pieces:
        hashes.append(hash_bytes(piece))
        start = -len(rest) % 3 if rest else 0
        if rest:
            yield from ([rest + piece[:start].tobytes()])
        whole = start + (piece.size - start) // 3 * 3
        for place in range(start, whole, _BASE64_BYTES):
            yield piece[place : min(place + _BASE64_BYTES, whole)].data
        rest = piece[whole:].tobytes()
    yield rest


def _read_document(name: str, file: Any) -> Record:
    """Read the arrays and facts of a document, line by line."""
    if file.readline(len(_JSON_START)) != _JSON_START:
        raise RecordError(f"{name}: not a record in JSON")
    arrays: dict[str, JsonArray] = {}
    while (line := file.readline()) != _JSON_MIDDLE:
        path, array = _parse_line(name, line)
        if path in arrays:
            raise RecordError(f"{name}: the name {path!r} appears twice")
        arrays[path] = array
    sealed = file.readline()
    if file.read() != _JSON_END or not sealed.startswith(_FACTS_KEY):
        raise RecordError(f"{name}: the end of the JSON record is missing")
    facts = decode_facts(name, _parse_json_as(name, sealed.removeprefix(_FACTS_KEY), str))
    if arrays.keys() != facts.sums.keys():
        raise RecordError(f"{name}: the names of its arrays are damaged")
    values = {
        path: _decode_array(name, path, arrays.pop(path), expected=sum_)
        for path, sum_ in facts.sums.items()
    }
    return Record(values, metadata=facts.metadata, least_dtypes=facts.least)


def _parse_line(name: str, line: bytes) -> tuple[str, JsonArray]:
    """Return the path and the array that a line contains."""
    if not line:
        raise RecordError(f"{name}: the end of the JSON record is missing")
    text = b"{" + line.rstrip(b",\n") + b"}"
    found = _parse_json_as(name, text, dict[str, JsonArray])
    if len(found) != 1:
        raise RecordError(f"{name}: a line must contain one array, found {len(found)}")
    return next(iter(found.items()))


def _parse_json_as(name: str, text: bytes, kind: Any) -> Any:
    """Parse JSON into an object of a type."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{name}: its text is not valid ({error})") from None


def _decode_array(name: str, path: str, entry: JsonArray, *, expected: str) -> NDArray[Any]:
    """Convert a JSON array to a NumPy array; raise if its checksum differs."""
    dtype = parse_dtype(name, path, entry.dtype)
    require_shape(name, path, entry.shape, dtype=dtype)
    data = np.frombuffer(entry.data, np.uint8)
    if checksum(entry.dtype, entry.shape, hash_bytes(data)) != expected:
        raise RecordError(f"{name}: {path} is damaged (its checksum differs)")
    if data.size != prod(entry.shape) * dtype.itemsize:
        raise RecordError(f"{name}: {path} has a wrong number of bytes")
    return data.view(dtype).reshape(entry.shape)
