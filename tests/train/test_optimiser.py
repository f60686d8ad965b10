"""Tests of user-defined optimisers, schedules and metrics in `fit`, also when resumed."""

import math
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, RunFolderError
from seqloom.train._updates import make_optimizer

STEPS_PER_EPOCH = 3  # an epoch has 48 records in batches of 16
CUSTOM_OPTIMISERS: list[Any] = [
    lambda: {"optimizer": sl.optim.SGD(momentum=0.9)},
    lambda: {"optimizer": sl.optim.Muon(), "schedule": sl.optim.OneCycle(0.02, total=12)},
    lambda: {
        "optimizer": sl.optim.ScheduleFreeAdamW(),
        "schedule": sl.optim.Constant(0.01),
    },
    lambda: {"schedule": sl.optim.Plateau(0.3, patience=0, factor=0.5)},
    lambda: {"schedule": halve},
]


def halve(step):
    """A schedule whose learning rate halves at each step."""
    return 0.1 * 0.5**step


def weights_of(run):
    """Return the parameters of a run's network as bytes."""
    return b"".join(np.asarray(each).tobytes() for each in run.model.to_record().values())


@pytest.fixture
def start(toy, small, tmp_path):
    """Train four epochs of three steps each; keyword arguments override the defaults."""

    def call(out="run", **options):
        every: dict[str, Any] = {"epochs": 4, "batch_size": 16, **options}
        valid = toy(30, name="valid")
        folder = out and tmp_path / out
        return sl.train.fit(
            small, toy(), valid, **as_arguments(out=folder, report=False, **every)
        )

    return call


def stop_after(epoch):
    """A callback that simulates Ctrl-C after an epoch."""

    class Stop(sl.train.Progress):
        def on_epoch(self, row):
            if row["epoch"] == epoch:
                raise KeyboardInterrupt

    return Stop()


@pytest.mark.parametrize(
    "make", CUSTOM_OPTIMISERS, ids=["sgd", "muon", "free", "plateau", "function"]
)
def test_a_run_with_a_custom_optimiser_resumes_to_the_same_bits(start, make):
    whole = start(out=None, **make())
    with pytest.raises(KeyboardInterrupt):
        start(callbacks=[stop_after(2)], **make())
    again = start(resume=True, **make())
    assert weights_of(again) == weights_of(whole)
    assert [row["lr"] for row in again.history] == [row["lr"] for row in whole.history]


def test_each_step_uses_the_learning_rate_of_the_schedule(start):
    heard = []

    class Listener:
        def on_batch(self, step):
            heard.append((step.number, step.lr))

    start(out=None, epochs=2, schedule=halve, callbacks=[Listener()])
    assert heard == [(step + 1, halve(step)) for step in range(2 * STEPS_PER_EPOCH)]


def test_a_plateau_schedule_falls_when_the_validation_loss_stagnates(start):
    run = start(out=None, epochs=24, schedule=sl.optim.Plateau(1.0, patience=0, factor=0.5))
    expected, schedule = [], sl.optim.Plateau(1.0, patience=0, factor=0.5)
    for row in run.history:
        expected.append(schedule(0))
        schedule = schedule.observe(row["valid_loss"])
    assert [row["lr"] for row in run.history] == expected
    assert expected[-1] < 1.0


