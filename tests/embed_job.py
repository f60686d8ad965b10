"""A job for tests to start, kill and stop: python embed_job.py FILE OUT [SHARD_SIZE]."""

import sys
import time
from typing import Any

import numpy as np

import seqloom as sl

WIDTH = 8
TABLE = np.random.default_rng(7).normal(size=(33, WIDTH)).astype(np.float32)


def embed_tokens(batch):
    """A model of one table: the embedding of a token, with a bit of its neighbours."""
    return TABLE[batch["input_ids"]]


def expected_mean(letters):
    """The same by hand, in double precision."""
    tokens = sl.encode.Tokens("esm2")(letters)[1:-1]
    return TABLE[tokens].astype(np.float64).mean(axis=0)


def run(file, out, shard_size: Any = 500, **options):
    """Embeds a file as every test does."""
    return sl.infer.embed(
        embed_tokens, file, out=out, shard_size=int(shard_size), num_threads=1, **options
    )


if __name__ == "__main__":
    lease = float(sys.argv[4]) if len(sys.argv) > 4 else 60.0
    begun = time.perf_counter()
    summary = run(*sys.argv[1:4], lease=lease)
    print(summary.computed, summary.sequences, time.perf_counter() - begun)  # noqa: T201
