"""Operations that read files: parse, load and .bed read, and their input files."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measure import read_blocks
from benchmarks.bed import _files
from benchmarks.scale._sweeps import FLOOR, Sizes
from seqloom.io import open_sequences

# Runs the work once; returns numbers and arrays on which all sides must agree.
Work: TypeAlias = Callable[[], tuple[Any, ...]]
# Prepares the work for a file and its sizes.
Maker: TypeAlias = Callable[[Sizes, Path], Work]

LINE, PEOPLE, BLOCK, BATCH = 60, 1_000, 1_000_000, 512
LETTERS = np.frombuffer(b"ACGT", np.uint8)


def write(path: Path, sizes: Sizes) -> None:
    """Write random reads, sequences in lines, or genotypes of 1,000 individuals."""
    if path.suffix == ".bed":
        _files.write(path.parent, (PEOPLE, sizes.variants), name=path.stem)
        return
    record = _read if path.suffix == ".fastq" else _sequence
    rng, together = np.random.default_rng(0), max(1, BLOCK // sizes.length)
    with path.open("wb") as file:
        for first in range(0, sizes.records, together):
            rows = min(together, sizes.records - first)
            letters = LETTERS[rng.integers(0, 4, (rows, sizes.length))]
            file.writelines(
                record(number, row.tobytes()) for number, row in enumerate(letters, first)
            )


def _read(number: int, letters: bytes) -> bytes:
    """Write one read of FASTQ."""
    return b"@read%d lane=1\n%b\n+\n%b\n" % (number, letters, b"I" * len(letters))


def _sequence(number: int, letters: bytes) -> bytes:
    """Write one sequence of FASTA."""
    lines = (letters[start : start + LINE] for start in range(0, len(letters), LINE))
    return b"\n".join([b">r%d" % number, *lines, b""])


def parse(side: str) -> Maker:
    """Read all records, and count records and residues."""
    if side == FLOOR:
        return lambda _, path: lambda: _empty_result(read_blocks(path))
    read = _count if side == "seqloom" else import_module("benchmarks.fastx").SIDES[side]
    return lambda _, path: lambda: read(path)


def _count(path: Path) -> tuple[int, int]:
    """Read columns of headers, sequences and qualities with seqloom."""
    records = letters = 0
    with open_sequences(path, num_threads=1) as reader:
        for batch in reader.batches(BATCH):
            records, letters = records + len(batch), letters + len(batch.sequences.data)
    return records, letters


def load(side: str) -> Maker:
    """Create all one-hot batches of one epoch, without workers."""
    if side == "seqloom":
        return _our_loader()
    if side == FLOOR:
        return _read_and_fill
    loader: Any = import_module("benchmarks.loader")
    if side == "NumPy loop over dnaio":
        return lambda _, path: lambda: _drain(loader.loop(str(path)))
    return lambda _, path: (
        lambda: _drain(loader.TorchLoader(loader.Records(str(path)), batch_size=BATCH))
    )


def _our_loader() -> Maker:
    """Return our loader over a stream."""
    from seqloom.data import DataLoader, SequenceStream
    from seqloom.encode import OneHot

    encoder = OneHot("dna")

    def work(path: Path) -> tuple[Any, ...]:
        stream = SequenceStream(path, encoder=encoder, num_threads=1)
        return _drain(batch["inputs"] for batch in DataLoader(stream, BATCH))

    return lambda _, path: lambda: work(path)


def _read_and_fill(sizes: Sizes, path: Path) -> Work:
    """Read in blocks, and write the numbers of all batches into the same memory."""
    out = np.empty((BATCH, 4, sizes.length), np.float32)

    def work() -> tuple[()]:
        read_blocks(path)
        for _ in range(-(-sizes.records // BATCH)):
            out.fill(1)
        return ()

    return work


def _drain(batches: Iterable[Any]) -> tuple[int, Any]:
    """Count the records, and keep only the last batch."""
    records, last = 0, None
    for batch in batches:
        records, last = records + len(batch), batch
    return records, last


def bed_read(side: str) -> Maker:
    """Open a .bed and read it into new memory as int8."""
    if side == FLOOR:
        return lambda sizes, path: (
            lambda: _empty_result(read_blocks(path), _write(PEOPLE * sizes.variants))
        )
    library = import_module("seqloom.io" if side == "seqloom" else side)
    return lambda _, path: (
        lambda: (library.open_bed(path, num_threads=1).read(dtype="int8"),)
    )


def _write(size: int) -> None:
    """Write bytes into new memory, eight at a time, the fastest form in NumPy."""
    np.empty(-(-size // 8), np.int64).fill(1)


def _empty_result(*_: object) -> tuple[()]:
    """Return the empty result of a floor."""
    return ()
