"""Simulate the trait of the genotype example (`trait.txt`) from its genotypes."""

from pathlib import Path

import numpy as np

import seqloom as sl

GENOTYPES_FOLDER = Path(sl.__file__).parent / "_demo/genotypes"
# Number of variants with an effect, and the fraction of the variance that they explain.
CAUSAL, HERITABILITY = 5, 0.8
# Only variants with at least this minor allele frequency can have an effect.
MIN_FREQUENCY = 0.1


def simulate_trait(seed: int = 0) -> np.ndarray:
    """Return a trait value for each sample: effects of variants plus random noise."""
    random = np.random.default_rng(seed)
    codes = sl.io.open_bed(GENOTYPES_FOLDER / "example.bed").read(dtype="float32")
    codes = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
    frequency = codes.mean(axis=0) / 2
    common = np.flatnonzero(np.minimum(frequency, 1 - frequency) >= MIN_FREQUENCY)
    chosen = codes[:, random.choice(common, CAUSAL, replace=False)]
    # All effects have the same size, in standard deviations of the variant.
    signs = random.choice([-1.0, 1.0], CAUSAL)
    inherited = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0) @ signs
    noise = random.normal(size=len(codes))
    components = ((inherited, HERITABILITY), (noise, 1 - HERITABILITY))
    return sum(np.sqrt(share) * values / values.std() for values, share in components)


def main() -> None:
    """Write one line for each sample."""
    bed = sl.io.open_bed(GENOTYPES_FOLDER / "example.bed")
    rows = zip(bed.fid, bed.iid, simulate_trait(), strict=True)
    lines = [f"{family} {sample} {value:.6f}\n" for family, sample, value in rows]
    (GENOTYPES_FOLDER / "trait.txt").write_text("FID IID trait\n" + "".join(lines))


if __name__ == "__main__":
    main()
