"""Networks and outputs that tests/models/bpnet_lite/write.py wrote with bpnet-lite."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "models" / "bpnet_lite"


def expected_arrays():
    """Return inputs, outputs, losses and distances by name."""
    with np.load(FOLDER / "expected.npz") as file:
        return dict(file)


def one_hot(codes):
    """Return one-hot sequences ``(n, 4, length)`` for codes from 0 to 3."""
    return np.ascontiguousarray(np.eye(4, dtype=np.float32)[codes].transpose(0, 2, 1))
