"""The loader returns the same batches although two hundred workers are killed."""

import os
import signal

import numpy as np
import pytest

import loader_user as user
from seqloom.data import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
ITEMS, BATCH = 800, 4


def _batches(workers, method, kills):
    """Run an epoch, and kill the worker that created each batch listed in `kills`."""
    loader = DataLoader(
        range(ITEMS),
        BATCH,
        shuffle=True,
        collate_fn=user.with_pid,
        num_workers=workers,
        multiprocessing_context=method,
    )
    killed, batches = 0, []
    for number, (pid, items) in enumerate(loader):
        batches.append(items)
        if number in kills:
            killed += _kill(pid)
    return killed, batches


def _kill(pid):
    """Kill a process, and return 1, or 0 if the process has already ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


@pytest.mark.parametrize(
    ("method", "min_kills"), [("fork", 200), ("forkserver", 30), ("spawn", 30)]
)
def test_killed_workers_do_not_change_the_batches(method, min_kills):
    expected = [items.tolist() for items in DataLoader(range(ITEMS), BATCH, shuffle=True)]
    rng = np.random.default_rng(0)
    killed = 0
    while killed < min_kills:
        kills = set(rng.choice(ITEMS // BATCH, 25, replace=False).tolist())
        more, batches = _batches(int(rng.integers(1, 5)), method, kills)
        killed += more
        assert batches == expected
