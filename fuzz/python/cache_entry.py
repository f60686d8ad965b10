"""Change one file of a valid cache entry; the cached items must not change."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
from hostile import run, scratch
from json_values import mutate

import seqloom as sl

if TYPE_CHECKING:
    from pathlib import Path


def _files(cache: Path) -> list[Path]:
    """Return the files of the entry in a fixed order."""
    return sorted(file for file in cache.glob("*/*") if file.is_file())


def _try_one(data: bytes) -> None:
    source, whole, cache = _dataset(), scratch("whole"), scratch("cache")
    shutil.rmtree(cache, ignore_errors=True)
    shutil.copytree(whole, cache)
    files = _files(cache)
    files[data[0] % len(files) if data else 0].write_bytes(data[1:])
    items, expected = sl.data.cached(source, cache).to_numpy(), source.to_numpy()
    assert all(np.array_equal(items[name], expected[name]) for name in expected)


def _dataset() -> sl.data.Dataset:
    """Return sequences of several lengths."""
    return sl.data.SequenceDataset(scratch("records.fa"), encoder=sl.encode.OneHot("dna"))


def _mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change a value of a JSON document, or some bytes of the file."""
    return data[:1] + mutate(data[1:], max(max_size - 1, 1), seed)


def _seeds() -> list[bytes]:
    scratch("records.fa").write_text(">a\nACGT\n>b\nGG\n>c\nN\n")
    shutil.rmtree(scratch("whole"), ignore_errors=True)
    sl.data.cached(_dataset(), scratch("whole"))
    files = _files(scratch("whole"))
    return [bytes([at]) + file.read_bytes() for at, file in enumerate(files)]


if __name__ == "__main__":
    run(_try_one, _seeds(), _mutate)
