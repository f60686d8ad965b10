"""Specification 4: modules, optimisers, records, training.

Deviation from the specification: an optimiser belongs to one model, and its state has
the paths of that model. Another model loads the state with ``load_record(keys=)``.
Schedules return a rate, which is an argument of ``step``, and do not change the
optimiser.
"""

from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

import seqloom as sl
from fit_arguments import as_arguments
from seqloom import nn
from seqloom.errors import SeqloomError
from seqloom.nn import functional as F

INPUT_ARRAY = np.random.default_rng(2).normal(size=(8, 4)).astype(np.float32)
TARGET_ARRAY = INPUT_ARRAY[:, :1] * 2 + 1
OPTIMISER_PAIRS = {
    "SGD": (sl.optim.SGD, torch.optim.SGD),
    "Adam": (sl.optim.Adam, torch.optim.Adam),
    "AdamW": (sl.optim.AdamW, torch.optim.AdamW),
    "RMSProp": (sl.optim.RMSProp, torch.optim.RMSprop),
    "AdaGrad": (sl.optim.AdaGrad, torch.optim.Adagrad),
}


class Net(nn.Module):
    first: nn.Linear
    second: nn.Linear

    def __init__(self):
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, 1)

    def __call__(self, x):
        return self.second(F.relu(self.first(x)))

    def embed(self, x):
        return self.first(x)


def make(backend="numpy", seed=0):
    return Net().bind(backend, sl.Key(seed))


def tensors(model):
    return model.backend.tensor(INPUT_ARRAY), model.backend.tensor(TARGET_ARRAY)


def descend(model, optimizer, steps=1, lr=0.01):
    for _ in range(steps):
        _loss, gradients = nn.value_and_grad(lambda m, x, y: F.mse_loss(m(x), y))(
            model, *tensors(model)
        )
        optimizer.step(lr, model, gradients)
    return model


def weights(model):
    return {path: np.asarray(value) for path, value in model.to_record().items()}


def same(one, other):
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[path], other[path]) for path in one)


def test_a_module_needs_no_method_named_forward():
    model = make()
    x, _ = tensors(model)
    assert model.embed(x).shape == (8, 5)
    assert model(x).shape == (8, 1)


@pytest.mark.parametrize(
    "held", [{nn.Linear(2, 2)}, np.array([nn.Linear(2, 2)], object)], ids=str
)
def test_a_hidden_parameter_is_an_error(held):
    class Hides(nn.Module):
        parts: object

        def __init__(self):
            self.parts = held

    with pytest.raises(SeqloomError, match="parts"):
        Hides()


def test_attributes_of_plain_data_are_allowed():
    class Holds(nn.Module):
        layer: nn.Linear
        lock: object

        def __init__(self, lock):
            self.layer, self.lock = nn.Linear(2, 1), lock

    lock = Lock()
    model = Holds(lock).bind("numpy", sl.Key(0))
    assert model.map(lambda _, value: value).lock is lock
    assert set(model.to_record()) == {"layer.weight", "layer.bias"}


