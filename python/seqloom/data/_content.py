"""What names the content of files, however they are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.io._origin import check_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqloom._ragged import Ragged

    Columns = tuple[Ragged, Ragged, Ragged | None]

_ENDS = 1 << 16  # bytes that are hashed at the beginning and at the end of a file


def content_digest(parts: Iterable[Columns]) -> bytes:
    """Hashes ids, letters and qualities, and how they are cut."""
    import hashlib  # loads OpenSSL, which most programs never need

    hashes = [hashlib.blake2b(digest_size=16) for _ in range(6)]
    for part in parts:
        columns = [rows for rows in part if rows is not None]
        for number, rows in enumerate(columns):
            hashes[2 * number].update(rows.lengths.tobytes())
            hashes[2 * number + 1].update(rows.data.data)
    whole = b"".join(digest.digest() for digest in hashes)
    return hashlib.blake2b(whole, digest_size=16).digest()


def file_digest(path: str) -> str:
    """Hashes the size, the beginning and the end of a file, to recognise it again."""
    check_regular(path)
    import hashlib  # see above

    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d:" % size)
        digest.update(file.read(_ENDS))
        file.seek(max(size - _ENDS, 0))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()
