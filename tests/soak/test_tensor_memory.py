"""A thousand steps: memory stays where it is, and what was handed out stays as it was."""

import gc

import numpy as np

import seqloom as sl
from networks import MLP, train

STEPS = 1_000
BACKEND = sl.tensor.backend("numpy", num_threads=1)


def _intermediates():
    return sl.tensor.memory().by_purpose["intermediates"]


def _steps(count=STEPS):
    """Trains, giving the loss of each step inside that step's scope."""
    model, optimizer = MLP().bind(BACKEND, sl.Key(0)), sl.optim.AdamW()
    arrays = MLP.batch(np.random.default_rng(0))
    for number in range(count):
        with sl.tensor.scope():
            batch = {key: BACKEND.tensor(each) for key, each in arrays.items()}
            yield train(model, optimizer, sl.Key(0, number), 1e-3, batch)


def test_kept_references_do_not_keep_memory():
    held, after = [], []
    for number, loss in enumerate(_steps()):
        held.append(loss)
        if number:
            after.append(_intermediates())
    assert len(held) == STEPS
    assert len(set(after[1:])) == 1


def test_exported_arrays_survive_later_steps_unchanged():
    exported, copies = [], []
    for number, loss in enumerate(_steps()):
        tensor = loss * BACKEND.tensor(np.full(64, number, np.float32))
        array = np.asarray(tensor) if number % 2 else np.from_dlpack(tensor)
        exported.append(array)
        copies.append(np.array(array, copy=True))
    gc.collect()
    assert all(map(np.array_equal, exported, copies))


def test_forwards_that_nobody_differentiates_leave_nothing():
    model = MLP().bind(sl.tensor.Autodiff(BACKEND), sl.Key(0))
    arrays = MLP.batch(np.random.default_rng(0))
    batch = {key: model.backend.tensor(each) for key, each in arrays.items()}
    found = set[int]()
    for number in range(10_000):
        model.loss(batch, sl.Key(0, number))
        if number % 1000 == 999:
            found.add(_intermediates())
    assert len(found) == 1
