"""Records as safetensors files, with metadata as JSON and checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    BinaryIO,
    ClassVar,
    NamedTuple,
    TypeVar,
)

import msgspec

from seqloom._arguments import is_dict, quote
from seqloom.errors import RecordError
from seqloom.record._array import LazyArray, find_type, require_shape
from seqloom.record._facts import PLACE, Facts, checksum, crc32, parse_json, seal, unseal
from seqloom.record._record import Record, Recorder
from seqloom.record._source import RecordSource, hash_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.record._array import PreparedArray
    from seqloom.record._precision import PrecisionPolicy

Kind = TypeVar("Kind")
Size = Annotated[int, msgspec.Meta(ge=0)]

LENGTH_BYTES = 8  # the length of the header is an integer of this size
_LONGEST = 100_000_000  # bytes of a header, as the format limits them
# The facts are one entry of the header's string table, because the order of two entries
# would be random in other writers: a mark, the checksum, and the facts as JSON.
_FACTS, _MARK = "seqloom", "seqloom facts "
_PLAIN = {"format": "pt"}
# The arrays begin at a multiple of these bytes, the size of a cache line.
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Safetensors(Recorder):
    """Writes and reads records as safetensors files.

    Any safetensors reader reads the arrays. The format version, the record's metadata and
    the checksums of the arrays are JSON in the entry ``seqloom`` of the header's metadata.

    Args:
        precision: Float type of the arrays in the file: a precision, precisions by pattern
            of the path, or a function of path and dtype; default: that of each array.
        plain: Whether to leave out checksums and metadata, and to write what PyTorch's
            programs write: transformers before version 5 refuses any other file.

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
        """Write the header, the arrays one after the other, and the header again.

        Args:
            record: Record of prepared arrays.
            file: Binary file in which one can seek.

        Examples:
            >>> import io, seqloom as sl
            >>> file = io.BytesIO()
            >>> sl.record.Safetensors().encode(sl.record.Record({}), file)
            >>> file.tell() % 64
            0
        """
        sums = dict.fromkeys(record, PLACE)
        begin = file.tell()
        file.write(_header(record, sums, plain=self.plain))
        for path in _in_order(record):
            sums[path] = _write_array(file, record[path])
        end = file.tell()
        file.seek(begin)
        # The header with the checksums is as long as the one without them.
        file.write(_header(record, sums, plain=self.plain))
        file.seek(end)

    def decode(self, source: RecordSource) -> Record:
        """Read the header; each array is read and checked when it is used.

        Args:
            source: Bytes of a safetensors file, also of another program.

        Returns:
            A record of lazy arrays; no metadata in another program's file.

        Raises:
            RecordError: The bytes are not a safetensors file (with a header of at most
                100 MB), they are cut, a name appears twice, or the metadata are damaged.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> data = sl.record.Safetensors().to_bytes(
            ...     sl.record.Record({}, metadata={"n": 1})
            ... )
            >>> sl.record.Safetensors().from_bytes(data).metadata
            {'n': 1}
        """
        arrays, strings = _read_header(source)
        entry = strings.get(_FACTS, "")
        if not entry and not any(text.startswith(_MARK) for text in strings.values()):
            # A file of another program has no facts.
            return Record({path: arrays[path].to_lazy() for path in sorted(arrays)})
        facts = unseal(source.name, entry.removeprefix(_MARK))
        if facts.sums.keys() != arrays.keys():
            raise RecordError(f"{source.name}: the names of its arrays are damaged")
        checked = {
            path: arrays[path]._replace(expected=expected, is_old=facts.is_old).to_lazy()
            for path, expected in facts.sums.items()
        }
        return Record(checked, metadata=facts.metadata, least_dtypes=facts.least)


def _write_array(file: BinaryIO, array: PreparedArray) -> str:
    """Write an array piece by piece, and return its checksum."""
    # As a function: when it returns, no piece of one array is left while the next is made.
    hashes: list[bytes] = []
    for piece in array.pieces():
        hashes.append(hash_bytes(piece))
        file.write(piece.data)
    return checksum(array.kind, array.shape, b"".join(hashes))


def _in_order(record: Record) -> list[str]:
    """Return the paths, those of the widest types first, so that all are aligned."""
    return sorted(record, key=lambda path: -record[path].dtype.itemsize)