def test_an_optimiser_trains_like_in_a_custom_loop(toy):
    config = sl.models.SequenceCNNConfig(4, 2, widths=(8,), kernel_size=5, dropout=0.0)
    data, ours, theirs = (
        toy(),
        config.init("numpy", sl.Key(1)),
        config.init("numpy", sl.Key(1)),
    )
    options: Any = {"optimizer": sl.optim.SGD(momentum=0.9)}
    options["schedule"] = sl.optim.Constant(0.1)
    sl.train.fit(
        ours, data, **as_arguments(epochs=2, batch_size=16, report=False, **options)
    )
    optimizer = sl.optim.SGD(momentum=0.9)

    def loss_of(model, x, labels):
        return sl.nn.functional.cross_entropy(model.logits(x), labels)

    loader = sl.data.DataLoader(data, batch_size=16, shuffle=True, seed=0)
    for epoch in range(2):
        loader.set_epoch(epoch)
        for batch in loader:
            x = theirs.backend.tensor(batch["inputs"])
            _, grads = sl.nn.value_and_grad(loss_of)(theirs.train(), x, batch["label"])
            optimizer.step(0.1, theirs, grads)
    for path, array in theirs.to_record().items():
        np.testing.assert_allclose(ours.to_record()[path], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"optimizer": sl.optim.SGD(momentum=0.5)}, "momentum 0.9, not 0.5"),
        ({"optimizer": sl.optim.Lion()}, "class SGD, not Lion"),
        (
            {"optimizer": sl.optim.SGD(momentum=0.9).group("*.bias", lr_factor=2.0)},
            "groups",
        ),
        ({"schedule": sl.optim.Constant(0.2)}, "lr 0.1, not 0.2"),
    ],
    ids=["setting", "class", "group", "rate"],
)
def test_a_run_cannot_resume_with_another_optimiser_or_schedule(start, other, difference):
    def given():
        return {"optimizer": sl.optim.SGD(momentum=0.9), "schedule": sl.optim.Constant(0.1)}

    start(epochs=1, **given())
    with pytest.raises(RunFolderError, match=difference):
        start(resume=True, **given() | other)


def test_an_averaging_optimiser_saves_averaged_weights(toy, small):
    optimizer, valid = sl.optim.ScheduleFreeAdamW(), toy(30, name="valid")
    network, points = small.init("numpy", sl.Key(0)), []

    class Keep:
        def on_epoch(self, row):
            assert row["epoch"] == len(points) + 1
            points.append(optimizer.apply_average(network).to_record())

    run = sl.train.fit(
        network, toy(), valid, epochs=2, optimizer=optimizer, callbacks=[Keep()]
    )
    kept = points[run.best_epoch - 1]
    for path, array in network.to_record().items():
        np.testing.assert_array_equal(array, kept[path])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer must be an optimiser such as"),
        ({"optimizer": sl.optim.SGD}, "optimizer must be an optimiser such as"),
        ({"lr": "fast"}, r"lr .--lr. must be a number above 0"),
        ({"lr": sl.optim.Constant}, "schedule must be an object such as"),
        ({"optimizer": sl.optim.SGD(), "weight_decay": 0.1}, "SGD.weight_decay=0.1"),
        ({"metrics": "f1"}, "metrics must be a dict"),
        ({"metrics": {"f1": 3}}, "the metric 'f1' must be a function"),
        ({"callbacks": sl.train.Progress}, "callbacks must be a list"),
        ({"callbacks": [object()]}, "with some of the methods on_start"),
    ],
)
def test_invalid_optimisers_schedules_and_metrics_are_errors(start, wrong, message):
    with pytest.raises(ArgumentError, match=message):
        start(out=None, **wrong)


def error_rate(labels, scores):
    """Return the fraction of wrong predictions."""
    return float((labels != scores.argmax(axis=1)).mean())


class Mean:
    """A metric object that accumulates labels and scores."""

    def __init__(self):
        self.values = []

    def update(self, labels, scores):
        self.values += (labels != scores.argmax(axis=1)).tolist()

    def compute(self):
        return sum(self.values) / len(self.values)


@pytest.mark.parametrize("metrics", [[error_rate], {"error_rate": Mean()}])
def test_custom_metrics_are_added_to_those_of_the_task(start, metrics):
    run = start(out=None, epochs=2, metrics=metrics)
    for row in run.history:
        assert math.isclose(row["valid_error_rate"], 1 - row["valid_accuracy"])
    assert math.isclose(run.valid.metrics["error_rate"], 1 - run.valid.metrics["accuracy"])


def test_a_metric_that_is_not_a_number_is_an_error(start):
    with pytest.raises(ArgumentError, match="'rows' must return one number"):
        start(out=None, epochs=1, metrics={"rows": lambda labels, scores: scores[labels]})


