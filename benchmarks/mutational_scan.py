"""Compare the defaults of `for_data` and `fit` with ridge regression on simulated scans.

Four fifths of each scan are the training set, and one fifth is the test set. A tenth of
the training set is used to choose the best epoch of the network. The penalty of ridge
regression is chosen by leave-one-out cross-validation.
"""

from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._simulated_scan import (
    predict_with_ridge_regression,
    simulate_scan,
    train_and_evaluate,
)
from seqloom.nn import spearman

VARIANTS_AND_LENGTHS = full_or_quick(
    ((1500, 40), (3000, 60), (6000, 100)), ((1500, 40), (3000, 60))
)
SEEDS = range(full_or_quick(3, 1))
TABLE_COLUMNS = (
    "variants",
    "letters",
    "ridge regression, Spearman",
    "SequenceCNN, Spearman",
)


def main() -> None:
    """Evaluate the network and ridge regression on every protein."""
    rows = [_mean_correlations(*size) for size in VARIANTS_AND_LENGTHS]
    publish_section(
        "mutational_scan",
        markdown_table(TABLE_COLUMNS, rows)
        + f"\n\n{describe_machine('numpy', 'scikit-learn')}",
    )


def _mean_correlations(count: int, length: int) -> tuple[str, str, str, str]:
    """Return the mean rank correlations over all proteins."""
    pairs = np.array([_protein_correlations(count, length, seed) for seed in SEEDS])
    by_ridge, by_network = (f"{mean(column):.3f}" for column in pairs.T)
    return f"{count:,}", str(length), by_ridge, by_network


def _protein_correlations(count: int, length: int, seed: int) -> tuple[float, float]:
    """Return the rank correlations of both models for one protein."""
    letters, values = simulate_scan(count, length=length, seed=seed)
    learned = 4 * count // 5
    with TemporaryDirectory() as folder:
        run = train_and_evaluate(Path(folder), letters, values, learned=learned)
    expected = values[learned:].astype(np.float32)
    found = predict_with_ridge_regression(letters, values, learned=learned)
    return spearman(expected, found), run.test.metrics["spearman"]
