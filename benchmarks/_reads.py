"""Input files for benchmarks: simulated sequencing reads, and a proteome."""

import gzip
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

LETTERS, LINE, PART = 150, 60, 50_000
AMINO_ACIDS_BY_FREQUENCY = np.frombuffer(b"LAGVESIKRDTPNQFYMHCW", np.uint8)
# Approximate frequencies of amino acids in UniProt.
RESIDUE_FREQUENCIES = np.array(
    [99, 83, 71, 69, 67, 66, 59, 58, 55, 55, 53, 47, 41, 39, 39, 29, 24, 23, 14, 11]
)


def write_reads(folder: Path, count: int) -> dict[str, Path]:
    """Write reads of 150 bases to an uncompressed file, a gzip file and a bgzip file."""
    path = folder / "reads.fastq"
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, count, PART):
            file.writelines(_simulate_reads(rng, start, min(PART, count - start)))
    blocks = folder / "reads.fastq.bgz"
    import_module("pysam").tabix_compress(str(path), str(blocks), force=True)
    return {"plain": path, "gzip": _compress_file(path), "bgzip": blocks}


def write_proteins(folder: Path, count: int) -> dict[str, Path]:
    """Write proteins in lines of 60 residues, uncompressed and as gzip."""
    path = folder / "proteins.fasta"
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(5.8, 0.6, count), 30, 5000).astype(int)
    with path.open("wb") as file:
        file.writelines(
            _simulate_protein(rng, number, size) for number, size in enumerate(lengths)
        )
    return {"plain": path, "gzip": _compress_file(path)}


def _simulate_reads(rng: Generator, first: int, count: int) -> Iterator[bytes]:
    """Write reads whose qualities decrease towards the end, with sudden drops."""
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (count, LETTERS))]
    places = rng.integers(1_000, 30_000, (count, 2))
    rows = zip(letters, _simulate_qualities(rng, count), places, strict=True)
    for number, (row, quality, (x, y)) in enumerate(rows, first):
        head = b"@A00123:45:HXXXDSXX:1:%d:%d:%d 1:N:0:ACGT" % (
            1101 + number // 10_000,
            x,
            y,
        )
        yield b"%b\n%b\n+\n%b\n" % (head, row.tobytes(), quality.tobytes())


def _simulate_qualities(rng: Generator, count: int) -> NDArray[np.uint8]:
    """Draw qualities like those of a current sequencer."""
    usual = np.linspace(38, 33, LETTERS) + rng.normal(0, 1.5, (count, 1))
    drops = (rng.random((count, LETTERS)) < 0.06) * rng.integers(5, 25, (count, LETTERS))
    return (np.clip(np.rint(usual - drops), 2, 40) + 33).astype(np.uint8)


def _simulate_protein(rng: Generator, number: int, size: int) -> bytes:
    """Write one protein in the format of UniProt."""
    letters = rng.choice(
        AMINO_ACIDS_BY_FREQUENCY, size, p=RESIDUE_FREQUENCIES / RESIDUE_FREQUENCIES.sum()
    ).tobytes()
    head = b">tr|A0A%06d|A0A%06d_ECOLI Protein %d OS=Escherichia coli OX=562" % (
        (number,) * 3
    )
    lines = [letters[start : start + LINE] for start in range(0, size, LINE)]
    return b"\n".join([head, *lines, b""])


def _compress_file(path: Path) -> Path:
    """Compress a file like the program gzip."""
    packed = path.with_name(f"{path.name}.gz")
    with path.open("rb") as source, gzip.open(packed, "wb", 6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return packed
