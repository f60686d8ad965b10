"""Time one call in seqloom and in torch: python -m benchmarks.tensor._one_call NAME."""

import json
import sys
from collections.abc import Callable
from timeit import timeit
from typing import Any

import numpy as np
import torch

from benchmarks._measure import time_alternately
from seqloom import Key
from seqloom.nn import functional as F
from seqloom.tensor import Autodiff, backend, scope

ROUNDS, CALLS = 100, 2000


def time_recorded_addition() -> dict[str, list[float]]:
    """Return the time of a recorded addition, and how much longer it is than in NumPy."""
    torch.set_num_threads(1)
    plain = np.ones((8, 8), np.float32)
    level = Autodiff(backend("numpy", num_threads=1))
    leaf, followed = level.tensor(plain, requires_grad=True), torch.ones(8, 8)
    followed.requires_grad_()
    sides = _addition_functions(plain, leaf, followed)
    with scope():
        rounds = [[_time_call(call) for call in sides] for _ in range(ROUNDS)]
    raw, ours, theirs = (min(each) for each in zip(*rounds, strict=True))
    return {"ours": [ours], "torch": [theirs], "over": [ours - raw]}


def _addition_functions(*values: Any) -> list[Callable[[], Any]]:
    """Return functions that each add an array to itself."""
    return [lambda each=each: each + each for each in values]


def _time_call(call: Callable[[], Any]) -> float:
    return timeit(call, number=CALLS) / CALLS


def time_dropout() -> dict[str, list[float]]:
    """Time the dropout of a hidden layer of the encoder."""
    torch.set_num_threads(1)
    x = np.ones((8, 256, 1280), np.float32)
    ours, theirs = backend("numpy", num_threads=1).tensor(x), torch.from_numpy(x)
    sides = {
        "ours": lambda: F.dropout(ours, 0.1, key=Key(0)),
        "torch": lambda: torch.nn.functional.dropout(theirs, 0.1),
    }
    time_alternately(sides, rounds=3)
    return time_alternately(sides, rounds=21)


if __name__ == "__main__":
    print(
        json.dumps({"tape": time_recorded_addition, "dropout": time_dropout}[sys.argv[1]]())
    )
