"""Simulate the genome and the peaks of the interval example; half contain a motif."""

from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

GENOME_FOLDER = Path(sl.__file__).parent / "_demo/genome"
CHROMOSOMES, CHROMOSOME_LENGTH = 4, 24_000
# Distance between peaks, width of a peak, and largest distance of a motif from the
# middle of its peak, in bases.
PEAK_SPACING, PEAK_WIDTH, MOTIF_SHIFT = 160, 100, 25
MOTIF = np.frombuffer(b"TGACTCA", np.uint8)
# Probability that a base of the motif is replaced by a random base.
MUTATION_RATE = 0.05


def simulate_genome(seed: int = 0) -> tuple[dict[str, Any], list[tuple[object, ...]]]:
    """Return random chromosomes and their peaks; half of the peaks contain the motif."""
    random = np.random.default_rng(seed)
    bases = np.frombuffer(b"ACGT", np.uint8)
    genome: dict[str, Any] = {}
    peaks: list[tuple[object, ...]] = []
    for number in range(1, CHROMOSOMES + 1):
        sequence = random.choice(bases, CHROMOSOME_LENGTH)
        last = CHROMOSOME_LENGTH - PEAK_WIDTH - PEAK_SPACING
        for start in range(PEAK_SPACING, last, PEAK_SPACING):
            strand, is_open = random.choice(["+", "-"]), bool(random.integers(2))
            if is_open:
                shift = random.integers(-MOTIF_SHIFT, MOTIF_SHIFT)
                at = start + PEAK_WIDTH // 2 + shift
                sequence[at : at + MOTIF.size] = mutated_motif(random, strand)
            name = "open" if is_open else "closed"
            peaks.append((f"chr{number}", start, start + PEAK_WIDTH, name, 0, strand))
        genome[f"chr{number}"] = sequence
    return genome, peaks


def mutated_motif(random: np.random.Generator, strand: str) -> np.ndarray:
    """Return the motif with random mutations, as read on the plus strand."""
    bases = np.frombuffer(b"ACGT", np.uint8)
    is_mutated = random.random(MOTIF.size) < MUTATION_RATE
    motif = np.where(is_mutated, random.choice(bases, MOTIF.size), MOTIF)
    if strand == "+":
        return motif
    reverse = motif.tobytes().translate(bytes.maketrans(b"ACGT", b"TGCA"))[::-1]
    return np.frombuffer(reverse, np.uint8)


def main() -> None:
    """Write the genome as gzip FASTA, and the peaks as BED."""
    genome, peaks = simulate_genome()
    records = [
        sl.io.SequenceRecord(name, "", sequence.tobytes())
        for name, sequence in genome.items()
    ]
    sl.io.write_sequences(GENOME_FOLDER / "genome.fa.gz", records)
    lines = ["\t".join(map(str, peak)) + "\n" for peak in peaks]
    (GENOME_FOLDER / "peaks.bed").write_text("".join(lines))


if __name__ == "__main__":
    main()
