"""Simulated tasks: sequences and labels, or genotypes and a trait, from a seed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._simulated_scan import AMINO_ACIDS, simulate_scan
from seqloom.data import Dataset, GenotypeDataset, Labels
from seqloom.io import to_bed

_FACTOR = full_or_quick(1.0, 0.25)  # a quick run simulates fewer records
Simulation = tuple[list[str], list[Any]]


def _to_text(rows: NDArray[Any], letters: str = "ACGT") -> list[str]:
    """Convert residue numbers to sequences."""
    return ["".join(letters[number] for number in row) for row in rows]


def _to_classes(classes: NDArray[Any]) -> list[str]:
    """Return the class "yes" or "no" of each record."""
    return ["yes" if it else "no" for it in classes]


def _count(records: int) -> int:
    """Return the number of records in a full or a quick run."""
    return round(records * _FACTOR)


def sirnas(seed: int) -> Simulation:
    """Simulate efficacies: position weights that decay from the 5' end, GC, one pair."""
    rng, length = np.random.default_rng(seed), 19
    rows = rng.integers(0, 4, (_count(1900), length))
    decay = np.exp(-np.arange(length) / 6)[:, None]
    weights = rng.normal(size=(length, 4)) * decay
    value = weights[np.arange(length), rows].sum(axis=1)
    value -= 0.25 * np.isin(rows, (1, 2)).sum(axis=1)
    value += 0.7 * rng.normal(size=(4, 4))[rows[:, 0], rows[:, 1]]
    value = (value - value.mean()) / value.std() + 1.1 * rng.normal(size=len(rows))
    return _to_text(rows), value.tolist()


def peptides(seed: int) -> Simulation:
    """Simulate binding: position weights, with two anchors of three times the weight."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 20, (_count(3000), 9))
    weights = rng.normal(size=(9, 20))
    weights[[1, 8]] *= 3
    value = weights[np.arange(9), rows].sum(axis=1)
    value += 0.4 * value.std() * rng.normal(size=len(rows))
    return _to_text(rows, AMINO_ACIDS), _to_classes(value > np.quantile(value, 0.7))


def nucleosomes(seed: int) -> Simulation:
    """Simulate windows with A in a period of 10 bases, or with more T."""
    rng, length = np.random.default_rng(seed), 147
    rows = rng.integers(0, 4, (_count(4000), length))
    classes, phases = rng.integers(0, 2, len(rows)), rng.integers(0, 10, len(rows))
    places = (np.arange(length) + phases[:, None]) % 10
    chances = rng.random(rows.shape)
    rows[(classes == 1)[:, None] & (places <= 1) & (chances < 0.16)] = 0
    rows[(classes == 0)[:, None] & (chances < 0.03)] = 3
    return _to_text(rows), _to_classes(classes)


def enhancers(seed: int) -> Simulation:
    """Simulate windows that differ in GC content and in motifs on either strand."""
    rng, length = np.random.default_rng(seed), 200
    classes = rng.integers(0, 2, _count(2500))
    strong = 0.42 + 0.05 * classes + 0.05 * rng.normal(size=len(classes))
    is_strong = rng.random((len(classes), length)) < strong[:, None]
    rows = np.where(
        is_strong,
        rng.integers(1, 3, is_strong.shape),
        3 * rng.integers(0, 2, is_strong.shape),
    )
    motifs = rng.integers(0, 4, (4, 8))
    for row, is_enhancer in zip(rows, classes, strict=True):
        for motif in motifs:
            if rng.random() < (0.45 if is_enhancer else 0.15):
                # In the order ACGT, the complement of a base is 3 minus its number.
                _place(rng, row, motif if rng.random() < 0.5 else 3 - motif[::-1])
    return _to_text(rows), _to_classes(classes)


def motif_pairs(seed: int) -> Simulation:
    """Simulate windows with one motif, or with two motifs."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (_count(2000), 200))
    classes, motifs = rng.integers(0, 2, len(rows)), rng.integers(0, 4, (2, 8))
    for row, has_both in zip(rows, classes, strict=True):
        for motif in motifs if has_both else motifs[:1]:
            _place(rng, row, motif)
    return _to_text(rows), _to_classes(classes)


def _place(rng: np.random.Generator, row: NDArray[Any], motif: NDArray[Any]) -> None:
    """Write a motif with one random residue to a random position."""
    start, own = rng.integers(0, len(row) - len(motif)), motif.copy()
    own[rng.integers(0, len(motif))] = rng.integers(0, 4)
    row[start : start + len(motif)] = own


def proteins(seed: int) -> Simulation:
    """Simulate proteins that differ in composition, and half of them in a motif."""
    rng = np.random.default_rng(seed)
    shares = np.full(20, 0.05)
    shares[[8, 14, 16]] *= 1.35  # K, R and T
    shares /= shares.sum()
    sequences, classes = list[str](), rng.integers(0, 2, _count(1500))
    for is_positive in classes:
        length = rng.integers(12, 150)
        row = rng.choice(20, length, p=shares if is_positive else None)
        if is_positive and rng.random() < 0.5:
            start = rng.integers(0, length - 4)
            row[start : start + 4] = (0, 4, 8, 12)  # AFKP
        sequences += _to_text(row[None], AMINO_ACIDS)
    return sequences, _to_classes(classes)


def scan(seed: int) -> Simulation:
    """Simulate a mutational scan of a protein."""
    sequences, values = simulate_scan(_count(3000), length=60, seed=seed)
    return sequences, values.tolist()


def trait(seed: int, *, causal: int, heritability: float = 0.5) -> Dataset:
    """Simulate genotypes of unlinked variants, and a trait with additive effects."""
    rng = np.random.default_rng(seed)
    individuals, variants = _count(2000), _count(4000)
    frequencies = rng.uniform(0.05, 0.5, variants)
    genotypes = rng.binomial(2, frequencies, (individuals, variants)).astype(np.int8)
    chosen = rng.choice(variants, round(causal * _FACTOR), replace=False)
    scaled = genotypes[:, chosen] - 2 * frequencies[chosen]
    scaled /= np.sqrt(2 * frequencies[chosen] * (1 - frequencies[chosen]))
    value = scaled @ rng.normal(size=len(chosen))
    noise = np.sqrt(1 - heritability) * rng.normal(size=individuals)
    value = np.sqrt(heritability) * value / value.std() + noise
    path = REPOSITORY_ROOT / f"target/learning/trait-{causal}-{seed}.bed"
    path.parent.mkdir(parents=True, exist_ok=True)
    to_bed(path, genotypes)
    labels = {f"iid{row + 1}": float(it) for row, it in enumerate(value)}
    return GenotypeDataset(path, Labels(labels, task="regress"))
