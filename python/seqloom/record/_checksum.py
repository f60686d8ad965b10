"""Checksums of arrays in records."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.record._source import hash_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# The name in files. Each MiB of an array is hashed by the XXH3 of 64 bits. The type, the
# shape and these hashes are hashed in the same way, until one hash is left.
ALGORITHM = "xxh3-64-mib"
_BYTES = 8
PLACE = "0" * 2 * _BYTES  # is written before the checksum is known


def checksum(kind: str, shape: Sequence[int], pieces: bytes) -> str:
    """Returns the checksum of an array from its type, shape and hashes of each MiB."""
    hashes = _hash(f"{kind}{list(shape)}".encode() + pieces)
    while len(hashes) > _BYTES:
        hashes = _hash(hashes)
    return hashes.hex()


def _hash(data: bytes) -> bytes:
    """Returns the hash of each MiB."""
    return hash_bytes(np.frombuffer(data, np.uint8))


def crc32(array: NDArray[Any]) -> str:
    """Returns the checksum of the files before format version 1."""
    # Types that are not NumPy's own have no code.
    code = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
    kind = zlib.crc32(f"{code}{array.shape}".encode())
    whole = np.ascontiguousarray(array).reshape(-1)
    return f"{zlib.crc32(whole.view(np.uint8).data, kind):08x}"


def checksum_of(arrays: Mapping[str, Any]) -> str:
    """Returns the checksum of arrays by path, such as all weights of a network."""
    lines: list[str] = []
    for path, value in arrays.items():
        array = np.asarray(value)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        lines.append(f"{path} {checksum(array.dtype.name, array.shape, hash_bytes(flat))}")
    return checksum("weights", [len(lines)], _hash("\n".join(lines).encode()))