def test_eight_threads_create_a_lazy_parameter_once():
    model, seen = make(), []
    x, _ = tensors(model)
    threads = [Thread(target=lambda: seen.append(model(x).numpy())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(out, seen[0]) for out in seen)


def test_parameters_used_in_another_thread_are_trained_or_raise_an_error():
    model = make()
    x, y = tensors(model)

    def loss(m, x, y):
        out = []
        thread = Thread(target=lambda: out.append(m(x)))
        thread.start()
        thread.join()
        if not out:  # a failing thread prints its error
            raise SeqloomError
        return F.mse_loss(out[0], y)

    try:
        _, gradients = nn.value_and_grad(loss)(model, x, y)
    except SeqloomError:
        return
    assert len(gradients.arrays()) == len(model.to_record()) == 4


def test_a_summary_contains_shapes_parameters_and_operations():
    model = make()
    summary = model.summary(tensors(model)[0])
    assert summary.to_dict()[""]["parameters"] == 4 * 5 + 5 + 5 + 1
    assert summary.to_dict()["first"]["output_shape"] == (8, 5)


def test_frozen_parameters_keep_their_values():
    model = make()
    model(tensors(model)[0])
    model.first.freeze()
    before = weights(model)
    after = weights(descend(model, sl.optim.AdamW(), 3))
    assert np.array_equal(before["first.weight"], after["first.weight"])
    assert not np.array_equal(before["second.weight"], after["second.weight"])


def test_a_nested_module_can_define_its_own_record():
    class Doubled(nn.Module):
        weight: nn.Param

        def __init__(self):
            self.weight = nn.Param((2,), nn.Fill(1.0))

        def to_record(self):
            record = super().to_record()
            return sl.record.Record({"twice": 2 * np.asarray(record["weight"])})

        def load_record(self, record, **options):
            halved = {"weight": np.asarray(record["twice"]) / 2}
            return super().load_record(halved, **options)

    model = nn.Sequential(Doubled()).bind("numpy", sl.Key(0))
    [(path, array)] = model.to_record().items()
    assert path.endswith("twice")
    assert np.asarray(array).tolist() == [2.0, 2.0]
    again = nn.Sequential(Doubled()).bind("numpy", sl.Key(0)).load_record(model.to_record())
    same(weights(again), weights(model))


def test_a_config_is_separate_from_parameters_and_saved_as_json_and_toml(tmp_path):
    config = sl.models.SequenceCNNConfig(4, 2, length=30)
    for name in ("c.json", "c.toml"):
        config.save(tmp_path / name)
        assert sl.models.SequenceCNNConfig.load(tmp_path / name) == config


@pytest.mark.parametrize("name", OPTIMISER_PAIRS)
def test_twenty_optimiser_steps_equal_those_of_pytorch(name):
    ours, theirs = OPTIMISER_PAIRS[name]
    model = make()
    model(tensors(model)[0])
    twin: Any = torch.nn.Sequential(
        torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1)
    )
    start = weights(model)
    with torch.no_grad():
        for number, layer in ((0, "first"), (2, "second")):
            twin[number].weight.copy_(torch.tensor(start[f"{layer}.weight"]))
            twin[number].bias.copy_(torch.tensor(start[f"{layer}.bias"]))
    optimizer = theirs(twin.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(
            twin(torch.tensor(INPUT_ARRAY)), torch.tensor(TARGET_ARRAY)
        ).backward()
        optimizer.step()
    found = weights(descend(model, ours(), 20))
    np.testing.assert_allclose(
        found["first.weight"], twin[0].weight.detach().numpy(), rtol=2e-4, atol=1e-6
    )


def test_a_custom_optimiser_takes_fifteen_lines():
    @dataclass
    class Velocity:
        velocity: sl.tensor.Tensor

    class HeavyBall(sl.optim.SimpleOptimizer):
        State = Velocity

        def rule(self, param, grad, state, *, lr, step):  # noqa: ARG002 - the protocol
            velocity = state.velocity * 0.9 + grad
            return param - velocity * lr, Velocity(velocity)

    start = weights(descend(make(), sl.optim.SGD(), 0))
    del start
    found = weights(descend(make(), HeavyBall(), 5))
    wanted = weights(descend(make(), sl.optim.SGD(momentum=0.9), 5))
    for path, value in found.items():
        np.testing.assert_allclose(value, wanted[path], rtol=1e-5)


def test_an_optimiser_rejects_a_second_model():
    optimizer = sl.optim.AdamW()
    descend(make(), optimizer)
    with pytest.raises(SeqloomError, match="another"):
        descend(make(), optimizer)


def test_the_state_of_an_optimiser_can_be_resumed():
    first, optimizer = make(), sl.optim.AdamW()
    descend(first, optimizer, 3)
    again = make().load_record(first.to_record())
    resumed = sl.optim.AdamW().load_record(optimizer.to_record())
    same(weights(descend(first, optimizer, 2)), weights(descend(again, resumed, 2)))


def test_the_state_of_an_optimiser_follows_renamed_parameters():
    class Wrapped(nn.Module):
        net: Net

        def __init__(self):
            self.net = Net()

        def __call__(self, x):
            return self.net(x)

    first, optimizer = make(), sl.optim.AdamW()
    descend(first, optimizer, 3)
    wrapped = Wrapped().bind("numpy", sl.Key(0))
    wrapped.load_record(first.to_record(), keys=lambda path: f"net.{path}")
    moved = sl.optim.AdamW().load_record(
        optimizer.to_record(), keys=lambda path: f"net.{path}"
    )
    descend(first, optimizer, 2)
    found = weights(descend(wrapped, moved, 2))
    for path, value in weights(first).items():
        assert np.array_equal(found[f"net.{path}"], value)


SCHEDULE_OBJECTS = [
    sl.optim.Constant(0.1),
    sl.optim.WarmupCosine(0.1, 10, 100),
    sl.optim.LinearDecay(0.1, 0.0, 100),
    sl.optim.ExponentialDecay(0.1, 0.9),
    sl.optim.StepDecay(0.1, 10, 0.5),
    sl.optim.Noam(64, 10),
]


@pytest.mark.parametrize("schedule", SCHEDULE_OBJECTS, ids=lambda it: type(it).__name__)
def test_a_schedule_sets_the_learning_rate(schedule):
    rates = [schedule(step) for step in range(50)]
    assert all(np.isfinite(rate) and rate >= 0 for rate in rates)


def test_a_plateau_schedule_recovers_from_nan():
    plateau = sl.optim.Plateau(0.1, patience=1)
    for value in (float("nan"), 5.0, 4.0, 3.0, 2.0):
        plateau.observe(value)
    assert plateau(0) == 0.1


def test_gradients_are_clipped_by_norm_like_in_pytorch():
    model = make()
    _, gradients = nn.value_and_grad(lambda m, x, y: F.mse_loss(m(x), y))(
        model, *tensors(model)
    )
    arrays = [torch.tensor(np.asarray(array)) for array in gradients.arrays()]
    for array in arrays:
        array.requires_grad_().grad = array.detach().clone()
    torch.nn.utils.clip_grad_norm_(arrays, 0.1)
    found = gradients.clip(0.1).arrays()
    for array, clipped in zip(arrays, found, strict=True):
        np.testing.assert_allclose(np.asarray(clipped), array.grad.numpy(), rtol=1e-4)


RECORDER_CLASSES = {
    "Safetensors": (sl.record.Safetensors, "safetensors"),
    "JsonGz": (sl.record.JsonGz, "json.gz"),
}


@pytest.mark.parametrize("name", RECORDER_CLASSES)
@pytest.mark.parametrize("precision", [sl.record.Full, sl.record.Double, sl.record.Half])
def test_a_record_can_be_saved_in_every_format_and_precision(tmp_path, name, precision):
    model = make()
    model(tensors(model)[0])
    recorder, suffix = RECORDER_CLASSES[name]
    model.to_record().save(tmp_path / f"m.{suffix}", recorder(precision()))
    found = sl.record.load(tmp_path / f"m.{suffix}")
    for path, value in weights(model).items():
        np.testing.assert_allclose(np.asarray(found[path]), value, rtol=1e-3)


def test_the_safetensors_library_reads_seqloom_records(tmp_path):
    model = make()
    model(tensors(model)[0])
    model.to_record().save(tmp_path / "m.safetensors")
    same(safetensors.numpy.load_file(tmp_path / "m.safetensors"), weights(model))


def test_a_strict_load_lists_missing_and_unused_parameters():
    record = dict(weights(descend(make(), sl.optim.SGD(), 1)))
    record["third.weight"] = record.pop("first.bias")
    with pytest.raises(SeqloomError, match=r"first\.bias"):
        make().load_record(record)
    report = make().load_record(record, strict=False).load_report
    assert report.missing == ("first.bias",) or "first.bias" in report.missing
    assert "third.weight" in report.unused


def test_a_flipped_byte_of_a_record_is_an_error(tmp_path):
    model = make()
    model(tensors(model)[0])
    model.to_record().save(tmp_path / "m.safetensors")
    content = bytearray((tmp_path / "m.safetensors").read_bytes())
    content[-3] ^= 1
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(SeqloomError):
        weights(make().load_record(sl.record.load(tmp_path / "m.safetensors")))


def test_a_pt_file_is_read_without_executing_its_pickle(tmp_path):
    class Canary:
        def __reduce__(self):
            return (tmp_path / "ran").write_text, ("x",)

    torch.save({"weight": torch.ones(2)}, tmp_path / "good.pt")
    assert np.asarray(sl.record.load(tmp_path / "good.pt")["weight"]).tolist() == [1, 1]
    torch.save({"weight": torch.ones(2), "x": Canary()}, tmp_path / "bad.pt")
    with pytest.raises(SeqloomError):
        dict(sl.record.load(tmp_path / "bad.pt").items())
    assert not (tmp_path / "ran").exists()


def test_two_arrays_with_one_path_in_a_pt_file_are_an_error(tmp_path):
    torch.save({"a": {"b": torch.ones(1)}, "a.b": torch.zeros(1)}, tmp_path / "x.pt")
    with pytest.raises(SeqloomError, match=r"a\.b"):
        sl.record.load(tmp_path / "x.pt")


@pytest.mark.parametrize("other", ["torch", "jax"])
def test_a_model_computes_the_same_on_another_backend(tmp_path, other):
    model = make()
    out = model(tensors(model)[0]).numpy()
    model.to_record().save(tmp_path / "m.safetensors")
    again = (
        Net().bind(other, sl.Key(1)).load_record(sl.record.load(tmp_path / "m.safetensors"))
    )
    np.testing.assert_allclose(np.asarray(again(tensors(again)[0])), out, rtol=1e-5)


def test_batch_norm_saves_its_statistics():
    model = nn.BatchNorm1d(4).bind("numpy", sl.Key(0))
    model.train()
    model(model.backend.tensor(INPUT_ARRAY))
    record = weights(model)
    assert record["num_batches_tracked"].dtype == np.int64
    np.testing.assert_allclose(
        record["running_mean"], 0.1 * INPUT_ARRAY.mean(axis=0), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("layer", [nn.LayerNorm((4, 6)), nn.GroupNorm(2, 4)], ids=str)
def test_fit_applies_no_weight_decay_to_normalisation(layer):
    class Normed(nn.Module):
        norm: nn.Module
        head: nn.Linear

        def __init__(self):
            self.norm, self.head = layer, nn.Linear(24, 1)

        def __call__(self, x):
            return self.head(self.norm(x).reshape((x.shape[0], 24)) * 0.0)

    x = np.random.default_rng(0).normal(size=(16, 4, 6)).astype(np.float32)
    run = sl.train.fit(
        Normed(),
        {"inputs": x, "label": x[:, :1, 0]},
        objective=sl.train.Objective(task="regress", loss=F.mse_loss),
        epochs=2,
        batch_size=8,
        optimizer=sl.train.Updates(weight_decay=0.5),
        lr=0.1,
        progress=False,
    )
    model: Any = run.model
    scale = np.asarray(model.norm.to_record()["weight"])
    np.testing.assert_array_equal(scale, np.ones_like(scale))


def test_a_stopped_run_resumes_with_the_same_bits(tmp_path):
    class Stop(Exception):  # noqa: N818 - it ends a run
        pass

    class Stops:
        def on_batch(self, step):
            if step.batch == 3:
                raise Stop

    data = {"inputs": INPUT_ARRAY, "label": TARGET_ARRAY}
    options: dict[str, Any] = {
        "task": "regress", "loss": F.mse_loss, "epochs": 3,
        "batch_size": 2, "report": False, "progress": False, "checkpoint_every": 1,
    }  # fmt: skip
    whole = sl.train.fit(Net(), data, **as_arguments(out=tmp_path / "whole", **options))
    with pytest.raises(Stop):
        sl.train.fit(
            Net(),
            data,
            **as_arguments(out=tmp_path / "cut", callbacks=[Stops()], **options),
        )
    resumed = sl.train.fit(
        Net(), data, **as_arguments(out=tmp_path / "cut", resume=True, **options)
    )
    same(weights(resumed.model), weights(whole.model))


def test_fit_trains_a_pytorch_network_and_saves_its_state_dict(tmp_path):
    network = torch.nn.Sequential(torch.nn.Linear(4, 1))
    sl.train.fit(
        network,
        {"inputs": INPUT_ARRAY, "label": TARGET_ARRAY},
        objective=sl.train.Objective(task="regress", loss=torch.nn.functional.mse_loss),
        backend="torch",
        epochs=1,
        out=sl.train.RunFolder(tmp_path / "run", report=False),
        progress=False,
    )
    state = safetensors.numpy.load_file(tmp_path / "run" / "model.safetensors")
    again = torch.nn.Sequential(torch.nn.Linear(4, 1))
    again.load_state_dict({name: torch.tensor(value) for name, value in state.items()})


def test_variables_in_a_custom_loss_are_not_frozen_by_compilation():
    class Annealed:
        beta = 1.0

        def __call__(self, output, y):
            return self.beta * F.mse_loss(output, y)

    loss, seen = Annealed(), []

    class Anneal:
        def on_epoch(self, progress):
            loss.beta = 0.0
            seen.append(progress)

    data = {
        "inputs": np.repeat(INPUT_ARRAY, 50, 0),
        "label": np.repeat(TARGET_ARRAY, 50, 0),
    }
    run = sl.train.fit(
        Net(),
        data,
        objective=sl.train.Objective(task="regress", loss=loss),
        epochs=3,
        batch_size=2,
        callbacks=[Anneal()],
        progress=False,
    )
    assert seen
    assert run.history[-1]["train_loss"] == 0.0


LOSS_INPUTS = {
    "poisson_nll_loss": lambda x, y: (x, abs(y)),
    "huber_loss": lambda x, y: (x, y),
    "mse_loss": lambda x, y: (x, y),
    "l1_loss": lambda x, y: (x, y),
    "smooth_l1_loss": lambda x, y: (x, y),
}


@pytest.mark.parametrize("name", LOSS_INPUTS)
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_losses_equal_those_of_pytorch(name, backend):
    x, y = LOSS_INPUTS[name](INPUT_ARRAY[:, :1], TARGET_ARRAY)
    make = sl.tensor.backend(backend).tensor
    found = getattr(F, name)(make(x), make(y)).item()
    wanted = getattr(torch.nn.functional, name)(torch.tensor(x), torch.tensor(y)).item()
    assert found == pytest.approx(wanted, rel=1e-5)


LAYER_PAIRS = {
    "RMSNorm": (lambda: nn.RMSNorm(4), lambda: torch.nn.RMSNorm(4)),
    "LayerNorm": (lambda: nn.LayerNorm(4), lambda: torch.nn.LayerNorm(4)),
    "Linear": (lambda: nn.Linear(4, 3), lambda: torch.nn.Linear(4, 3)),
    "PReLU": (nn.PReLU, torch.nn.PReLU),
}


@pytest.mark.parametrize("name", LAYER_PAIRS)
def test_layers_equal_those_of_pytorch_with_the_same_parameter_names(name):
    ours, theirs = LAYER_PAIRS[name][0]().bind("numpy", sl.Key(0)), LAYER_PAIRS[name][1]()
    ours.load_record({path: value.numpy() for path, value in theirs.state_dict().items()})
    found = ours(ours.backend.tensor(INPUT_ARRAY)).numpy()
    wanted = theirs(torch.tensor(INPUT_ARRAY)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_metric_over_batches_equals_the_metric_of_all_records():
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 2, 60), rng.normal(size=60)
    metric = nn.AUROC()
    for start in range(0, 60, 7):
        metric.update(labels[start : start + 7], scores[start : start + 7])
    assert metric.compute() == nn.auroc(labels, scores)


def test_a_parameter_group_has_separate_settings():
    model = make()
    model(tensors(model)[0])
    before = weights(model)
    descend(model, sl.optim.SGD().group("first.*", lr_factor=0.0), 2)
    after = weights(model)
    assert np.array_equal(before["first.weight"], after["first.weight"])
    assert not np.array_equal(before["second.weight"], after["second.weight"])


def test_accumulated_gradients_equal_those_of_the_whole_batch():
    model = make()
    x, y = tensors(model)
    loss = nn.value_and_grad(lambda m, x, y: F.mse_loss(m(x), y))
    _, whole = loss(model, x, y)
    accumulator = sl.optim.GradientsAccumulator()
    for rows in (slice(0, 2), slice(2, 8)):
        _, part = loss(model, x[rows], y[rows])
        accumulator.accumulate(model, part, weight=rows.stop - rows.start)
    found = accumulator.take(model)
    for one, other in zip(found.arrays(), whole.arrays(), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-6)


def test_an_average_of_weights_follows_the_formula():
    model, average = make(), sl.optim.WeightAverage(0.5)
    model(tensors(model)[0])
    expected: Any = None
    for _ in range(3):
        descend(model, sl.optim.SGD(), 1)
        average.update(model)
        now = weights(model)["first.weight"]
        expected = now if expected is None else 0.5 * expected + 0.5 * now
    found = weights(average.apply_average(model))["first.weight"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULE_OBJECTS, ids=lambda it: type(it).__name__)
def test_a_schedule_can_be_saved_as_json(schedule):
    assert type(schedule).from_json(schedule.to_json()) == schedule


def test_a_memory_mapped_record_contains_the_same_arrays(tmp_path):
    model = make()
    model(tensors(model)[0])
    model.to_record().save(tmp_path / "m.safetensors")
    mapped = sl.record.load(tmp_path / "m.safetensors", mapped=True)
    same({path: np.asarray(array) for path, array in mapped.items()}, weights(model))


def test_sharded_hugging_face_weights_are_one_record(tmp_path):
    import json

    arrays = {"a.weight": INPUT_ARRAY, "b.weight": TARGET_ARRAY}
    for number, (name, array) in enumerate(arrays.items()):
        safetensors.numpy.save_file({name: array}, tmp_path / f"{number}.safetensors")
    index = {
        "metadata": {},
        "weight_map": {"a.weight": "0.safetensors", "b.weight": "1.safetensors"},
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    same({p: np.asarray(a) for p, a in sl.record.load(tmp_path).items()}, arrays)


def test_fit_clips_accumulates_averages_and_drops_the_last_batch():
    data = {"inputs": INPUT_ARRAY, "label": TARGET_ARRAY}
    run = sl.train.fit(
        Net(),
        data,
        objective=sl.train.Objective(task="regress", loss=F.mse_loss),
        epochs=2,
        batch_size=sl.train.Batches(3, accumulate=2, drop_last=True),
        optimizer=sl.train.Updates(clip_norm=1.0, weight_average=0.9),
        progress=False,
    )
    assert np.isfinite(run.history[-1]["train_loss"])
