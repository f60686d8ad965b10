"""Records as safetensors files, with metadata as JSON and checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from seqloom.errors import RecordError
from seqloom.record._checksum import PLACE, checksum, crc32
from seqloom.record._facts import Facts, seal, unseal
from seqloom.record._header import LENGTH_BYTES, ArrayEntry, read_header
from seqloom.record._lazy_array import LazyArray, Placement
from seqloom.record._record import Record, Recorder, write_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seqloom.record._precision import PrecisionPolicy
    from seqloom.record._source import RecordSource

# The facts are one entry of the header's string table, because the order of two entries
# would be random in other writers: a mark, the checksum, and the facts as JSON.
_FACTS, _MARK = "seqloom", "seqloom facts "
_PLAIN = {"format": "pt"}
# The arrays begin at a multiple of so many bytes: that of a cache line.
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
        """Writes the header, the arrays one after the other, and the header again.

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
            sums[path] = write_pieces(file, record[path])
        end = file.tell()
        file.seek(begin)
        file.write(
            _header(record, sums, plain=self.plain)
        )  # as long as before, now with the checksums
        file.seek(end)

    def decode(self, source: RecordSource) -> Record:
        """Reads the header; each array is read and checked when it is used.

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
        entries, strings = read_header(source)
        facts = _find_facts(source, strings)
        if facts is None:
            arrays = {path: _lazy(source, path, entries[path]) for path in sorted(entries)}
            return Record(arrays)
        if facts.sums.keys() != entries.keys():
            raise RecordError(f"{source.name}: the names of its arrays are damaged")
        arrays = {
            path: _lazy(source, path, entries[path], facts=facts) for path in facts.sums
        }
        return Record(arrays, metadata=facts.metadata, least_dtypes=facts.least)


def _in_order(record: Record) -> list[str]:
    """Returns the paths, those of the widest types first, so that all are aligned."""
    return sorted(record, key=lambda path: -record[path].dtype.itemsize)


def _header(record: Record, sums: Mapping[str, str], *, plain: bool) -> bytes:
    """Returns the length and the header, with spaces up to the alignment."""
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


def _find_facts(source: RecordSource, strings: dict[str, str]) -> Facts | None:
    """Returns the facts of a header; None for another program's file."""
    entry = strings.get(_FACTS, "")
    if not entry and not any(text.startswith(_MARK) for text in strings.values()):
        return None
    return unseal(source.name, entry.removeprefix(_MARK))


def _lazy(
    source: RecordSource, path: str, entry: ArrayEntry, *, facts: Facts | None = None
) -> LazyArray:
    """Describes an array of the file."""
    kind, dtype, shape, start, stop = entry
    is_old = facts is not None and facts.is_old
    return Placement(
        source=source,
        spans=[(start, stop)],
        path=path,
        dtype=dtype,
        shape=shape,
        expected=None if facts is None else facts.sums[path],
        checksum=lambda array, hashes: (
            crc32(array) if is_old else checksum(kind, shape, hashes)
        ),
    ).to_lazy()
