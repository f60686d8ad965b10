"""Tests that `fit` trains a PyTorch network like a plain PyTorch loop."""

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, BackendError, DataWarning, RecordError

STEPS, SIZE = 20, 16


class Net(nn.Module):
    """A convolutional network with batch norm and dropout."""

    def __init__(self, dropout=0.0, classes=2):
        super().__init__()
        self.conv = nn.Conv1d(4, 8, 5, padding=2, bias=False)  # batch norm cancels a bias
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(8, classes)

    def forward(self, inputs):
        return self.head(self.drop(torch.relu(self.norm(self.conv(inputs)))).amax(dim=2))


@pytest.fixture(autouse=True)
def one_thread():
    """Limit PyTorch to one thread, because several threads would wait on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make(**options):
    torch.manual_seed(3)
    return Net(**options)


def batches(count=STEPS * SIZE):
    """Return a list of batches, which have the same order in each epoch."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 4, 20)).astype(np.float32)
    y = (x[:, 0].max(axis=1) > x[:, 1].max(axis=1)).astype(np.int64)
    return [
        {"inputs": x[at : at + SIZE], "label": y[at : at + SIZE]}
        for at in range(0, count, SIZE)
    ]


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 2, "batch_size": SIZE, "report": False, **options}
    return sl.train.fit(
        model, data, valid, **as_arguments(backend="torch", num_threads=1, **every)
    )


def state_of(module):
    return {name: it.detach().numpy().copy() for name, it in module.state_dict().items()}


def assert_equal_states(found, expected, *, tolerance=0.0):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=tolerance, atol=tolerance)


UPDATE_SETTINGS: list[Any] = [
    (
        lambda: sl.optim.SGD(momentum=0.9),
        lambda it: torch.optim.SGD(it, 0.05, momentum=0.9),
    ),
    (sl.optim.AdamW, lambda it: torch.optim.AdamW(it, 0.05)),
]


@pytest.mark.parametrize(("ours", "theirs"), UPDATE_SETTINGS, ids=["sgd", "adamw"])
def test_twenty_steps_equal_those_of_a_pytorch_loop(ours, theirs):
    data, module, twin = batches(), make(), make()
    optimizer = theirs(twin.parameters())
    for batch in data:
        optimizer.zero_grad()
        outputs = twin(torch.from_numpy(batch["inputs"]))
        nn.functional.cross_entropy(outputs, torch.from_numpy(batch["label"])).backward()
        optimizer.step()
    schedule = sl.optim.Constant(0.05)
    options = {"optimizer": ours(), "schedule": schedule, "epochs": 1}
    train(module, data, loss=nn.CrossEntropyLoss(), **options)
    assert_equal_states(state_of(module), state_of(twin), tolerance=1e-4)
    assert state_of(module)["norm.num_batches_tracked"] == STEPS


def test_a_trained_pytorch_module_has_the_weights_of_the_best_epoch(tmp_path):
    data, module = batches(), make()
    kept = {}

    class Keep:
        def on_epoch(self, row):
            kept[row["epoch"]] = state_of(module)

    run = train(
        module, data, batches(64), loss=nn.CrossEntropyLoss(), lr=0.5, epochs=4,
        callbacks=[Keep()], out=tmp_path / "run",
    )  # fmt: skip
    assert_equal_states(state_of(module), kept[run.best_epoch])
    assert not module.training
    again = sl.models.load(tmp_path / "run", model=make(), backend="torch")
    assert_equal_states(state_of(cast("Any", again.model).module), state_of(module))


def test_a_pytorch_network_trains_predicts_and_evaluates_on_a_dataset(toy):
    module = make(dropout=0.2)
    run = train(module, toy(), toy(30, name="valid"), epochs=3, lr=0.01)
    assert run.history[-1]["train_loss"] < run.history[0]["train_loss"]
    scores = sl.infer.predict(run, toy(5, name="new", labels=None)).to_numpy()
    with torch.no_grad():
        inputs = torch.from_numpy(toy(5, name="new", labels=None).batch(range(5))["inputs"])
        expected = module(inputs).softmax(dim=1).numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("place", [(1, 7), (1, None)], ids=str)
def test_a_stopped_run_with_dropout_resumes_to_the_same_bits(tmp_path, place):
    class Stop(sl.train.Progress):
        def on_batch(self, step):
            if (step.epoch, step.batch) == place:
                raise KeyboardInterrupt

        def on_epoch(self, row):
            if (row["epoch"], None) == place:
                raise KeyboardInterrupt

    def call(**options):
        module = make(dropout=0.5)
        train(module, batches(), loss=nn.CrossEntropyLoss(), **options)
        return state_of(module)

    torch.manual_seed(0)
    whole = call()
    torch.manual_seed(1)  # training does not use the global generator
    with pytest.raises(KeyboardInterrupt):
        call(out=tmp_path / "run", callbacks=[Stop()])
    assert_equal_states(call(out=tmp_path / "run", resume=True), whole)


