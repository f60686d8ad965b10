"""Makes the genome of the interval example, and peaks of which half hold a motif."""

from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

HOME = Path(sl.__file__).parent / "_demo/genome"
CHROMOSOMES, LETTERS = 4, 24_000
# A peak every so many letters, of that width; the motif of an open one is near its middle.
STEP, WIDTH, NEAR = 160, 100, 25
MOTIF = np.frombuffer(b"TGACTCA", np.uint8)
# How often a letter of the motif is another one.
CHANCE = 0.05


def simulate(seed: int = 0) -> tuple[dict[str, Any], list[tuple[object, ...]]]:
    """Draw chromosomes letter by letter, then writes the motif into half of the peaks."""
    random = np.random.default_rng(seed)
    bases = np.frombuffer(b"ACGT", np.uint8)
    genome: dict[str, Any] = {}
    peaks: list[tuple[object, ...]] = []
    for number in range(1, CHROMOSOMES + 1):
        letters = random.choice(bases, LETTERS)
        for start in range(STEP, LETTERS - WIDTH - STEP, STEP):
            strand, is_open = random.choice(["+", "-"]), bool(random.integers(2))
            if is_open:
                place = start + WIDTH // 2 + random.integers(-NEAR, NEAR)
                letters[place : place + MOTIF.size] = draw(random, strand)
            name = "open" if is_open else "closed"
            peaks.append((f"chr{number}", start, start + WIDTH, name, 0, strand))
        genome[f"chr{number}"] = letters
    return genome, peaks


def draw(random: np.random.Generator, strand: str) -> np.ndarray:
    """Draw a motif, some letters of which are others, as it stands on the plus strand."""
    bases = np.frombuffer(b"ACGT", np.uint8)
    changed = random.random(MOTIF.size) < CHANCE
    motif = np.where(changed, random.choice(bases, MOTIF.size), MOTIF)
    if strand == "+":
        return motif
    turned = motif.tobytes().translate(bytes.maketrans(b"ACGT", b"TGCA"))[::-1]
    return np.frombuffer(turned, np.uint8)


def main() -> None:
    """Write the genome, packed, and its peaks as BED."""
    genome, peaks = simulate()
    records = [
        sl.io.SequenceRecord(name, "", letters.tobytes())
        for name, letters in genome.items()
    ]
    sl.io.write_sequences(HOME / "genome.fa.gz", records)
    lines = ["\t".join(map(str, peak)) + "\n" for peak in peaks]
    (HOME / "peaks.bed").write_text("".join(lines))


if __name__ == "__main__":
    main()
