"""Read tables of scores; writing and reading a table again must not change it."""

from __future__ import annotations

import numpy as np
from hostile import run, scratch

import seqloom as sl

_SEEDS = [
    b"id\tEI\tIE\na\t0.9\t0.1\nb\tnan\t-inf\n",
    b"id\ngc\n",
    b"record_id\tid\na\t1e-40\n",
]


def _try_one(data: bytes) -> None:
    path = scratch("scores.tsv")
    path.write_bytes(data)
    scores = sl.infer.Scores.read_tsv(path)
    str(scores)
    scores.to_tsv(path)
    again = sl.infer.Scores.read_tsv(path)
    assert again.ids == scores.ids
    assert again.classes == scores.classes
    assert np.array_equal(again.to_numpy(), scores.to_numpy(), equal_nan=True)


if __name__ == "__main__":
    run(_try_one, _SEEDS)
