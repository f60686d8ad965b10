"""Tests of clipping, accumulation, weight averages and drop_last against PyTorch."""

import json
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, RunFolderError, ShapeError
from seqloom.train import _fit
from threads_as_ranks import Threads

torch: Any = pytest.importorskip("torch")

BATCH_SIZES = [4, 4, 4, 4, 4, 4, 3]  # number of records in each batch
EPOCHS, LR = 2, 0.2
RNG = np.random.default_rng(5)
INPUT_ARRAY = RNG.normal(size=(sum(BATCH_SIZES), 5)).astype(np.float32)
CLASS_LABELS = RNG.integers(0, 3, sum(BATCH_SIZES))
FIRST_WEIGHT = RNG.normal(size=(8, 5)).astype(np.float32)
SECOND_WEIGHT = RNG.normal(size=(3, 8)).astype(np.float32)
BATCH_STARTS = np.cumsum([0, *BATCH_SIZES])
INPUT_BATCHES = [
    {"inputs": INPUT_ARRAY[a:b], "label": CLASS_LABELS[a:b]}
    for a, b in pairwise(BATCH_STARTS)
]


class Net(sl.nn.Module):
    """A seqloom network of two layers."""

    first: sl.nn.Linear
    second: sl.nn.Linear

    def __init__(self):
        self.first, self.second = sl.nn.Linear(5, 8), sl.nn.Linear(8, 3)

    def forward(self, inputs):
        return self.second(sl.nn.functional.tanh(self.first(inputs)))


