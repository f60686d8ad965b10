"""Makes the trait of the genotype example: `trait.txt`, from the genotypes themselves."""

from pathlib import Path

import numpy as np

import seqloom as sl

HOME = Path(sl.__file__).parent / "_demo/genotypes"
# So many variants have an effect, and together they explain this share of the variance.
CAUSAL, HERITABILITY = 5, 0.8
# A common variant is one whose rarer allele has at least this frequency.
COMMON = 0.1


def simulate(seed: int = 0) -> np.ndarray:
    """Draw a trait for each sample: effects of some variants, and chance."""
    random = np.random.default_rng(seed)
    codes = sl.io.open_bed(HOME / "example.bed").read(dtype="float32")
    codes = np.where(np.isnan(codes), np.nanmean(codes, axis=0), codes)
    share = codes.mean(axis=0) / 2
    common = np.flatnonzero(np.minimum(share, 1 - share) >= COMMON)
    chosen = codes[:, random.choice(common, CAUSAL, replace=False)]
    # Each raises or lowers the trait by as much.
    signs = random.choice([-1.0, 1.0], CAUSAL)
    inherited = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0) @ signs
    chance = random.normal(size=len(codes))
    parts = ((inherited, HERITABILITY), (chance, 1 - HERITABILITY))
    return sum(np.sqrt(share) * part / part.std() for part, share in parts)


def main() -> None:
    """Write one line a sample."""
    bed = sl.io.open_bed(HOME / "example.bed")
    rows = zip(bed.fid, bed.iid, simulate(), strict=True)
    lines = [f"{family} {sample} {value:.6f}\n" for family, sample, value in rows]
    (HOME / "trait.txt").write_text("FID IID trait\n" + "".join(lines))


if __name__ == "__main__":
    main()
