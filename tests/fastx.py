"""Helpers of the reading tests: compression, slow files, and folders of real files."""

import gzip
import os
import struct
import zlib
from io import BytesIO, RawIOBase
from pathlib import Path

import pytest

from seqloom.io import open_sequences

FASTQ_SPECIMENS = Path(__file__).parent / "data" / "quality"
BGZIP_END_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(text, size=65280):
    """Compress text like bgzip (SAM specification, section 4.1), with the end block."""
    blocks = [bgzip_block(text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join(blocks) + BGZIP_END_BLOCK


def bgzip_block(text):
    """Compress one block."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(text) + packer.flush()
    head = struct.pack(
        "<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25
    )
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


COMPRESSORS = {"plain": bytes, "gzip": gzip.compress, "bgzip": bgzip}


class Trickle(RawIOBase):
    """A file object that returns a few bytes at a time."""

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
    """Return all records of a file, as (header, sequence, quality or None)."""
    with open_sequences(origin, **options) as reader:
        return [row for batch in reader.batches(1000) for row in rows(batch)]


def rows(batch):
    """Return the records of a batch, byte for byte."""
    columns = [batch.headers.to_list(), batch.sequences.to_list()]
    qualities = (
        [None] * len(batch) if batch.qualities is None else batch.qualities.to_list()
    )
    return list(zip(*columns, qualities, strict=True))


def real(*parts):
    """Return a real file of the data folder; skip the test if it does not exist."""
    home = os.environ.get("SEQLOOM_DATA")
    if not home:
        pytest.skip("SEQLOOM_DATA names no folder with real files")
    path = Path(home, "fastx", *parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
