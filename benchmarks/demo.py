"""Run the training of the demo with three seeds, and score the test windows."""

import time
from statistics import median
from typing import Any

from benchmarks._page import describe_machine, markdown_table, publish_section
from seqloom.cli._demo import NETWORK_SETTINGS
from seqloom.cli._splice import read_splice
from seqloom.models import SequenceCNNConfig
from seqloom.train import Run, fit

SEEDS = (0, 1, 2)
# Best result of the StatLog study on the same split.
PUBLISHED_ACCURACY = 0.959
TABLE_COLUMNS = ("seed", "epoch chosen", "training, s", "test accuracy")


def main() -> None:
    """Train for each seed; the test windows do not influence the training."""
    runs = [_train_with_seed(seed) for seed in SEEDS]
    accuracies = [run.test.metrics["accuracy"] for run, _ in runs if run.test]
    rows: list[tuple[object, ...]] = [
        (seed, run.best_epoch, f"{seconds:.1f}", f"{accuracy:.4f}")
        for seed, (run, seconds), accuracy in zip(SEEDS, runs, accuracies, strict=True)
    ]
    rows.append(("median", "", "", f"**{median(accuracies):.4f}**"))
    text = markdown_table(TABLE_COLUMNS, rows)
    text += f"\n\nThe StatLog study's best accuracy is {PUBLISHED_ACCURACY:.3f}."
    publish_section("demo", f"{text} {describe_machine('numpy', 'seqloom')}")


def _train_with_seed(seed: int) -> tuple[Run, float]:
    """Train like the demo, and return the run and its seconds."""
    splice = read_splice(seed)
    config = SequenceCNNConfig.for_data(splice.train)
    settings: dict[str, Any] = {**NETWORK_SETTINGS, "seed": seed, "test": splice.test}
    start = time.perf_counter()
    run = fit(config, splice.train, splice.valid, **settings)
    return run, time.perf_counter() - start
