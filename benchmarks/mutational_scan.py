"""What `for_data` and `fit` choose, beside ridge regression, on simulated scans.

Each protein's scan is cut once: four fifths to learn from, of which the network puts a
tenth aside to choose its epoch, and the rest to compare on. Ridge learns from all four
fifths and chooses its penalty by leaving one variant out.
"""

from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks._measure import pick
from benchmarks._page import machine, publish, table
from benchmarks._scan import learned_and_judged, ridge, scan
from seqloom.nn import spearman

SIZES = pick(((1500, 40), (3000, 60), (6000, 100)), ((1500, 40), (3000, 60)))
SEEDS = range(pick(3, 1))
HEAD = ("variants", "letters", "ridge regression, Spearman", "SequenceCNN, Spearman")


def main() -> None:
    """Score both on every protein."""
    rows = [_compare(*size) for size in SIZES]
    publish("mutational_scan", f"{table(HEAD, rows)}\n\n{machine('numpy', 'scikit-learn')}")


def _compare(count: int, length: int) -> tuple[str, str, str, str]:
    """Return the means over some proteins."""
    pairs = np.array([_scores(count, length, seed) for seed in SEEDS])
    by_ridge, by_network = (f"{mean(column):.3f}" for column in pairs.T)
    return f"{count:,}", str(length), by_ridge, by_network


def _scores(count: int, length: int, seed: int) -> tuple[float, float]:
    """Return both rank correlations for one protein."""
    letters, values = scan(count, length=length, seed=seed)
    learned = 4 * count // 5
    with TemporaryDirectory() as folder:
        run = learned_and_judged(Path(folder), letters, values, learned=learned)
    expected = values[learned:].astype(np.float32)
    found = ridge(letters, values, learned=learned)
    return spearman(expected, found), run.test.metrics["spearman"]
