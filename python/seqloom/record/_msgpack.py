"""Records as MsgPack: a stream of objects that any MsgPack library reads."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, cast

import msgspec

from seqloom.errors import RecordError
from seqloom.record._checksum import PLACE, checksum
from seqloom.record._facts import Facts, seal, unseal
from seqloom.record._lazy_array import LazyArray, Placement
from seqloom.record._record import Record, Recorder
from seqloom.record._source import hash_bytes
from seqloom.record._types import find_type, require_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.record._precision import PrecisionPolicy
    from seqloom.record._prepared import PreparedArray
    from seqloom.record._source import RecordSource

Size = Annotated[int, msgspec.Meta(ge=0)]

# The string "seqloom" and an integer of 32 bits, the length of the header that follows.
MAGIC = msgspec.msgpack.encode("seqloom") + b"\xce"
_LENGTH_BYTES = 4
# Bytes of one binary object: MsgPack allows less than 4 GiB.
_MOST = 1 << 30
_BINARY = b"\xc6"  # a binary object with a length of 32 bits


@dataclass(frozen=True, slots=True)
class MsgPack(Recorder):
    """Writes and reads records as MsgPack.

    The file is a stream of MsgPack objects: ``"seqloom"``, the length of the header, the
    header with names, types and shapes, and the bytes of each array as binary objects of at
    most 1 GiB. Arrays are written and read one by one.

    Args:
        precision: Float type of the arrays in the file, as of `Safetensors`.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> sl.record.Record({"bias": np.ones(2)}).save("model.msgpack")
        >>> np.asarray(sl.record.load("model.msgpack")["bias"]).tolist()
        [1.0, 1.0]
    """

    precision: PrecisionPolicy | None = None
    suffixes: ClassVar[tuple[str, ...]] = (".msgpack",)

    def encode(self, record: Record, file: BinaryIO) -> None:
        """Writes the header, the arrays one after the other, and the header again.

        Args:
            record: Record of prepared arrays.
            file: Binary file in which one can seek.

        Examples:
            >>> import io, seqloom as sl
            >>> file = io.BytesIO()
            >>> sl.record.MsgPack().encode(sl.record.Record({}), file)
            >>> file.getvalue()[1:8]
            b'seqloom'
        """
        sums = dict.fromkeys(record, PLACE)
        begin = file.tell()
        file.write(_header(record, sums))
        for path, array in record.items():
            sums[path] = _write_array(file, array)
        end = file.tell()
        file.seek(begin)
        file.write(_header(record, sums))  # as long as before, now with the checksums
        file.seek(end)

    def decode(self, source: RecordSource) -> Record:
        """Reads the header; each array is read and checked when it is used.

        Args:
            source: Bytes that `encode` wrote.

        Returns:
            A record of lazy arrays.

        Raises:
            RecordError: The bytes are not such a record, or they are damaged or cut.

        Examples:
            >>> import seqloom as sl
            >>> sl.record.MsgPack().from_bytes(b"no record")
            Traceback (most recent call last):
            ...
            seqloom.errors.RecordError: bytes: not a record in MsgPack
        """
        start = len(MAGIC) + _LENGTH_BYTES
        head = source.read(0, min(start, source.size))
        if not head.startswith(MAGIC) or len(head) < start:
            raise RecordError(f"{source.name}: not a record in MsgPack")
        stop = start + int.from_bytes(head[len(MAGIC) :], "big")
        header = _parse(source, source.read(start, stop))
        facts = unseal(source.name, header["facts"])
        arrays: dict[str, LazyArray] = {}
        for path, kind, shape in _list_arrays(source, header["arrays"]):
            array, stop = _lazy(source, facts, stop, path=path, kind=kind, shape=shape)
            arrays[path] = array
        is_same = (
            len(header["arrays"]) == len(arrays) and arrays.keys() == facts.sums.keys()
        )
        if stop != source.size or not is_same:
            raise RecordError(f"{source.name}: has other arrays than its header says")
        return Record(arrays, metadata=facts.metadata, least_dtypes=facts.least)


def _header(record: Record, sums: Mapping[str, str]) -> bytes:
    """Returns what comes before the arrays."""
    facts = Facts(sums, record.metadata, record.least_dtypes)
    arrays = [(path, array.kind, array.shape) for path, array in record.items()]
    text = msgspec.msgpack.encode({"facts": seal(facts), "arrays": arrays})
    return MAGIC + len(text).to_bytes(_LENGTH_BYTES, "big") + text


def _write_array(file: BinaryIO, array: PreparedArray) -> str:
    """Writes an array as binary objects, and returns its checksum."""
    hashes: list[bytes] = []
    written = 0
    for piece in array.pieces():
        for start in range(0, piece.size, _MOST):
            part = piece[start : start + _MOST]
            if written % _MOST == 0:
                file.write(_prefix(min(array.nbytes - written, _MOST)))
            hashes.append(hash_bytes(part))
            file.write(part.data)
            written += part.size
    return checksum(array.kind, array.shape, b"".join(hashes))


def _prefix(size: int) -> bytes:
    """Returns what stands before the bytes of a binary object."""
    return _BINARY + size.to_bytes(_LENGTH_BYTES, "big")


def _parse(source: RecordSource, text: bytes) -> dict[str, Any]:
    """Parses the header."""
    try:
        header: Any = msgspec.msgpack.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{source.name}: its header is not valid ({error})") from None
    fields = cast("dict[str, Any]", header if isinstance(header, dict) else {})
    if type(fields.get("facts")) is not str or type(fields.get("arrays")) is not list:
        raise RecordError(f"{source.name}: its header must have facts and arrays")
    return fields


def _list_arrays(
    source: RecordSource, rows: list[Any]
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Returns paths, types and shapes; refuses others."""
    try:
        return msgspec.convert(rows, list[tuple[str, str, tuple[Size, ...]]])
    except msgspec.ValidationError as error:
        raise RecordError(f"{source.name}: its header is not valid ({error})") from None


def _lazy(
    source: RecordSource,
    facts: Facts,
    start: int,
    *,
    path: str,
    kind: str,
    shape: tuple[int, ...],
) -> tuple[LazyArray, int]:
    """Describes an array whose first object begins at `start`; returns its end too."""
    dtype = find_type(source.name, path, kind)
    require_shape(source.name, path, shape)
    nbytes = prod(shape) * dtype.itemsize
    spans: list[tuple[int, int]] = []
    for done in range(0, nbytes, _MOST):
        size = min(nbytes - done, _MOST)
        prefix = _prefix(size)
        if source.read(start, start + len(prefix)) != prefix:
            raise RecordError(f"{source.name}: {path} is damaged (its length differs)")
        spans.append((start + len(prefix), start + len(prefix) + size))
        start = spans[-1][1]
    placement = Placement(
        source=source,
        spans=spans,
        path=path,
        dtype=dtype,
        shape=shape,
        expected=facts.sums.get(path, ""),
        checksum=lambda _, hashes: checksum(kind, shape, hashes),
    )
    return placement.to_lazy(), start
