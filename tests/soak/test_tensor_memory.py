"""Training steps neither leak memory nor overwrite arrays that the user exported."""

import gc

import numpy as np

import seqloom as sl
from networks import MLP, train

STEP_COUNT = 1_000
NUMPY_BACKEND = sl.tensor.backend("numpy", num_threads=1)


def _intermediate_bytes():
    return sl.tensor.memory().by_purpose["intermediates"]


def _train_steps(count=STEP_COUNT):
    """Train, and yield the loss of each step within the memory scope of the step."""
    model, optimizer = MLP().bind(NUMPY_BACKEND, sl.Key(0)), sl.optim.AdamW()
    arrays = MLP.batch(np.random.default_rng(0))
    for number in range(count):
        with sl.tensor.scope():
            batch = {key: NUMPY_BACKEND.tensor(each) for key, each in arrays.items()}
            yield train(model, optimizer, sl.Key(0, number), 1e-3, batch)


def test_references_to_losses_do_not_keep_memory_allocated():
    losses, after = [], []
    for number, loss in enumerate(_train_steps()):
        losses.append(loss)
        if number:
            after.append(_intermediate_bytes())
    assert len(losses) == STEP_COUNT
    assert len(set(after[1:])) == 1


def test_exported_arrays_survive_later_steps_unchanged():
    exported, copies = [], []
    for number, loss in enumerate(_train_steps()):
        tensor = loss * NUMPY_BACKEND.tensor(np.full(64, number, np.float32))
        array = np.asarray(tensor) if number % 2 else np.from_dlpack(tensor)
        exported.append(array)
        copies.append(np.array(array, copy=True))
    gc.collect()
    assert all(map(np.array_equal, exported, copies))


def test_forward_passes_without_backward_do_not_leak_memory():
    model = MLP().bind(sl.tensor.Autodiff(NUMPY_BACKEND), sl.Key(0))
    arrays = MLP.batch(np.random.default_rng(0))
    batch = {key: model.backend.tensor(each) for key, each in arrays.items()}
    sizes = set[int]()
    for number in range(10_000):
        model.loss(batch, sl.Key(0, number))
        if number % 1000 == 999:
            sizes.add(_intermediate_bytes())
    assert len(sizes) == 1
