"""Tables of scores: what is read can be written, and is the same then."""

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
    found = sl.infer.Scores.read_tsv(path)
    str(found)
    found.to_tsv(path)
    again = sl.infer.Scores.read_tsv(path)
    assert again.ids == found.ids
    assert again.classes == found.classes
    assert np.array_equal(again.to_numpy(), found.to_numpy(), equal_nan=True)


if __name__ == "__main__":
    run(_try_one, _SEEDS)
