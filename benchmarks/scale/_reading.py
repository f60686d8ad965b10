"""Measured operations that read files: parse, load and .bed read, and their input."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measure import read_blocks
from benchmarks.bed import _files
from benchmarks.scale._sweeps import LOWER_BOUND, InputSizes
from seqloom.io import open_sequences

# Runs the operation once; returns numbers and arrays that must be equal in all
# libraries.
Work: TypeAlias = Callable[[], tuple[Any, ...]]
# Returns the function to measure for an input file and its sizes.
Maker: TypeAlias = Callable[[InputSizes, Path], Work]

LINE, PEOPLE, BLOCK, BATCH = 60, 1_000, 1_000_000, 512
BASES = np.frombuffer(b"ACGT", np.uint8)


def write_input(path: Path, sizes: InputSizes) -> None:
    """Write random FASTQ reads, FASTA sequences, or genotypes of 1,000 individuals."""
    if path.suffix == ".bed":
        _files.write_bed(path.parent, (PEOPLE, sizes.variants), name=path.stem)
        return
    record = _fastq_record if path.suffix == ".fastq" else _fasta_record
    rng, together = np.random.default_rng(0), max(1, BLOCK // sizes.length)
    with path.open("wb") as file:
        for first in range(0, sizes.records, together):
            rows = min(together, sizes.records - first)
            letters = BASES[rng.integers(0, 4, (rows, sizes.length))]
            file.writelines(
                record(number, row.tobytes()) for number, row in enumerate(letters, first)
            )


def _fastq_record(number: int, letters: bytes) -> bytes:
    """Format one FASTQ record."""
    return b"@read%d lane=1\n%b\n+\n%b\n" % (number, letters, b"I" * len(letters))


def _fasta_record(number: int, letters: bytes) -> bytes:
    """Format one FASTA record."""
    lines = (letters[start : start + LINE] for start in range(0, len(letters), LINE))
    return b"\n".join([b">r%d" % number, *lines, b""])


def make_parser(side: str) -> Maker:
    """Return a function that reads a file and counts its records and residues."""
    if side == LOWER_BOUND:
        return lambda _, path: lambda: _no_results(read_blocks(path))
    read = (
        _count_records
        if side == "seqloom"
        else import_module("benchmarks.fastx").READERS[side]
    )
    return lambda _, path: lambda: read(path)


def _count_records(path: Path) -> tuple[int, int]:
    """Count records and residues with seqloom."""
    records = letters = 0
    with open_sequences(path, num_threads=1) as reader:
        for batch in reader.batches(BATCH):
            records, letters = records + len(batch), letters + len(batch.sequences.data)
    return records, letters


def make_loader_pass(side: str) -> Maker:
    """Return a function that creates the one-hot batches of one epoch, without workers."""
    if side == "seqloom":
        return _make_seqloom_loader()
    if side == LOWER_BOUND:
        return _read_and_fill
    libraries: Any = import_module("benchmarks._loader_libraries")
    if side == "NumPy loop over dnaio":
        return lambda _, path: lambda: _exhaust_batches(libraries.numpy_batches(str(path)))
    loader, dataset = import_module("torch.utils.data").DataLoader, libraries.DnaioDataset
    return lambda _, path: (
        lambda: _exhaust_batches(loader(dataset(str(path)), batch_size=BATCH))
    )


def _make_seqloom_loader() -> Maker:
    """Return a function that iterates over seqloom's loader."""
    from seqloom.data import DataLoader, SequenceStream
    from seqloom.encode import OneHot

    encoder = OneHot("dna")

    def run_epoch(path: Path) -> tuple[Any, ...]:
        stream = SequenceStream(path, encoder=encoder, num_threads=1)
        return _exhaust_batches(batch["inputs"] for batch in DataLoader(stream, BATCH))

    return lambda _, path: lambda: run_epoch(path)


def _read_and_fill(sizes: InputSizes, path: Path) -> Work:
    """Lower bound: read the file in blocks, and fill one array once for each batch."""
    out = np.empty((BATCH, 4, sizes.length), np.float32)

    def run_epoch() -> tuple[()]:
        read_blocks(path)
        for _ in range(-(-sizes.records // BATCH)):
            out.fill(1)
        return ()

    return run_epoch


def _exhaust_batches(batches: Iterable[Any]) -> tuple[int, Any]:
    """Return the number of records, and the last batch."""
    records, last = 0, None
    for batch in batches:
        records, last = records + len(batch), batch
    return records, last


def make_bed_reader(side: str) -> Maker:
    """Return a function that reads a .bed file into a new int8 array."""
    if side == LOWER_BOUND:
        return lambda sizes, path: (
            lambda: _no_results(read_blocks(path), _fill_new_array(PEOPLE * sizes.variants))
        )
    library = import_module("seqloom.io" if side == "seqloom" else side)
    return lambda _, path: (
        lambda: (library.open_bed(path, num_threads=1).read(dtype="int8"),)
    )


def _fill_new_array(size: int) -> None:
    """Fill a new array of at least `size` bytes, as int64 because that is fastest."""
    np.empty(-(-size // 8), np.int64).fill(1)


def _no_results(*_: object) -> tuple[()]:
    """Return an empty result, because lower bounds compute nothing to compare."""
    return ()
