"""Reads the header of a safetensors file, and checks where its arrays are."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast

import msgspec

from seqloom._arguments import quote
from seqloom.errors import RecordError
from seqloom.record._facts import parse_json
from seqloom.record._types import find_type, require_shape

if TYPE_CHECKING:
    import numpy as np

    from seqloom.record._source import RecordSource

Kind = TypeVar("Kind")
Size = Annotated[int, msgspec.Meta(ge=0)]

LENGTH_BYTES = 8  # the length of the header is an integer of this size
_LONGEST = 100_000_000  # that of the format


class HeaderEntry(msgspec.Struct):
    """What the header says of one array."""

    dtype: str
    shape: tuple[Size, ...]
    data_offsets: tuple[Size, Size]


class ArrayEntry(NamedTuple):
    """The dtype, shape and bytes of one array in a file."""

    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(source: RecordSource) -> tuple[dict[str, ArrayEntry], dict[str, str]]:
    """Returns the entries of arrays and the table of strings, both by name."""
    length = int.from_bytes(source.read(0, min(LENGTH_BYTES, source.size)), "little")
    begin = LENGTH_BYTES + length
    if begin > source.size or length > _LONGEST:
        raise _not_whole(source, "its header does not end")
    header: Any = parse_json(source.name, _decode(source, source.read(LENGTH_BYTES, begin)))
    if not isinstance(header, dict):
        raise _not_whole(source, "its header is no table")
    table = cast("dict[str, Any]", header)
    strings = _strings(source, table.pop("__metadata__", None))
    entries = {name: _entry(source, name, entry) for name, entry in table.items()}
    _require_unicode(source, [*entries, *strings, *strings.values()])
    _require_no_gaps(source, list(entries.values()), source.size - begin)
    moved = {
        name: entry._replace(start=begin + entry.start, stop=begin + entry.stop)
        for name, entry in entries.items()
    }
    return moved, strings


def _decode(source: RecordSource, header: bytes) -> str:
    """Returns the text of a header, which is UTF-8 and begins with a brace or blanks."""
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise _not_whole(source, "its header is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise _not_whole(source, "its header begins with a byte order mark")
    return text


def _strings(source: RecordSource, table: Any) -> dict[str, str]:
    """Returns the table of strings."""
    return _convert(
        source, "its metadata", {} if table is None else table, kind=dict[str, str]
    )


def _require_unicode(source: RecordSource, texts: list[str]) -> None:
    """Refuses half of a surrogate pair, which JSON can write and no text contains."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise _not_whole(source, "a name or its metadata is not valid Unicode") from None


def _entry(source: RecordSource, name: str, entry: Any) -> ArrayEntry:
    """Returns an entry; refuses one that says something impossible."""
    fields = _convert(source, f"the entry of {quote(name)}", entry, kind=HeaderEntry)
    dtype = find_type(source.name, name, fields.dtype)
    require_shape(source.name, name, fields.shape, dtype=dtype)
    start, stop = fields.data_offsets
    if stop - start != prod(fields.shape) * dtype.itemsize:
        raise _not_whole(source, f"the entry of {quote(name)} has a wrong number of bytes")
    return ArrayEntry(fields.dtype, dtype, fields.shape, start, stop)


def _convert(source: RecordSource, what: str, value: Any, *, kind: type[Kind]) -> Kind:
    """Returns a parsed value as a type; refuses another one."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise _not_whole(source, f"{what} is not valid: {error}") from None


def _require_no_gaps(source: RecordSource, entries: list[ArrayEntry], size: int) -> None:
    """Refuses arrays that overlap or leave bytes between them or at the end."""
    end = 0
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.stop)):
        if entry.start != end:
            raise _not_whole(source, "its arrays overlap or leave a gap")
        end = entry.stop
    if end != size:
        raise _not_whole(source, f"its arrays have {end} bytes, but {size} follow")


def _not_whole(source: RecordSource, why: str) -> RecordError:
    """Returns the error for a file that cannot be trusted."""
    return RecordError(f"{source.name}: not a whole safetensors file ({why})")
