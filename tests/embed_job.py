"""An embedding job for tests to start and kill: embed_job.py FILE OUT [SIZE [PART]]."""

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

EMBEDDING_WIDTH = 8
EMBEDDING_TABLE = (
    np.random.default_rng(7).normal(size=(33, EMBEDDING_WIDTH)).astype(np.float32)
)


def embed_tokens(batch):
    """Embed tokens, as a model would: return the table row of each token."""
    return EMBEDDING_TABLE[batch["input_ids"]]


def expected_mean(letters):
    """Compute the mean embedding of a sequence directly, in float64."""
    tokens = sl.encode.Tokens("esm2")(letters)[1:-1]
    return EMBEDDING_TABLE[tokens].astype(np.float64).mean(axis=0)


def resident(pid):
    """Return the memory of a process in bytes; 0 after it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def run(file, out, shard_size: Any = 500, **options):
    """Embed a file with the settings that all tests use."""
    return sl.infer.embed(
        embed_tokens, file, out=out, shard_size=int(shard_size), num_threads=1, **options
    )


def load_model(backend):
    """Return the model; each process of a job calls this function."""
    return embed_tokens


def load_and_die_once(backend):
    """Return a model whose first call in a job kills the process."""
    return kill_first


def kill_first(batch):
    """Kill the process in the first call of a job; in later calls, embed the batch."""
    try:
        Path(os.environ["KILL_ONCE"]).touch(exist_ok=False)
    except FileExistsError:
        return embed_tokens(batch)
    return os.kill(os.getpid(), signal.SIGKILL)


def refuse(backend):
    """Create the model."""
    raise sl.errors.BackendError(f"{backend.name}: there is no such device")


def refuse_links():
    """Emulate a disk without hard links."""

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
