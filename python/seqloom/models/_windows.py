"""What suits records of one length: settings of a `SequenceCNN`."""

from typing import Any

import numpy as np

from seqloom.models._examples import Examples
from seqloom.models._reads import as_plain

# From so many letters on, a fixed window is worth pooling.
_WORTH_POOLING = 16
# Records that are looked at, and the share of letters in which variants of one sequence
# agree: the windows of a genome agree in a third, mutants of a protein in nine tenths.
_LOOKED_AT = 256
_ALIKE = 0.6
# Of fewer records many letters agree by chance.
_FEW = 10
# Chosen on simulated scans (benchmarks/mutational_scan.py).
_FEATURES = 64


def for_counts() -> dict[str, Any]:
    """Gives the settings for counts of words: one layer over all of them."""
    return {"length": 1, "widths": (32,), "kernel_size": 1, "dropout": 0.5}


def for_windows(length: int, train: Examples, *, inputs: str) -> dict[str, Any]:
    """Gives the settings for windows of one length."""
    if inputs != "numbers" and _are_variants(train):
        return {"length": length, "widths": (), "aligned": _FEATURES}
    # Half of the features left out helps to tell classes apart, but blurs a number.
    dropout = {} if train.task == "regress" else {"dropout": 0.5}
    pools = (1, 2, 2) if length >= _WORTH_POOLING else ()
    return {"length": length, "kernel_size": (3, 5, 5), "pools": pools, **dropout}


def _are_variants(train: Examples) -> bool:
    """Says whether most letters of records are those of one sequence."""
    count = min(_LOOKED_AT, len(train))
    if count < _FEW:
        return False
    looked_at = np.linspace(0, len(train) - 1, count).astype(np.int64)
    rows = as_plain(train.batch(looked_at)["inputs"])
    if rows.ndim == 3:  # noqa: PLR2004 - one-hot
        return float(rows.mean(axis=0).max(axis=0).mean()) > _ALIKE
    return float((rows == np.median(rows, axis=0)).mean()) > _ALIKE
