"""What the tests of reading share: containers, slow files, and where real files lie."""

import gzip
import os
import struct
import zlib
from io import BytesIO, RawIOBase
from pathlib import Path

import pytest

from seqloom.io import open_sequences

QUALITY = Path(__file__).parent / "data" / "quality"
BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(text, size=65280):
    """Pack text as bgzip does (SAM specification, section 4.1), and end it."""
    blocks = [bgzip_block(text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join(blocks) + BGZIP_END


def bgzip_block(text):
    """Pack one block."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(text) + packer.flush()
    head = struct.pack(
        "<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25
    )
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


PACKERS = {"plain": bytes, "gzip": gzip.compress, "bgzip": bgzip}


class Trickle(RawIOBase):
    """Gives a few bytes at a time, whatever is asked for."""

    def __init__(self, content, size):
        super().__init__()
        self._file = BytesIO(content)
        self._size = size

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self._file.read(min(self._size, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


def read(origin, **options):
    """All records of a file, as (header, letters, quality or None)."""
    with open_sequences(origin, **options) as reader:
        return [row for batch in reader.batches(1000) for row in rows(batch)]


def rows(batch):
    """The records of a batch, byte for byte."""
    columns = [batch.headers.to_list(), batch.sequences.to_list()]
    qualities = (
        [None] * len(batch) if batch.qualities is None else batch.qualities.to_list()
    )
    return list(zip(*columns, qualities, strict=True))


def real(*parts):
    """A real file of the data folder; the test is skipped where there is none."""
    home = os.environ.get("SEQLOOM_DATA")
    if not home:
        pytest.skip("SEQLOOM_DATA names no folder with real files")
    path = Path(home, "fastx", *parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