def test_training_does_not_use_the_global_generator_of_pytorch():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    module = Net(dropout=0.5)
    before = torch.get_rng_state()
    train(module, batches(64), loss=nn.CrossEntropyLoss(), epochs=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert expected.shape == (3,)


def test_a_step_receives_the_pytorch_module_and_tensors():
    def step(module, batch, key):
        outputs = module(batch["inputs"])
        loss = nn.functional.cross_entropy(outputs, batch["label"])
        weights = sum(it.square().sum() for it in module.parameters())
        assert isinstance(batch["inputs"], torch.Tensor)
        return loss + 1e-3 * weights, {"loss of labels": loss, "weights": weights}

    run = train(make(), batches(), batches(64), step=step, epochs=3)
    row = run.history[-1]
    assert row["train_loss of labels"] < run.history[0]["train_loss of labels"]
    whole = row["valid_loss of labels"] + 1e-3 * row["valid_weights"]
    np.testing.assert_allclose(row["valid_loss"], whole, rtol=1e-5)


def test_frozen_parameters_do_not_change_and_shared_parameters_remain_shared():
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    module[1].weight = module[0].weight
    module[0].bias.requires_grad_(False)  # noqa: FBT003 - torch's
    before = state_of(module)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    data = [{"input": x, "y": x}]
    train(module, data, loss=nn.MSELoss(), epochs=5, lr=0.1)
    after = state_of(module)
    np.testing.assert_array_equal(after["0.bias"], before["0.bias"])
    assert np.abs(after["0.weight"] - before["0.weight"]).max() > 0.01
    assert module[0].weight is module[1].weight


def test_averaged_weights_are_copied_into_the_module():
    module, optimizer = make(), sl.optim.ScheduleFreeAdamW()
    schedule = sl.optim.Constant(0.01)
    run = train(
        module,
        batches(),
        loss=nn.CrossEntropyLoss(),
        optimizer=optimizer,
        schedule=schedule,
    )
    record = run.model.to_record()
    assert_equal_states(
        state_of(module), {name: np.asarray(record[name]) for name in record}
    )


def test_another_backend_for_a_pytorch_module_is_an_error_that_names_the_argument():
    with pytest.raises(
        BackendError, match=r'computes with torch only.*give backend="torch"'
    ):
        sl.train.fit(make(), batches(), objective=nn.CrossEntropyLoss())


def test_compile_with_a_pytorch_module_is_an_error_that_names_torch_compile():
    with pytest.raises(ArgumentError, match=r"use torch\.compile\(module\)"):
        train(make(), batches(), loss=nn.CrossEntropyLoss(), compile=True)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_wrong_number_of_outputs_is_an_error_that_lists_the_classes(toy, outputs):
    with pytest.raises(
        ArgumentError, match=rf"returns {outputs} outputs .* needs 2: no, yes"
    ):
        sl.train.fit(make(classes=outputs), toy(), backend="torch", epochs=1)


def test_lazy_layers_are_an_error_until_they_are_initialised(toy):
    data = toy()
    net = nn.Sequential(nn.Flatten(), nn.LazyLinear(2))
    with pytest.raises(
        ArgumentError, match=r"lazy layers, .* \(1\.weight, 1\.bias\)\. Call"
    ):
        sl.train.fit(net, data, backend="torch", epochs=1)
    net(torch.as_tensor(data.batch([0])["inputs"]))
    assert len(sl.train.fit(net, data, backend="torch", epochs=1).history) == 1


def test_an_error_in_a_network_names_the_records_and_the_training_lengths(toy):
    data = toy()
    letters = int(data.lengths[0])
    net = nn.Sequential(nn.Flatten(), nn.Linear(4 * letters, 2))
    run = sl.train.fit(net, data, backend="torch", epochs=1)
    with (
        pytest.warns(DataWarning, match="1 of 1 sequences have 3 residues"),
        pytest.raises(RuntimeError, match="shapes cannot be multiplied") as error,
    ):
        sl.infer.predict(run, {"short": "ACG"})
    assert error.value.__notes__ == [
        "in a batch of sequences (with their lengths): 'short' (3)",
        f"the model was trained on records of {letters} residues",
    ]


class Tied(nn.Module):
    """A network that shares the weights of its embedding and last layer, and a buffer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(4, 2, bias=False)
        self.head = nn.Linear(4, 2, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, inputs):
        return self.embedding(inputs.amax(dim=2)) + self.head(inputs.mean(dim=2))


def test_a_saved_model_with_tied_weights_loads_as_a_strict_state_dict(tmp_path):
    from safetensors.torch import load_file

    net = Tied()
    loss = nn.functional.cross_entropy
    run = train(net, batches(64), epochs=1, loss=loss, out=tmp_path / "run")
    state = load_file(tmp_path / "run/model.safetensors")
    other = Tied()
    other.load_state_dict(state, strict=True)
    assert_equal_states(state_of(other), state_of(net))
    # seqloom also reads the file, with both names of the shared weights or with one
    # name.
    record = sl.record.load(tmp_path / "run/model.safetensors")
    for names in (["embedding.weight", "head.weight"], ["head.weight"]):
        again = sl.models.TorchModule(Tied()).bind("torch", 0)
        again.load_record({name: record[name] for name in names})
        assert_equal_states(state_of(again.module), state_of(net))
    assert run.model.number_of_parameters == 8


def test_tied_weights_with_two_values_are_an_error():
    again = sl.models.TorchModule(Tied()).bind("torch", 0)
    wrong = {"embedding.weight": np.ones((2, 4)), "head.weight": np.zeros((2, 4))}
    with pytest.raises(RecordError, match="are one tensor of this network"):
        again.load_record(wrong)
