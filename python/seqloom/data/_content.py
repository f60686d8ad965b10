"""What names the content of files, however they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seqloom._ragged import Ragged

    Columns = tuple[Ragged, Ragged, Ragged | None]


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
