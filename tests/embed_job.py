"""A job for tests to start, kill and stop: python embed_job.py FILE OUT [SIZE [PART]]."""

import errno
import os
import signal
import sys
import time
from pathlib import Path
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


def resident(pid):
    """The memory of a process, in bytes; 0 once it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def run(file, out, shard_size: Any = 500, **options):
    """Embed a file as every test does."""
    return sl.infer.embed(
        embed_tokens, file, out=out, shard_size=int(shard_size), num_threads=1, **options
    )


def load_model(backend):
    """The model, as each of several processes loads it."""
    return embed_tokens


def load_and_die_once(backend):
    """Load the model; the first process that does so is killed in its first batch."""
    return kill_first


def kill_first(batch):
    """The model of which one call kills its process."""
    try:
        Path(os.environ["KILL_ONCE"]).touch(exist_ok=False)
    except FileExistsError:
        return embed_tokens(batch)
    return os.kill(os.getpid(), signal.SIGKILL)


def refuse(backend):
    """Load nothing."""
    raise sl.errors.BackendError(f"{backend.name}: there is no such device")


def refuse_links():
    """Make every disk one without hard links."""

    def link(*names):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), *names[:1])

    os.link = link


if os.environ.get("WITHOUT_LINKS"):
    refuse_links()

if __name__ == "__main__":
    part = sys.argv[4] if len(sys.argv) > 4 else None
    begun = time.perf_counter()
    summary = run(*sys.argv[1:4], part=part)
    print(summary.computed, summary.sequences, time.perf_counter() - begun)  # noqa: T201
