"""Simulated mutational scans: variants of one protein, each with a few substitutions."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
# Number of features per amino acid, and fraction of pairs of positions that interact.
_FEATURES_PER_RESIDUE = 3
_INTERACTING_PAIR_FRACTION = 0.05


class SimulatedProtein:
    """A protein whose fitness depends on its residues and on pairs of residues.

    Args:
        length: Number of residues.
        seed: Seed of the protein.
    """

    def __init__(self, length: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        draw = self.random.normal
        self.wild = self.random.integers(0, 20, length)
        # Effect of each amino acid at each position, relative to the wild type.
        traits = draw(size=(20, _FEATURES_PER_RESIDUE))
        self.change = traits[None] - traits[self.wild][:, None]
        self.effect = self._effects()
        pairs = np.triu(
            self.random.random((length, length)) < _INTERACTING_PAIR_FRACTION, 1
        )
        self.pairs = [
            (int(one), int(other)) for one, other in zip(*np.nonzero(pairs), strict=True)
        ]
        self.coupling = {
            pair: 0.4 * draw(size=(_FEATURES_PER_RESIDUE, _FEATURES_PER_RESIDUE))
            for pair in self.pairs
        }

    def _effects(self) -> np.ndarray:
        """Draw the effect of each residue at each position: most effects are small."""
        length = len(self.wild)
        sensitive = self.random.gamma(0.6, 1.0, length)[:, None]
        wishes = self.random.normal(size=(length, _FEATURES_PER_RESIDUE))
        far = np.linalg.norm(self.change, axis=2)
        liked = np.einsum("ijk,ik->ij", self.change, wishes)
        own = self.random.normal(size=(length, 20)) * (far > 0)
        return sensitive * (0.4 * liked - 0.36 * far + 0.2 * own)

    def sample_variants(self, count: int, *, mean: float = 1.5) -> np.ndarray:
        """Draw variants; their number of substitutions is 1 plus a Poisson number."""
        rows = np.tile(self.wild, (count, 1))
        for row in rows:
            many = min(1 + self.random.poisson(mean), len(row))
            at = self.random.choice(len(row), many, replace=False)
            row[at] = (row[at] + self.random.integers(1, 20, many)) % 20
        return rows

    def simulate_fitness(self, rows: np.ndarray, *, noise: float) -> np.ndarray:
        """Return the fitness of variants: a sigmoid of all effects, with noise."""
        places = np.arange(rows.shape[1])
        total = self.effect[places, rows].sum(axis=1)
        change = self.change[places, rows]
        for (one, other), coupling in self.coupling.items():
            total += np.einsum("ni,ij,nj->n", change[:, one], coupling, change[:, other])
        measured = 1 / (1 + np.exp(-(total + 2)))
        return measured + noise * self.random.normal(size=len(rows))


def simulate_scan(
    count: int, *, length: int, noise: float = 0.1, seed: int = 0
) -> tuple[list[str], np.ndarray]:
    """Simulate a scan: sequences of the variants and their fitness."""
    protein = SimulatedProtein(length, seed)
    rows = protein.sample_variants(count)
    letters = ["".join(AMINO_ACIDS[number] for number in row) for row in rows]
    return letters, protein.simulate_fitness(rows, noise=noise)


def train_and_evaluate(
    folder: Path, letters: list[str], values: np.ndarray, *, learned: int, **options: Any
) -> Any:
    """Train the default network of `for_data` on some variants; evaluate on the rest."""
    path, chosen_by = folder / "scan.fa", learned * 9 // 10
    path.write_text("".join(f">v{i}\n{row}\n" for i, row in enumerate(letters)))
    data = sl.data.SequenceDataset(
        path,
        labels=sl.data.Labels(
            {f"v{i}": float(value) for i, value in enumerate(values)}, task="regress"
        ),
        encoder=sl.encode.OneHot("protein"),
    )
    cuts = [0, chosen_by, learned, len(letters)]
    train, valid, test = (
        sl.data.Subset(data, list(range(start, end))) for start, end in pairwise(cuts)
    )
    config = sl.models.SequenceCNNConfig.for_data(train, valid, test)
    return sl.train.fit(config, train, valid, test=test, **options)


def predict_with_ridge_regression(
    letters: list[str], values: np.ndarray, *, learned: int
) -> np.ndarray:
    """Predict the fitness of test variants with ridge regression on one-hot residues."""
    from sklearn.linear_model import RidgeCV

    inputs = sl.encode.OneHot("protein").batch(letters).reshape(len(letters), -1)
    model = RidgeCV(np.logspace(-1, 2, 10)).fit(inputs[:learned], values[:learned])
    return model.predict(inputs[learned:])
