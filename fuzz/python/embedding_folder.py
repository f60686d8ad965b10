"""Load folders of embeddings with valid shards, but changed JSON files and markers."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from hostile import run, scratch
from json_values import mutate

import seqloom as sl

if TYPE_CHECKING:
    from pathlib import Path


def _files(folder: Path) -> list[Path]:
    """Return the JSON and marker files in a fixed order."""
    return sorted(file for file in folder.rglob("*") if file.suffix in {".json", ".done"})


def _try_one(data: bytes) -> None:
    whole, folder = scratch("whole"), scratch("embeddings")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    files = _files(folder)
    files[data[0] % len(files) if data else 0].write_bytes(data[1:])
    for partial in (False, True):
        embeddings = sl.infer.load(folder, partial=partial)
        str(embeddings)
        embeddings.to_numpy()
        embeddings.get("a")
        embeddings.to_table()


def _one_hot(batch: dict[str, Any]) -> np.ndarray:
    """Return a one-hot row for each token."""
    return np.eye(33, dtype=np.float32)[batch["input_ids"]]


def _mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change a value of the document, or choose another file."""
    if not random.Random(seed).randrange(16):  # noqa: S311 - reproducible
        return bytes([seed % 256]) + data[1:]
    return data[:1] + mutate(data[1:], max(max_size - 1, 1), seed)


def _seeds() -> list[bytes]:
    records = scratch("records.fa")
    records.write_text(">a\nMKTA\n>b\nMK\n>c\nMKLLL\n")
    for name in ("whole", "embeddings"):
        shutil.rmtree(scratch(name), ignore_errors=True)
    sl.infer.embed(_one_hot, str(records), out=scratch("whole"), shard_size=2)
    files = _files(scratch("whole"))
    return [bytes([at]) + file.read_bytes() for at, file in enumerate(files)]


if __name__ == "__main__":
    run(_try_one, _seeds(), _mutate)