class Norms(sl.nn.Module):
    """A network with a layer of each type that has weights, and a custom normalisation."""

    layers: list[sl.nn.Module]

    def __init__(self):
        self.layers = [
            sl.nn.LayerNorm((4, 6)),
            sl.nn.RMSNorm((4, 6)),
            sl.nn.GroupNorm(2, 4),
            sl.nn.BatchNorm1d(4),
            sl.nn.BatchNorm2d(4),
            sl.nn.Embedding(4, 6),
            sl.nn.Linear(4, 6),
            ScaleNorm(),
        ]


class ScaleNorm(sl.nn.Module):
    """A custom normalisation layer, whose scale has two axes."""

    scale: sl.nn.Param

    def __init__(self):
        self.scale = sl.nn.Param((4, 6), sl.nn.Fill(1.0))


def find_decayed(model, step, **options):
    """Make one step with gradients of 0, so that only weight decay changes parameters."""
    before = {path: param.value.numpy().copy() for path, param in model.parameters()}
    options |= {"epochs": 1, "weight_decay": 0.5, "schedule": sl.optim.Constant(0.1)}
    x = np.zeros((2, 3), np.float32)
    sl.train.fit(model, {"inputs": x}, **as_arguments(step=step, report=False, **options))
    after = {path: param.value.numpy() for path, param in model.parameters()}
    decayed = {path for path in before if not np.array_equal(before[path], after[path])}
    for path in decayed:
        np.testing.assert_allclose(after[path], 0.95 * before[path], rtol=1e-6)
    return decayed


def test_weight_decay_applies_to_weights_but_not_to_normalisation():
    def step(model, batch, key):
        return sum((param.value * 0.0).sum() for _, param in model.parameters())

    model = Norms().bind("numpy", sl.Key(0))
    assert find_decayed(model, step) == {"layers.5.weight", "layers.6.weight"}


def test_each_member_of_an_ensemble_has_its_own_weight_decay():
    sizes: dict[str, Any] = {"length": 3, "widths": (), "aligned": 2}
    one, other = (
        sl.models.SequenceCNNConfig(4, 1, weight_decay=decay, **sizes)
        for decay in (0.3, 3.0)
    )
    model = sl.models.EnsembleConfig((one, other)).init("numpy", sl.Key(0))
    before = {path: param.value.numpy().copy() for path, param in model.parameters()}

    def loss_of(model):
        return sum((param.value * 0.0).sum() for _, param in model.parameters())

    _, grads = sl.nn.value_and_grad(loss_of)(model)
    make_optimizer(model, None).step(0.1, model, grads)
    after = dict(model.parameters())
    for number, kept in enumerate((0.97, 0.7)):
        for name in ("dense.weight", "letters.weight"):
            path = f"members.{number}.aligned.{name}"
            found = after[path].value.numpy()
            np.testing.assert_allclose(found, kept * before[path], rtol=1e-6)
        bias = f"members.{number}.aligned.dense.bias"
        np.testing.assert_array_equal(after[bias].value.numpy(), before[bias])


def test_weight_decay_skips_normalisation_and_biases_of_a_pytorch_network():
    torch = pytest.importorskip("torch")

    class LlamaRMSNorm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(4, 6))

    layers = [
        torch.nn.LayerNorm((4, 6)),
        LlamaRMSNorm(),
        torch.nn.MultiheadAttention(4, 2, add_bias_kv=True),
        torch.nn.Embedding(4, 6),
    ]
    model = torch.nn.Sequential(*layers)
    for parameter in model.parameters():
        torch.nn.init.ones_(parameter)

    def step(model, batch, key):
        return sum((parameter * 0.0).sum() for parameter in model.parameters())

    expected = {"2.in_proj_weight", "2.out_proj.weight", "3.weight"}
    wrapped = sl.models.TorchModule(model).bind("torch", 0)
    assert find_decayed(wrapped, step, backend="torch") == expected
