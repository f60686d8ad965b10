"""Two hundred workers are killed, and no batch changes."""

import os
import signal

import numpy as np
import pytest

import loader_user as user
from seqloom.data import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
ITEMS, BATCH = 800, 4


def _batches(workers, method, kills):
    """Make an epoch, killing the worker that made the batch in hand."""
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
    """Kill a process that may have died of an earlier kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


@pytest.mark.parametrize(
    ("method", "wanted"), [("fork", 200), ("forkserver", 30), ("spawn", 30)]
)
def test_two_hundred_kills_change_nothing(method, wanted):
    whole = [items.tolist() for items in DataLoader(range(ITEMS), BATCH, shuffle=True)]
    rng = np.random.default_rng(0)
    killed = 0
    while killed < wanted:
        kills = set(rng.choice(ITEMS // BATCH, 25, replace=False).tolist())
        more, batches = _batches(int(rng.integers(1, 5)), method, kills)
        killed += more
        assert batches == whole
