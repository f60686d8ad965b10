"""Create read pairs of 100 bases, of which half are ribosomal."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import seqloom as sl

READ_LENGTH = 100
_MATE_DISTANCE = 300  # Bases from the start of one mate to the start of the other.
_GENOME_FILE = "fastx/genomes/28S.fasta"
_PAIRS_PER_BLOCK = 10_000


def write_pairs(folder: Path, count: int) -> tuple[Path, Path]:
    """Write uncompressed read pairs; the second mate is reverse-complemented."""
    rng, pool = np.random.default_rng(0), _read_ribosomal_sequences()
    paths = folder / "reads_1.fq", folder / "reads_2.fq"
    with paths[0].open("wb") as first, paths[1].open("wb") as second:
        for start in range(0, count, _PAIRS_PER_BLOCK):
            fragments = _simulate_fragments(rng, pool, min(_PAIRS_PER_BLOCK, count - start))
            first.writelines(_write_mates(fragments, start, mate=1))
            second.writelines(
                _write_mates(map(_reverse_complement, fragments), start, mate=2)
            )
    return paths


def _write_mates(fragments: Iterable[bytes], start: int, *, mate: int) -> Iterator[bytes]:
    """Write one mate of each fragment."""
    for number, fragment in enumerate(fragments, start):
        head, read = b"@pair%d/%d" % (number, mate), fragment[:READ_LENGTH]
        yield b"%b\n%b\n+\n%b\n" % (head, read, b"I" * READ_LENGTH)


def _simulate_fragments(
    rng: np.random.Generator, pool: list[bytes], count: int
) -> list[bytes]:
    """Simulate ribosomal fragments and random fragments, alternately."""
    letters = np.frombuffer(b"ACGT", np.uint8)
    size = READ_LENGTH + _MATE_DISTANCE
    found = [row.tobytes() for row in letters[rng.integers(0, 4, (count, size))]]
    for place in range(0, count, 2):
        sequence = pool[rng.integers(len(pool))]
        start = rng.integers(len(sequence) - size + 1)
        found[place] = sequence[start : start + size]
    return found


def _reverse_complement(fragment: bytes) -> bytes:
    """Return the reverse complement; N stays N."""
    return fragment.translate(bytes.maketrans(b"ACGT", b"TGCA"))[::-1]


def _read_ribosomal_sequences() -> list[bytes]:
    """Read ribosomal sequences that are long enough; replace other characters with N."""
    home = os.environ.get("SEQLOOM_DATA")
    if home is None or not (path := Path(home, _GENOME_FILE)).exists():
        raise SystemExit(f"SEQLOOM_DATA must name a folder with {_GENOME_FILE}")
    plain = bytes(it if it in b"ACGT" else ord("N") for it in range(256))
    with sl.io.open_sequences(path) as reader:
        found = [bytes(it.sequence).upper().replace(b"U", b"T") for it in reader]
    return [it.translate(plain) for it in found if len(it) >= READ_LENGTH + _MATE_DISTANCE]
