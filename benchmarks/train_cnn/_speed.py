"""Train with seqloom and PyTorch, epoch by epoch in turns.

The command is ``python -m benchmarks.train_cnn._speed THREADS``.
"""

import json
import sys
from typing import Any

import numpy as np

from benchmarks._measure import time_alternately
from benchmarks.train_cnn._setup import EPOCHS, disable_dropout, make_trainer, prepare_data
from seqloom._threads import limit_blas
from seqloom.models import SequenceCNNConfig

TRAINED_LIBRARIES = ("seqloom", "torch")


def main(threads: int) -> None:
    """Print the seconds of each epoch in both libraries, and the difference of losses."""
    config, batches = prepare_data()
    with limit_blas(threads):
        apart = _compare_losses(disable_dropout(config), batches, threads)
        sides = {name: make_trainer(name, config, threads) for name in TRAINED_LIBRARIES}
        epochs = {name: _make_epoch(side, batches) for name, side in sides.items()}
        time_alternately(epochs, rounds=1)  # Warm-up: allocates memory and selects kernels.
        seconds = time_alternately(epochs, rounds=EPOCHS)
    print(json.dumps({"steps": len(batches), "apart": apart, "seconds": seconds}))


def _compare_losses(config: SequenceCNNConfig, batches: list[Any], threads: int) -> float:
    """Train both networks from equal weights; return the largest difference of losses."""
    sides = [make_trainer(name, config, threads) for name in TRAINED_LIBRARIES]
    ours, theirs = ([side.step(batch) for batch in batches] for side in sides)
    apart = float(np.abs(np.subtract(ours, theirs)).max())
    assert apart < 1e-3, f"the sides do not compute the same: losses are {apart} apart"
    return apart


def _make_epoch(side: Any, batches: list[Any]) -> Any:
    """Return a function that trains for one epoch."""
    return lambda: [side.step(batch) for batch in batches]


if __name__ == "__main__":
    main(int(sys.argv[1]))
