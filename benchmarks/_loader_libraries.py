"""Code that `benchmarks.loader` compares: PyTorch datasets, a NumPy loop, lower bounds."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset, IterableDataset

Batch: TypeAlias = NDArray[np.float32]

LETTERS, BATCH = 150, 512
# Number of batches that our loader prepares at the same time.
BATCHES_IN_FLIGHT = 6
READ_BLOCK_BYTES = 1 << 18
# Lookup table: byte -> one-hot column, for encoding one read at a time.
ONE_HOT_TABLE = np.zeros((256, 4), np.float32)
ONE_HOT_TABLE[[*b"ACGT"], range(4)] = 1


class DnaioDataset(IterableDataset[Any]):
    """PyTorch dataset of one-hot records from dnaio; workers yield different records."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Any]:
        info: Any = torch.utils.data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        with import_module("dnaio").open(self.path, open_threads=0) as file:
            for record in islice(file, first, None, step):
                yield encode_one_hot(record.sequence)


class PyfastxDataset(Dataset[Any]):
    """PyTorch dataset that reads records by index with pyfastx and encodes them."""

    def __init__(self, path: str, count: int) -> None:
        self.path, self.count = path, count
        self._file: Any = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if self._file is None:
            self._file = import_module("pyfastx").Fastq(self.path)
        return encode_one_hot(self._file[index].seq)


def encode_one_hot(letters: str) -> Any:
    """Encode one read with a lookup table."""
    return torch.from_numpy(ONE_HOT_TABLE[np.frombuffer(letters.encode(), np.uint8)].T)


def numpy_batches(path: str) -> Iterator[Batch]:
    """Yield batches from the fastest NumPy loop: compare all reads with each base."""
    out = np.empty((BATCH, 4, LETTERS), np.float32)
    with import_module("dnaio").open(path, open_threads=0) as file:
        while part := [record.sequence for record in islice(file, BATCH)]:
            letters = np.frombuffer("".join(part).encode(), np.uint8).reshape(-1, LETTERS)
            rows = out[: len(part)]
            for channel, letter in enumerate(b"ACGT"):
                np.equal(letters, letter, out=rows[:, channel])
            yield rows


def fill_batch_arrays(reads: int) -> None:
    """Fill reused arrays with as many bytes as one epoch has."""
    arrays = [np.empty((BATCH, 4, LETTERS), np.float32) for _ in range(BATCHES_IN_FLIGHT)]
    for number in range(-(-reads // BATCH)):
        arrays[number % BATCHES_IN_FLIGHT].fill(1)


def read_file_and_fill_arrays(path: str, reads: int) -> None:
    """Read the file in blocks, and write as many bytes as one epoch has."""
    block = bytearray(READ_BLOCK_BYTES)
    with Path(path).open("rb", buffering=0) as file:
        while file.readinto(block):
            pass
    fill_batch_arrays(reads)
