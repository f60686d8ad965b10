"""Tests of `fit` with loaders: their length, empty epochs, and means over all steps."""

from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from fit_arguments import as_arguments
from seqloom import nn
from seqloom.errors import ArgumentError
from seqloom.nn import functional as F

CONSTANT_SCHEDULE = sl.optim.Constant(0.05)
INPUT_ARRAY = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
DATASET_ROWS = [{"x": x, "y": x.sum()} for x in INPUT_ARRAY]


class Iterable:
    """An iterable without a length."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class Once(Iterable):
    """An iterable that is empty after one pass."""

    def __iter__(self):
        while self.items:
            yield self.items.pop()


class TorchIterable(Iterable, torch.utils.data.IterableDataset[Any]):
    """An iterable dataset for a PyTorch loader."""


def train(data, *, model=None, **options):
    model = model or nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    every: dict[str, Any] = {"loss": F.mse_loss, "epochs": 3, "report": False, **options}
    return sl.train.fit(model, data, **as_arguments(**every))


def is_learning(run):
    losses = [row["train_loss"] for row in run.history]
    return losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    "data",
    [
        Iterable([{"x": INPUT_ARRAY, "y": INPUT_ARRAY.sum(axis=1)}] * 4),
        sl.data.DataLoader(Iterable(DATASET_ROWS), batch_size=10),
        torch.utils.data.DataLoader(TorchIterable(DATASET_ROWS), batch_size=10),
    ],
    ids=["iterable", "ours", "torch"],
)
def test_batches_without_a_length_need_a_schedule(data):
    plans = []

    class Reader(sl.train.Progress):
        def on_start(self, plan):
            plans.append((plan.batches, plan.samples))

    with pytest.raises(ArgumentError, match="has no length; give a schedule, such as lr="):
        train(data)
    assert is_learning(train(data, lr=CONSTANT_SCHEDULE, callbacks=[Reader()]))
    assert plans == [(0, 0)]


def test_a_loader_with_a_packing_collator_has_no_length():
    collate = sl.data.VarlenCollator(max_tokens=10)
    items = [{"inputs": np.arange(size) % 4} for size in (3, 6, 4, 5)]
    loader = sl.data.DataLoader(items, collate_fn=collate)
    with pytest.raises(TypeError, match="packing collator"):
        len(loader)

    def step(model, batch):
        return (model(batch["input_ids"]) ** 2).mean()

    options: dict[str, Any] = {"loss": None, "step": step, "lr": CONSTANT_SCHEDULE}
    assert is_learning(train(loader, model=nn.Embedding(8, 2), **options))


@pytest.mark.parametrize("lr", [0.05, CONSTANT_SCHEDULE], ids=["rate", "schedule"])
def test_an_epoch_without_a_batch_is_an_error(lr):
    data = sl.data.DataLoader(DATASET_ROWS, batch_size=50, drop_last=True)
    with pytest.raises(ArgumentError, match="epoch 1: the training loader returned no"):
        train(data, lr=lr)


def test_a_loader_that_is_empty_in_the_second_epoch_is_an_error():
    with pytest.raises(ArgumentError, match="epoch 2: the training loader returned no"):
        train(
            Once([{"x": INPUT_ARRAY, "y": INPUT_ARRAY.sum(axis=1)}]), lr=CONSTANT_SCHEDULE
        )


def test_the_accuracy_uses_only_steps_that_return_outputs():
    count = 0

    def step(model, batch):
        nonlocal count
        count += 1
        loss = F.mse_loss(model(batch["x"]), batch["y"])
        logits = F.one_hot(batch["label"], 2) * 1.0
        return (loss, logits) if count == 1 else (loss, {"twice": 2.0})

    labels = np.arange(40) % 2
    data = {"x": INPUT_ARRAY, "y": INPUT_ARRAY.sum(axis=1), "label": labels}
    options: dict[str, Any] = {"loss": None, "task": "classify", "step": step}
    (row,) = train(data, batch_size=10, epochs=1, **options).history
    assert (row["train_accuracy"], row["train_twice"]) == (1.0, 2.0)


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_validation_or_test_loader_without_a_batch_is_an_error(part):
    empty = sl.data.DataLoader(DATASET_ROWS, batch_size=50, drop_last=True)
    data = sl.data.DataLoader(DATASET_ROWS, batch_size=10)
    with pytest.raises(ArgumentError, match="validation or test set returned no batch"):
        train(data, **{part: empty})


def test_a_logged_validation_number_is_averaged_over_batches_that_return_it():
    def step(model, batch):
        loss = F.mse_loss(model(batch["x"]), batch["y"])
        return loss, {"half": 0.5} if len(batch["y"]) == 10 else {}

    batches = [
        {"x": INPUT_ARRAY[:10], "y": INPUT_ARRAY[:10, 0]},
        {"x": INPUT_ARRAY[10:], "y": INPUT_ARRAY[10:, 0]},
    ]
    run = train(batches, valid=batches, loss=None, step=step)
    assert [row["valid_half"] for row in run.history] == [0.5] * 3
