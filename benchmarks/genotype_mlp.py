"""Compare GenotypeMLP with ridge regression on the same folds and genotypes.

The penalty of ridge regression is chosen by leave-one-out cross-validation on the
training set. A tenth of the training set is used to choose the best epoch of the
network. The traits of the example are hardly predictable from 1,000 variants; simulated
traits on the same genotypes are more predictable.
"""

from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from seqloom.data import Dataset, GenotypeDataset, Labels, folds, split
from seqloom.infer import evaluate
from seqloom.models import GenotypeMLPConfig
from seqloom.nn import r2
from seqloom.train import Computation, fit

DATA_FOLDER = REPOSITORY_ROOT / "python/seqloom/_demo/genotypes"
FOLDS, SEEDS = 5, full_or_quick(3, 1)
# Number of causal variants of a simulated trait, and its heritability.
SIMULATED_TRAITS = full_or_quick(((20, 0.8), (1000, 0.95), (50, 0.5)), ((1000, 0.95),))
RIDGE_PENALTIES = np.logspace(0, 6, 25)
TABLE_COLUMNS = (
    "trait",
    "ridge regression, r2",
    "ridge on nine tenths of the samples, r2",
    "GenotypeMLP, r2",
    "difference from ridge",
    "standard error",
)


def main() -> None:
    """Evaluate ridge regression and the network on each fold and seed."""
    rows = [
        (f"{name} of the example data", *_compare_scores(read_example_trait(name)))
        for name in full_or_quick(("Y1", "Y2"), ("Y1",))
    ]
    for causal, share in SIMULATED_TRAITS:
        trait = simulate_trait(causal, share, seed=causal)
        title = f"simulated: {causal} causal variants, h2 {share}"
        rows.append(
            (title, *_compare_scores(GenotypeDataset(DATA_FOLDER / "example.bed", trait)))
        )
    text = markdown_table(TABLE_COLUMNS, rows)
    text += f"\n\n{describe_machine('numpy', 'scikit-learn')}"
    publish_section("genotype_mlp", text, shown="Y1|simulated: [12]")


def read_example_trait(column: str) -> Dataset:
    """Read the example data with one trait."""
    return GenotypeDataset(
        DATA_FOLDER / "example.bed",
        Labels(DATA_FOLDER / "phenotype.txt", label_column=column),
    )


def simulate_trait(causal: int, share: float, *, seed: int) -> NDArray[np.float64]:
    """Simulate a trait; causal variants explain the given fraction of its variance."""
    rng = np.random.default_rng(seed)
    genotypes = GenotypeDataset(DATA_FOLDER / "example.bed", False).to_numpy()["inputs"]  # noqa: FBT003 - no labels
    chosen = rng.choice(genotypes.shape[1], causal, replace=False)
    value = genotypes[:, chosen] @ rng.normal(size=causal)
    noise = rng.normal(size=len(value))
    return np.sqrt(share) * value / value.std() + np.sqrt(1 - share) * noise


def scores_by_fold(data: Dataset) -> list[tuple[float, float, float]]:
    """Return the r2 of two ridge regressions and of the network for each fold."""
    return [
        _score_fold(teach, held, seed=FOLDS * seed + number)
        for seed in range(SEEDS)
        for number, (teach, held) in enumerate(folds(data, FOLDS, seed=seed))
    ]


def _score_fold(teach: Dataset, held: Dataset, *, seed: int) -> tuple[float, float, float]:
    """Evaluate both ridge regressions and the network on one fold."""
    train, valid = split(teach, (0.9, 0.1), seed=seed)
    return (
        score_ridge(teach, held),
        score_ridge(train, held),
        score_network(train, valid, held, seed=seed),
    )


def score_ridge(teach: Dataset, held: Dataset) -> float:
    """Fit ridge regression and return its r2 on the held-out samples."""
    encoder = teach.encoder.fit(teach)
    known, new = (part.with_encoder(encoder).to_numpy() for part in (teach, held))
    model = RidgeCV(RIDGE_PENALTIES).fit(known["inputs"], known["label"])
    guess = model.predict(new["inputs"])
    return r2(new["label"][:, None], np.asarray(guess, np.float32)[:, None])


def score_network(train: Dataset, valid: Dataset, held: Dataset, *, seed: int) -> float:
    """Train like `seqloom train` and return the r2 on the held-out samples."""
    config = GenotypeMLPConfig.for_data(train)
    # Matrices of this size do not benefit from a second thread.
    run = fit(config, train, valid, seed=seed, backend=Computation(num_threads=1))
    return evaluate(run.trained, held, num_threads=1)["r2"]


def _compare_scores(data: Dataset) -> tuple[str, ...]:
    """Return the mean scores, and the network's gain over ridge with its standard error."""
    scores = scores_by_fold(data)
    gaps = [ours - theirs for theirs, _, ours in scores]
    means = [f"{mean(values):.4f}" for values in zip(*scores, strict=True)]
    print(data, *means, sep="\t", flush=True)
    error = stdev(gaps) / len(gaps) ** 0.5
    return *means, f"{mean(gaps):+.4f}", f"{error:.4f}"
