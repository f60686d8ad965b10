"""ChromBPNet separates a planted motif from the bias of an enzyme in a real genome.

Regions are intervals of E. coli. The simulated enzyme prefers some words of 8 bases. In
half of the regions, a motif in the middle adds reads within 20 bases.
"""

import gzip
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from bpnet_files import one_hot
from fastx import real
from seqloom.models import BPNetConfig, ChromBPNet

pytestmark = [
    pytest.mark.soak,
    # The counts of regions without motif differ only by chance.
    pytest.mark.filterwarnings("ignore::seqloom.errors.NoSkillWarning"),
]
WIDTH, POSITIONS, REGIONS = 400, 200, 1200
TRIMMING, MIDDLE = (WIDTH - POSITIONS) // 2, WIDTH // 2
MOTIF = np.array([3, 2, 0, 1, 3, 1, 0])  # TGACTCA
# Expected reads of a region without motif, and reads that a motif adds.
BACKGROUND_READS, MOTIF_READS, SPREAD = 30.0, 120.0, 20.0
PREFERENCES: Any = np.random.default_rng(1).normal(0.0, 0.6, (8, 4))


class Regions:
    """Simulated regions: bases, rates without and with bias, and reads."""

    def __init__(self, genome, count, seed, *, has_motif):
        random = np.random.default_rng(seed)
        starts: Any = random.integers(0, len(genome) - WIDTH, count)
        columns: Any = starts[:, None] + np.arange(WIDTH)
        self.codes = genome[columns]
        self.places: Any = np.full(count, -1)
        if has_motif:
            self.places = random.integers(MIDDLE - 40, MIDDLE + 40, count)
            self.codes[np.arange(count)[:, None], self.columns] = MOTIF
        self.reads = random.poisson(self.biased)[:, None].astype(np.float32)

    @property
    def columns(self):
        return self.places[:, None] + np.arange(-3, 4)

    @property
    def accessibility(self):
        distance = np.arange(POSITIONS) - (self.places[:, None] - TRIMMING)
        bump = np.exp(-0.5 * (distance / SPREAD) ** 2) / (SPREAD * np.sqrt(2 * np.pi))
        has_motif = (self.places >= 0)[:, None]
        return BACKGROUND_READS / POSITIONS + MOTIF_READS * bump * has_motif

    @property
    def biased(self):
        logs: Any = sum(
            PREFERENCES[k][self.codes[:, TRIMMING - 4 + k :][:, :POSITIONS]]
            for k in range(8)
        )
        return self.accessibility * np.exp(logs) / np.exp(logs).mean()

    def split(self):
        """Return arrays for training and validation."""
        x, count = one_hot(self.codes), len(self.codes) // 10
        return (
            {"x": x[count:], "y": self.reads[count:]},
            {"x": x[:count], "y": self.reads[:count]},
        )


def fit(network, *sets, **options) -> Any:
    joined = [
        {name: np.concatenate([part[name] for part in parts]) for name in ("x", "y")}
        for parts in zip(*sets, strict=True)
    ]
    run = sl.train.fit(network, *joined, objective="profile", batch_size=32, **options)
    return run.model.eval()


@pytest.fixture(scope="module")
def genome():
    path = real("genomes", "GCF_000005845.2_ASM584v2_genomic.fna.gz")
    with gzip.open(path, "rt") as file:
        text = "".join(line.strip() for line in file if not line.startswith(">"))
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(b"ACGT", np.uint8)] = range(4)
    return table[np.frombuffer(text.encode(), np.uint8)]


@pytest.fixture(scope="module")
def model(genome):
    peaks = Regions(genome, REGIONS, 11, has_motif=True).split()
    others = Regions(genome, REGIONS, 10, has_motif=False).split()
    bias = BPNetConfig(1, 16, 2, trimming=TRIMMING).init("numpy", sl.Key(0))
    bias = fit(bias, others, epochs=10, lr=5e-3)
    bias.match_counts(others[1]["x"], others[1]["y"])
    new = BPNetConfig(1, 16, 3, trimming=TRIMMING).init("numpy", sl.Key(1))
    return fit(ChromBPNet.of(bias, new), others, peaks, epochs=20, lr=8e-3)


def outputs_of(network, codes):
    profile, counts = network(network.backend.tensor(one_hot(codes)))
    return np.exp(profile.numpy()[:, 0].astype(np.float64)), counts.numpy()[:, 0]


def mean_correlation(one, other):
    return np.mean([np.corrcoef(*it)[0, 1] for it in zip(one, other, strict=True)])


def test_the_accessibility_has_no_bias_although_the_reads_have(genome, model):
    peaks = Regions(genome, 200, 98, has_motif=True)
    whole, _ = outputs_of(model, peaks.codes)
    found, _ = outputs_of(model.accessibility, peaks.codes)
    assert mean_correlation(whole, peaks.biased) > 0.95
    assert mean_correlation(found, peaks.accessibility) > 0.93
    assert mean_correlation(found, peaks.biased) < 0.6


def test_a_motif_in_other_regions_has_most_of_the_simulated_effect_on_counts(genome, model):
    regions = Regions(genome, 100, 99, has_motif=False)
    _, before = outputs_of(model, regions.codes)
    expected = np.log1p(regions.biased.sum(axis=1))
    regions.places[:] = MIDDLE
    regions.codes[:, MIDDLE - 3 : MIDDLE + 4] = MOTIF
    _, after = outputs_of(model, regions.codes)
    expected = (np.log1p(regions.biased.sum(axis=1)) - expected).mean()
    # With these few regions, the network learns about 0.7 of the effect.
    assert 0.5 * expected < (after - before).mean() < 1.1 * expected


def test_the_bases_of_the_motif_explain_the_counts(genome, model):
    regions = Regions(genome, 4, 97, has_motif=True)
    task = sl.models.Profile(("reads",))
    trained = sl.models.Trained(model.accessibility, sl.encode.OneHot("dna"), task, 32)
    texts = ["".join("ACGT"[code] for code in row) for row in regions.codes]
    found = sl.infer.explain(trained, texts, method="mutations")
    for weights, columns in zip(found.by_letter(), regions.columns, strict=True):
        assert np.isin(np.argsort(-weights)[:7], columns).mean() > 0.7