class TorchNet(torch.nn.Module):
    """The seqloom network, written in PyTorch."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(5, 8), torch.nn.Linear(8, 3)

    def forward(self, inputs):
        return self.second(torch.tanh(self.first(inputs)))


INITIAL_WEIGHTS = {
    "first.weight": FIRST_WEIGHT,
    "first.bias": np.zeros(8, np.float32),
    "second.weight": SECOND_WEIGHT,
    "second.bias": np.zeros(3, np.float32),
}


def make(backend, *, is_torch=False):
    """Return a network with the initial weights that all tests share."""
    model = sl.models.TorchModule(TorchNet()) if is_torch else Net()
    return model.bind(backend, sl.Key(0)).load_record(INITIAL_WEIGHTS)


def cross_entropy(outputs, labels):
    return sl.nn.functional.cross_entropy(outputs, labels)


def train(model, batches=INPUT_BATCHES, **options):
    """Train a network by `fit`, with SGD and momentum; return its weights."""
    every: dict[str, Any] = {
        "loss": torch.nn.functional.cross_entropy
        if isinstance(model, sl.models.TorchModule)
        else cross_entropy,
        "optimizer": sl.optim.SGD(momentum=0.9),
        "schedule": sl.optim.Constant(LR),
        "epochs": EPOCHS,
        "backend": model.backend,
        "report": False,
    }
    run = sl.train.fit(model, batches, **as_arguments(**every | options))
    return dict(run.model.to_record())


def loop(*, clip_norm=None, accumulate=1, average=None):
    """Train with a plain PyTorch loop in float64."""
    net = TorchNet().double()
    net.load_state_dict({it: torch.tensor(INITIAL_WEIGHTS[it]) for it in INITIAL_WEIGHTS})
    optimizer = torch.optim.SGD(net.parameters(), LR, momentum=0.9)
    mean = average and torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=average)
    for _ in range(EPOCHS):
        for start in range(0, len(BATCH_SIZES), accumulate):
            a, b = (
                BATCH_STARTS[start],
                BATCH_STARTS[min(start + accumulate, len(BATCH_SIZES))],
            )
            x, y = torch.tensor(INPUT_ARRAY[a:b]).double(), torch.tensor(CLASS_LABELS[a:b])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            if clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(net.parameters(), clip_norm)
            optimizer.step()
            if mean is not None:
                mean.update_parameters(net)
    state = (net if mean is None else mean.module).state_dict()
    return {name: value.numpy() for name, value in state.items()}


def assert_equal(weights, expected):
    assert weights.keys() == expected.keys()
    for path in expected:
        np.testing.assert_allclose(weights[path], expected[path], 2e-4, 2e-5, err_msg=path)


swa = torch.optim.swa_utils
UPDATE_CASES: dict[str, Any] = {
    "clip": ({"clip_norm": 0.3}, {"clip_norm": 0.3}),
    "accumulate": ({"accumulate": 3}, {"accumulate": 3}),
    "ema": ({"weight_average": 0.8}, {"average": swa.get_ema_multi_avg_fn(0.8)}),
    "equal": ({"weight_average": "equal"}, {"average": swa.get_swa_multi_avg_fn()}),
    "all": (
        {"clip_norm": 0.3, "accumulate": 2, "weight_average": 0.8},
        {"clip_norm": 0.3, "accumulate": 2, "average": swa.get_ema_multi_avg_fn(0.8)},
    ),
}
BACKENDS_AND_COMPILATION: dict[str, Any] = {
    "numpy": ("numpy", False, False),
    "numpy, compiled": ("numpy", False, True),
    "torch": ("torch", False, False),
    "a torch network": ("torch", True, False),
}
OTHER_BACKENDS: list[Any] = [
    ("jax", True),
    pytest.param(("jax", False), marks=pytest.mark.soak),
    pytest.param(("torch", True), marks=pytest.mark.soak),
]


@pytest.mark.parametrize("case", UPDATE_CASES)
@pytest.mark.parametrize("way", BACKENDS_AND_COMPILATION)
def test_fit_updates_weights_like_a_pytorch_loop(case, way):
    (options, expected), (backend, is_torch, compiled) = (
        UPDATE_CASES[case],
        BACKENDS_AND_COMPILATION[way],
    )
    weights = train(make(backend, is_torch=is_torch), compile=compiled, **options)
    assert_equal(weights, loop(**expected))
    changed = any(not np.allclose(weights[it], loop()[it], 1e-2, 1e-2) for it in weights)
    assert changed  # the setting has an effect


@pytest.mark.parametrize("way", OTHER_BACKENDS, ids=str)
def test_other_backends_update_weights_like_a_pytorch_loop(way):
    backend, compiled = way
    pytest.importorskip(backend)
    options, expected = UPDATE_CASES["all"]
    weights = train(make(backend), compile=compiled, **options)
    assert_equal(weights, loop(**expected))


@pytest.mark.parametrize("compiled", [False, True])
def test_accumulated_batches_with_class_weights_equal_the_joined_batch(compiled):
    options: dict[str, Any] = {"task": "classify", "class_weight": [1.0, 5.0, 0.5]}
    options |= {"epochs": 1, "batch_size": 4, "loss": None, "compile": compiled}
    data = {"inputs": INPUT_ARRAY, "label": CLASS_LABELS}
    small = train(make("numpy"), data, accumulate=2, **options)
    large = train(make("numpy"), data, **options | {"batch_size": 8})
    assert_equal(small, large)


def test_averaged_weights_are_evaluated_and_saved(tmp_path):
    losses = []

    class Listener:
        def on_epoch(self, row):
            losses.append(row["valid_loss"])

    model = make("numpy")
    options: dict[str, Any] = {"weight_average": 0.8, "valid": INPUT_BATCHES}
    weights = train(model, callbacks=[Listener()], out=tmp_path / "run", **options)
    outputs = np.tanh(INPUT_ARRAY @ weights["first.weight"].T + weights["first.bias"])
    outputs = outputs @ weights["second.weight"].T + weights["second.bias"]
    log = outputs - np.log(np.exp(outputs).sum(axis=1, keepdims=True))
    expected = -log[np.arange(len(CLASS_LABELS)), CLASS_LABELS].mean()
    assert min(losses) == pytest.approx(expected, rel=1e-4)
    saved = sl.record.load(tmp_path / "run/model.safetensors")
    assert all((saved[path] == weights[path]).all() for path in weights)


def test_drop_last_skips_the_smaller_last_batch():
    heard = []

    class Listener:
        def on_batch(self, step):
            heard.append(step.samples)

    train(
        make("numpy"),
        {"inputs": INPUT_ARRAY, "label": CLASS_LABELS},
        batch_size=4,
        drop_last=True,
        epochs=2,
        callbacks=[Listener()],
    )
    assert heard == [4] * 6 * 2  # 6 batches contain 24 of 27 records


def test_the_default_learning_rate_depends_on_steps_and_not_on_batches():
    rates = []

    class Listener:
        def on_batch(self, step):
            rates.append((step.number, step.lr))

    options: dict[str, Any] = {"schedule": None, "lr": 0.1, "epochs": 4, "accumulate": 2}
    train(make("numpy"), callbacks=[Listener()], **options)
    steps = 4 * 4  # an epoch has 7 batches, 2 per step
    expected = sl.optim.WarmupCosine(0.1, round(0.1 * steps), steps)
    assert [number for number, _ in rates[:7]] == [1, 1, 2, 2, 3, 3, 4]
    assert all(lr == expected(number - 1) for number, lr in rates)
    assert rates[-1][0] == steps


class Stop:
    """A callback that interrupts a run after a batch."""

    def __init__(self, epoch, batch):
        self.place = epoch, batch

    def on_batch(self, step):
        if (step.epoch, step.batch) == self.place:
            raise KeyboardInterrupt


@pytest.mark.parametrize("place", [(1, 1), (1, 4), (1, 7), (2, 2)])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_run_that_stops_between_accumulated_batches_resumes_to_the_same_bits(
    tmp_path, place, compiled
):
    options: dict[str, Any] = {"clip_norm": 0.3, "accumulate": 3, "weight_average": 0.8}
    options |= {"compile": compiled, "optimizer": sl.optim.SGD(momentum=0.9)}
    options["valid"] = INPUT_BATCHES

    def call(**more):
        fresh = {"optimizer": sl.optim.SGD(momentum=0.9)}
        return train(make("numpy"), **options | fresh | more)

    whole = call()
    with pytest.raises(KeyboardInterrupt):
        call(out=tmp_path / "run", callbacks=[Stop(*place)])
    again = call(out=tmp_path / "run", resume=True)
    assert all((again[path] == whole[path]).all() for path in whole)


@pytest.mark.parametrize("every", [1, "0.000001s"])
def test_a_killed_run_resumes_from_its_last_checkpoint_to_the_same_bits(tmp_path, every):
    class Die:
        def on_batch(self, step):
            if (step.epoch, step.batch) == (2, 5):
                raise RuntimeError

    def call(**more):
        fresh: dict[str, Any] = {"optimizer": sl.optim.SGD(momentum=0.9)}
        fresh |= {"clip_norm": 0.3, "accumulate": 3, "weight_average": "equal"}
        return train(make("numpy"), **fresh | more)

    whole = call()
    with pytest.raises(RuntimeError):
        call(out=tmp_path / "run", callbacks=[Die()], checkpoint_every=every)
    record = sl.record.load(tmp_path / "run/checkpoint/last.safetensors")
    # An epoch of 7 batches has 3 steps. Checkpoints are written after 3 batches of the
    # second epoch, or after each batch.
    assert record["epoch.steps"].shape[0] == (3 if every == 1 else 5)
    again = call(out=tmp_path / "run", resume=True)
    assert all((again[path] == whole[path]).all() for path in whole)


def test_a_float16_step_that_overflows_is_left_out_of_the_mean():
    from seqloom.train._updates import Accumulation

    layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
    sums = Accumulation(3)
    for value, weight in ((2.0, 4.0), (5.0, 2.0)):
        array = layer.backend.asarray(np.full((1, 1), value, np.float32))
        sums.step(
            weight, layer, sl.tensor.Gradients({layer.weight.id: array}, layer.backend)
        )
        sums.count(weight)
    sums.count(0.0)  # the skipped batch
    assert sums.is_full
    mean = sums.take(layer)
    assert mean is not None
    assert mean.wrt(layer.weight).item() == pytest.approx((2.0 * 4 + 5.0 * 2) / 6)


def test_several_processes_clip_accumulate_and_average_like_one(toy, monkeypatch):
    config = sl.models.SequenceCNNConfig(4, 2, widths=(8,), kernel_size=5, dropout=0.0)
    call: dict[str, Any] = {"model": config, "train": toy(49), "epochs": 2, "lr": 1e-3}
    call |= {"batch_size": 8, "clip_norm": 0.5, "accumulate": 3, "weight_average": 0.8}
    alone = sl.train.fit(**as_arguments(**call))
    threads = Threads(2)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    for run in threads.run(lambda _: sl.train.fit(**as_arguments(**call))):
        for path, array in alone.model.to_record().items():
            np.testing.assert_allclose(run.model.to_record()[path], array, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"clip_norm": 0.5}, "clip_norm 1.0, not 0.5"),
        ({"accumulate": 3}, "accumulate 2, not 3"),
        ({"weight_average": "equal"}, "weight_average 0.9, not equal"),
        ({"drop_last": True}, "drop_last False, not True"),
    ],
)
def test_a_run_resumes_only_with_the_same_update_settings(
    toy, small, tmp_path, other, difference
):
    options: dict[str, Any] = {"clip_norm": 1.0, "accumulate": 2, "weight_average": 0.9}
    options |= {"epochs": 1, "batch_size": 8, "out": tmp_path / "run", "report": False}
    sl.train.fit(small, toy(), **as_arguments(**options))
    settings = json.loads((tmp_path / "run/results.json").read_text())["settings"]
    assert settings["clip norm"] == 1.0
    assert (settings["accumulate"], settings["weight average"]) == (2, 0.9)
    assert "drop last" not in settings
    with pytest.raises(RunFolderError, match=difference):
        sl.train.fit(small, toy(), **as_arguments(resume=True, **options | other))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clip_norm": 0}, r"clip_norm \(--clip-norm\) must be a number above 0"),
        ({"accumulate": 0}, r"accumulate \(--accumulate\)"),
        ({"weight_average": 1.0}, r"from 0 to below 1, or 'equal'"),
        ({"weight_average": "swa"}, r"from 0 to below 1, or 'equal', got 'swa'"),
        ({"drop_last": "no"}, "drop_last"),
        (
            {"drop_last": True, "batch_size": 64},
            "leaves no batch: the training set has 48",
        ),
        (
            {"weight_average": 0.9, "optimizer": sl.optim.ScheduleFreeAdamW()},
            "ScheduleFreeAdamW averages the weights itself",
        ),
    ],
)
def test_invalid_update_settings_are_errors(toy, small, wrong, message):
    with pytest.raises(ArgumentError, match=message):
        sl.train.fit(
            small,
            toy(),
            **as_arguments(epochs=1, report=False, **{"batch_size": 16} | wrong),
        )


def test_drop_last_of_a_loader_is_an_error_that_names_the_loader():
    with pytest.raises(ArgumentError, match="set drop_last=True in the loader"):
        train(make("numpy"), drop_last=True)


@pytest.mark.parametrize("name", ["max_grad_norm", "gradient_clip_val"])
def test_argument_names_of_other_libraries_suggest_clip_norm(toy, small, name):
    with pytest.raises(TypeError, match=r"did you mean .*Updates.clip_norm="):
        sl.train.fit(small, toy(), **as_arguments(**cast("Any", {name: 1.0})))


def test_pytorch_batch_norm_with_one_record_is_an_error_that_names_drop_last():
    net = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.BatchNorm1d(3))
    data = {"inputs": INPUT_ARRAY[:9], "label": CLASS_LABELS[:9]}
    options: dict[str, Any] = {"backend": "torch", "batch_size": 4, "epochs": 1}
    loss = torch.nn.functional.cross_entropy
    with pytest.raises(ShapeError, match=r"drop_last=True\), --drop-last"):
        sl.train.fit(net, data, **as_arguments(loss=loss, report=False, **options))
    sl.train.fit(
        net, data, **as_arguments(loss=loss, report=False, drop_last=True, **options)
    )
