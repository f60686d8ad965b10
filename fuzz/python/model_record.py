"""Load model records: arbitrary files, and changed headers with valid checksums."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from math import prod

import msgspec
import numpy as np
from hostile import run, scratch

import seqloom as sl
from seqloom.record._array import DTYPES_BY_NAME
from seqloom.record._facts import checksum
from seqloom.record._source import hash_bytes

_RECORD = sl.record.Record({"a.weight": np.ones((2, 3), "f4")}, metadata={"n": 1})
_MAX_ELEMENTS = 1 << 20


def _try_one(data: bytes) -> None:
    path = scratch("record")
    path.write_bytes(_FORMATTERS[data[0] % len(_FORMATTERS)](data[1:]) if data else b"")
    for mapped in (False, True):
        record = sl.record.load(path, mapped=mapped)
        str(record)
        for array in record.values():
            np.asarray(array)
        record.verify()


def _as_safetensors(data: bytes) -> bytes:
    """Return a safetensors file; line 1 of `data` is its header, the rest its arrays."""
    header, _, arrays = data.partition(b"\n")
    return len(header).to_bytes(8, "little") + header + arrays


def _as_facts(data: bytes) -> bytes:
    """Return a model record; line 1 of `data` is its description, the rest its arrays."""
    facts, _, arrays = data.partition(b"\n")
    strings = {"seqloom": f"seqloom facts {_add_checksum(facts)}"}
    entry = {"dtype": "U8", "shape": [len(arrays)], "data_offsets": [0, len(arrays)]}
    header = msgspec.json.encode({"__metadata__": strings, "a": entry})
    return len(header).to_bytes(8, "little") + header + arrays


def _add_checksum(facts: bytes) -> str:
    """Return the description, preceded by its checksum."""
    text = facts.decode("utf-8", "replace")
    return f"{zlib.crc32(text.encode()):08x} {text}"


def _as_json(data: bytes) -> bytes:
    """Return a compressed JSON document."""
    return gzip.compress(data, 1)


def _as_sealed_json(data: bytes) -> bytes:
    """Return a document of one array with a valid checksum and an arbitrary shape."""
    kind = [*DTYPES_BY_NAME][data[0] % len(DTYPES_BY_NAME)] if data else "U8"
    shape, numbers = [*data[1:3]], data[3:]
    own = checksum(kind, shape, hash_bytes(np.frombuffer(numbers, np.uint8)))
    facts = {"format": 1, "checksum": "xxh3-64-mib", "sums": {"a": own}}
    facts |= {"least_dtypes": {}, "metadata": {}}
    entry = msgspec.json.encode({"dtype": kind, "shape": shape, "data": numbers})
    sealed = msgspec.json.encode(_add_checksum(msgspec.json.encode(facts)))
    arrays = b'{"seqloom":"record","arrays":{\n"a":' + entry + b"\n},\n"
    return gzip.compress(arrays + b'"facts":' + sealed + b"\n}\n", 1)


def _as_torch(data: bytes) -> bytes:
    """Return a PyTorch file with these bytes as its pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", bytes(64))
    return file.getvalue()


_FORMATTERS = [
    bytes,
    _as_safetensors,
    _as_facts,
    _as_json,
    _as_sealed_json,
    _as_torch,
]


def _seeds() -> list[bytes]:
    """Return valid inputs for each format."""
    own = sl.record.Safetensors().to_bytes(_RECORD)
    end = 8 + int.from_bytes(own[:8], "little")
    text = sl.record.JsonGz().to_bytes(_RECORD)
    facts = msgspec.json.encode(
        {"format": 1, "checksum": "xxh3-64-mib", "sums": {"a": "0" * 16}}
        | {"least_dtypes": {}, "metadata": {"n": 1}}
    )
    old = b'{"crc32":{"a":1},"metadata":{}}'
    pickle = (
        b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02"
    )
    pickle += b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
    pickle += b"X\x03\x00\x00\x00cpuK\x04tQK\x00K\x02K\x02\x86K\x02K\x01\x86\x89"
    pickle += b"ccollections\nOrderedDict\n)RtRs."
    assert prod(_RECORD["a.weight"].shape) < _MAX_ELEMENTS
    return [
        b"\0" + own,
        b"\0" + text,
        b"\1" + own[8:end].rstrip() + b"\n" + own[end:],
        b"\2" + facts + b"\nACGT",
        b"\2" + old + b"\nACGT",
        b"\3" + gzip.decompress(text),
        b"\4\5\2\2abcdefghijklmnop",
        b"\5" + pickle,
        b"\0" + _as_torch(pickle),
    ]


if __name__ == "__main__":
    run(_try_one, _seeds())
