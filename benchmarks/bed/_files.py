"""Create .bed files with random genotypes, which a processor cannot predict."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._measure import full_or_quick


class BedFile(NamedTuple):
    """A .bed file with its numbers of individuals and variants."""

    path: Path
    shape: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.shape[0]:,} x {self.shape[1]:,}"


FILE_SHAPES = full_or_quick(
    ((4_000, 50_000), (50_000, 4_000)), ((1_000, 20_000), (20_000, 1_000))
)
# Number of variants that are created at a time.
VARIANTS_PER_BLOCK = 1000


def write_bed(folder: Path, shape: tuple[int, int], *, name: str = "") -> BedFile:
    """Write a SNP-major .bed with its .fam and .bim."""
    path = folder / f"{name or 'x'.join(map(str, shape))}.bed"
    rng, stride = np.random.default_rng(0), -(-shape[0] // 4)
    with path.open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for first in range(0, shape[1], VARIANTS_PER_BLOCK):
            lines = min(VARIANTS_PER_BLOCK, shape[1] - first)
            codes = rng.integers(0, 256, (lines, stride), dtype=np.uint8)
            codes[:, -1] &= 255 >> (-2 * shape[0] % 8)
            file.write(codes.tobytes())
    write_fam_and_bim(path, shape)
    return BedFile(path, shape)


def write_fam_and_bim(path: Path, shape: tuple[int, int], *, long_allele: int = 1) -> None:
    """Write .fam and .bim; one variant in the middle can have a long allele."""
    people = (f"f{i} i{i} 0 0 {1 + i % 2} {i % 3}\n" for i in range(shape[0]))
    path.with_suffix(".fam").write_text("".join(people))
    with path.with_suffix(".bim").open("w") as file:
        for i in range(shape[1]):
            allele = "A" * (long_allele if i == shape[1] // 2 else 1)
            file.write(f"{1 + i * 22 // shape[1]}\trs{i}\t0\t{i + 1}\t{allele}\tC\n")