def _header(record: Record, sums: Mapping[str, str], *, plain: bool) -> bytes:
    """Return the length and the header, with spaces up to the alignment."""
    facts = Facts(sums, record.metadata, record.least_dtypes)
    strings = _PLAIN if plain else {_FACTS: _MARK + seal(facts)}
    table: dict[str, object] = {"__metadata__": strings}
    start = 0
    for path in _in_order(record):
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
    """The entry of one array in a header."""

    dtype: str
    shape: tuple[Size, ...]
    data_offsets: tuple[Size, Size]


class StoredArray(NamedTuple):
    """An array in a safetensors file: its type, its place and its checksum."""

    source: RecordSource
    path: str
    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int
    expected: str | None = None  # None: the file has no checksums
    is_old: bool = False  # the checksum is a CRC-32

    def to_lazy(self) -> LazyArray:
        """Return a lazy array that is read from the file."""
        read, check = self.read, None
        if self.source.is_mapped:
            # A check when the array is read would not find later changes of the file.
            read, check = self.view, self.read
        return LazyArray(self.source.name, self.path, self.shape, self.dtype, read, check)

    def view(self) -> NDArray[Any]:
        """Return a view of the mapped file, unchecked."""
        data = self.source.view(self.start, self.stop)
        return data.view(self.dtype).reshape(self.shape)

    def read(self) -> NDArray[Any]:
        """Read the array, and check it."""
        data, hashes = self.source.take(self.start, self.stop)
        array = data.view(self.dtype).reshape(self.shape)
        if self.expected is not None:
            sum_ = crc32(array) if self.is_old else checksum(self.kind, self.shape, hashes)
            if sum_ != self.expected:
                raise RecordError(
                    f"{self.source.name}: {self.path} is damaged (its checksum differs)"
                )
        return array


def _read_header(source: RecordSource) -> tuple[dict[str, StoredArray], dict[str, str]]:
    """Return the arrays and the table of strings, both by name."""
    length = int.from_bytes(source.read(0, min(LENGTH_BYTES, source.size)), "little")
    begin = LENGTH_BYTES + length
    if begin > source.size or length > _LONGEST:
        raise _not_whole(source, "its header does not end")
    table: Any = parse_json(source.name, _decode(source, source.read(LENGTH_BYTES, begin)))
    if not is_dict(table):
        raise _not_whole(source, "its header is no table")
    metadata = table.pop("__metadata__", None)
    strings = _convert(
        source, "its metadata", {} if metadata is None else metadata, kind=dict[str, str]
    )
    arrays = {name: _entry(source, name, table[name], begin=begin) for name in table}
    try:
        "".join([*arrays, *strings, *strings.values()]).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write
        raise _not_whole(source, "a name or its metadata is not valid Unicode") from None
    _require_no_gaps(source, list(arrays.values()), begin=begin)
    return arrays, strings


def _decode(source: RecordSource, header: bytes) -> str:
    """Return the text of a header; refuses a byte order mark."""
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise _not_whole(source, "its header is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise _not_whole(source, "its header begins with a byte order mark")
    return text


def _entry(source: RecordSource, name: str, entry: Any, *, begin: int) -> StoredArray:
    """Return the array of an entry; refuses impossible types, shapes and sizes."""
    fields = _convert(source, f"the entry of {quote(name)}", entry, kind=HeaderEntry)
    dtype = find_type(source.name, name, fields.dtype)
    require_shape(source.name, name, fields.shape, dtype=dtype)
    start, stop = fields.data_offsets
    if stop - start != prod(fields.shape) * dtype.itemsize:
        raise _not_whole(source, f"the entry of {quote(name)} has a wrong number of bytes")
    start, stop = begin + start, begin + stop
    return StoredArray(source, name, fields.dtype, dtype, fields.shape, start, stop)


def _convert(source: RecordSource, what: str, value: Any, *, kind: type[Kind]) -> Kind:
    """Return a parsed value as a type; refuses another one."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _not_whole(source, f"{what} is not valid: {error}") from None


def _require_no_gaps(
    source: RecordSource, arrays: list[StoredArray], *, begin: int
) -> None:
    """Refuse arrays that overlap or leave bytes between them or at the end."""
    end = begin
    for array in sorted(arrays, key=lambda array: (array.start, array.stop)):
        if array.start != end:
            raise _not_whole(source, "its arrays overlap or leave a gap")
        end = array.stop
    if end != source.size:
        found, expected = end - begin, source.size - begin
        raise _not_whole(source, f"its arrays have {found} bytes, but {expected} follow")


def _not_whole(source: RecordSource, why: str) -> RecordError:
    """Return the error for a file that is not a whole safetensors file."""
    return RecordError(f"{source.name}: not a whole safetensors file ({why})")
