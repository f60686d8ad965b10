"""Records as safetensors files, with JSON metadata and checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, NamedTuple, TypeVar

import msgspec

from seqloom._arguments import is_dict, quote
from seqloom.errors import RecordError
from seqloom.record._array import LazyArray, parse_dtype, require_shape
from seqloom.record._facts import (
    CHECKSUM_PLACEHOLDER,
    RecordFacts,
    array_crc32,
    checksum,
    decode_facts,
    encode_facts,
    parse_json,
)
from seqloom.record._record import Record, Recorder
from seqloom.record._source import RecordSource, hash_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.record._array import PreparedArray
    from seqloom.record._precision import PrecisionPolicy

Kind = TypeVar("Kind")
NonNegative = Annotated[int, msgspec.Meta(ge=0)]

LENGTH_BYTES = 8  # Size in bytes of the integer that contains the header's length.
_MAX_HEADER_BYTES = 100_000_000  # Limit of the safetensors format.
# The facts are a single metadata string, because other programs may reorder metadata.
# The string contains a prefix, the checksum, and the facts as JSON.
_FACTS_KEY, _FACTS_PREFIX = "seqloom", "seqloom facts "
_PLAIN_METADATA = {"format": "pt"}
# Arrays begin at a multiple of this number of bytes, the size of a cache line.
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Safetensors(Recorder):
    """Recorder for safetensors files.

    Any safetensors reader can read the arrays. The format version, the record's metadata
    and the checksums of the arrays are stored as JSON in the entry ``seqloom`` of the
    header's metadata.

    Args:
        precision: Float type of the arrays in the file: a precision, a dict of
            precisions by path pattern, or a function of path and dtype. By default,
            dtypes are not converted.
        plain: If True, omit checksums and metadata, and write the header like PyTorch
            programs. The package transformers requires such files before version 5.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> record = sl.record.Record({"bias": np.ones(2)})
        >>> data = sl.record.Safetensors(precision=sl.record.Half()).to_bytes(record)
        >>> sl.record.Safetensors().from_bytes(data)["bias"].dtype
        dtype('float16')
    """

    precision: PrecisionPolicy | None = None
    plain: bool = False
    suffixes: ClassVar[tuple[str, ...]] = (".safetensors",)

    def encode(self, record: Record, file: BinaryIO) -> None:
        """Write the header, all arrays, and then the header again with the checksums.

        Args:
            record: Record of prepared arrays.
            file: Seekable binary file.

        Examples:
            >>> import io, seqloom as sl
            >>> file = io.BytesIO()
            >>> sl.record.Safetensors().encode(sl.record.Record({}), file)
            >>> file.tell() % 64
            0
        """
        sums = dict.fromkeys(record, CHECKSUM_PLACEHOLDER)
        begin = file.tell()
        file.write(_build_header(record, sums, plain=self.plain))
        for path in _sort_paths(record):
            sums[path] = _write_array(file, record[path])
        end = file.tell()
        file.seek(begin)
        # The header with the checksums has the same length as the header without
        # checksums.
        file.write(_build_header(record, sums, plain=self.plain))
        file.seek(end)

    def decode(self, source: RecordSource) -> Record:
        """Read the header; each array is read and checked on first use.

        Args:
            source: Bytes of a safetensors file, which another program may have written.

        Returns:
            A record of lazy arrays; without metadata if another program wrote the file.

        Raises:
            RecordError: The bytes are not a safetensors file (with a header of at most
                100 MB), are truncated, contain a name twice, or have damaged metadata.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> data = sl.record.Safetensors().to_bytes(
            ...     sl.record.Record({}, metadata={"n": 1})
            ... )
            >>> sl.record.Safetensors().from_bytes(data).metadata
            {'n': 1}
        """
        arrays, strings = _read_header(source)
        entry = strings.get(_FACTS_KEY, "")
        if not entry and not any(
            text.startswith(_FACTS_PREFIX) for text in strings.values()
        ):
            # Another program wrote the file.
            return Record({path: arrays[path].to_lazy() for path in sorted(arrays)})
        facts = decode_facts(source.name, entry.removeprefix(_FACTS_PREFIX))
        if facts.sums.keys() != arrays.keys():
            raise RecordError(f"{source.name}: the names of its arrays are damaged")
        checked = {
            path: arrays[path]._replace(expected=expected, is_old=facts.is_old).to_lazy()
            for path, expected in facts.sums.items()
        }
        return Record(checked, metadata=facts.metadata, least_dtypes=facts.least)


def _write_array(file: BinaryIO, array: PreparedArray) -> str:
    """Write an array in blocks; return the checksum of the array."""
    # This is a separate function so that its last block is freed before the next array
    # is read.
    hashes: list[bytes] = []
    for piece in array.blocks():
        hashes.append(hash_bytes(piece))
        file.write(piece.data)
    return checksum(array.kind, array.shape, b"".join(hashes))


def _sort_paths(record: Record) -> list[str]:
    """Return the paths by decreasing size of the dtype, so that all arrays are aligned."""
    return sorted(record, key=lambda path: -record[path].dtype.itemsize)


def _build_header(record: Record, sums: Mapping[str, str], *, plain: bool) -> bytes:
    """Return the header's length and the header, padded with spaces for alignment."""
    facts = RecordFacts(sums, record.metadata, record.least_dtypes)
    strings = (
        _PLAIN_METADATA if plain else {_FACTS_KEY: _FACTS_PREFIX + encode_facts(facts)}
    )
    table: dict[str, object] = {"__metadata__": strings}
    start = 0
    for path in _sort_paths(record):
        array = record[path]
        stop = start + array.nbytes
        table[path] = {
            "dtype": array.kind,
            "shape": list(array.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-(LENGTH_BYTES + len(text)) % _ALIGNMENT)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


class HeaderEntry(msgspec.Struct):
    """Header entry of an array: its dtype, shape and offsets."""

    dtype: str
    shape: tuple[NonNegative, ...]
    data_offsets: tuple[NonNegative, NonNegative]


class StoredArray(NamedTuple):
    """Array in a safetensors file: its dtype, offsets and checksum."""

    source: RecordSource
    path: str
    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int
    expected: str | None = None  # None if the file has no checksums
    is_old: bool = False  # True if the checksum is a CRC-32

    def to_lazy(self) -> LazyArray:
        """Return a lazy array that is read from the file."""
        read, check = self.read, None
        if self.source.is_mapped:
            # Views are not checked on access, because the file could change afterwards.
            read, check = self.view, self.read
        return LazyArray(self.source.name, self.path, self.shape, self.dtype, read, check)

    def view(self) -> NDArray[Any]:
        """Return an unchecked view of the mapped file."""
        data = self.source.view(self.start, self.stop)
        return data.view(self.dtype).reshape(self.shape)

    def read(self) -> NDArray[Any]:
        """Read the array; raise if its checksum differs."""
        data, hashes = self.source.take(self.start, self.stop)
        array = data.view(self.dtype).reshape(self.shape)
        if self.expected is not None:
            sum_ = (
                array_crc32(array)
                if self.is_old
                else checksum(self.kind, self.shape, hashes)
            )
            if sum_ != self.expected:
                raise RecordError(
                    f"{self.source.name}: {self.path} is damaged (its checksum differs)"
                )
        return array


def _read_header(source: RecordSource) -> tuple[dict[str, StoredArray], dict[str, str]]:
    """Return the header's array entries and metadata strings, both by name."""
    length = int.from_bytes(source.read(0, min(LENGTH_BYTES, source.size)), "little")
    begin = LENGTH_BYTES + length
    if begin > source.size or length > _MAX_HEADER_BYTES:
        raise _file_error(source, "its header is truncated")
    table: Any = parse_json(
        source.name, _decode_header(source, source.read(LENGTH_BYTES, begin))
    )
    if not is_dict(table):
        raise _file_error(source, "its header is not a JSON object")
    metadata = table.pop("__metadata__", None)
    strings = _convert_json(
        source, "its metadata", {} if metadata is None else metadata, kind=dict[str, str]
    )
    arrays = {name: _parse_entry(source, name, table[name], begin=begin) for name in table}
    try:
        "".join([*arrays, *strings, *strings.values()]).encode()
    except UnicodeEncodeError:  # JSON, unlike Unicode, allows half of a surrogate pair
        raise _file_error(source, "a name or its metadata is not valid Unicode") from None
    _require_no_gaps(source, list(arrays.values()), begin=begin)
    return arrays, strings


def _decode_header(source: RecordSource, header: bytes) -> str:
    """Decode a header as text; raise if it begins with a byte order mark."""
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise _file_error(source, "its header is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise _file_error(source, "its header begins with a byte order mark")
    return text


def _parse_entry(source: RecordSource, name: str, entry: Any, *, begin: int) -> StoredArray:
    """Check a header entry's dtype, shape and size, and return its array."""
    fields = _convert_json(source, f"the entry of {quote(name)}", entry, kind=HeaderEntry)
    dtype = parse_dtype(source.name, name, fields.dtype)
    require_shape(source.name, name, fields.shape, dtype=dtype)
    start, stop = fields.data_offsets
    if stop - start != prod(fields.shape) * dtype.itemsize:
        raise _file_error(source, f"the entry of {quote(name)} has a wrong number of bytes")
    start, stop = begin + start, begin + stop
    return StoredArray(source, name, fields.dtype, dtype, fields.shape, start, stop)


def _convert_json(source: RecordSource, what: str, value: Any, *, kind: type[Kind]) -> Kind:
    """Convert parsed JSON to a type; raise if the types do not match."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _file_error(source, f"{what} is not valid: {error}") from None


def _require_no_gaps(
    source: RecordSource, arrays: list[StoredArray], *, begin: int
) -> None:
    """Raise if arrays overlap, or if bytes between or after the arrays are unused."""
    end = begin
    for array in sorted(arrays, key=lambda array: (array.start, array.stop)):
        if array.start != end:
            raise _file_error(source, "its arrays overlap or leave a gap")
        end = array.stop
    if end != source.size:
        found, expected = end - begin, source.size - begin
        raise _file_error(source, f"the arrays need {found} bytes, the file has {expected}")


def _file_error(source: RecordSource, why: str) -> RecordError:
    """Return the error for an invalid or truncated safetensors file."""
    return RecordError(f"{source.name}: not a complete safetensors file ({why})")
