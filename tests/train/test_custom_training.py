"""Tests of `fit` with custom networks, arrays, batches, losses and steps."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import seqloom as sl
from fit_arguments import as_arguments
from seqloom import nn
from seqloom._threads import supports_threads
from seqloom.errors import ArgumentError, GradientError, ShapeError
from seqloom.nn import functional as F
from seqloom.train._parts import Arrays, BatchCollator

RNG = np.random.default_rng(0)
RECORD_COUNT = 40


class TwoInputs(nn.Module):
    """A network with a required and an optional input array."""

    first: nn.Linear
    second: nn.Linear
    head: nn.Linear

    def __init__(self):
        self.first, self.second = nn.Linear(3, 8), nn.Linear(2, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, dna, age=None):
        hidden = self.first(dna)
        if age is not None:
            hidden = hidden + self.second(age)
        return self.head(F.tanh(hidden))[:, 0]


class Words(nn.Module):
    """A classifier of integer sequences with a recurrent layer."""

    embedding: nn.Embedding
    update: nn.Linear
    candidate: nn.Linear
    head: nn.Linear

    def __init__(self, size=5, width=8, classes=3):
        self.embedding = nn.Embedding(size, width)
        self.update = nn.Linear(2 * width, width)
        self.candidate = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, classes)

    def logits(self, ids):
        x = self.embedding(ids)
        state = x[:, 0] * 0.0
        for place in range(x.shape[1]):
            both = sl.tensor.concat([x[:, place], state], axis=1)
            gate = F.sigmoid(self.update(both))
            state = state * (1 - gate) + F.tanh(self.candidate(both)) * gate
        return self.head(state)


class Coder(nn.Module):
    """A variational autoencoder, which needs a random key."""

    inwards: nn.Linear
    outwards: nn.Linear

    def __init__(self):
        self.inwards, self.outwards = nn.Linear(3, 4), nn.Linear(2, 3)

    def elbo(self, x, key):
        mean, scale = (self.inwards(x)[:, at : at + 2] for at in (0, 2))
        noise = x.backend.tensor(np.zeros(mean.shape, np.float32))
        code = mean + F.dropout(noise + 1.0, 0.5, key) * F.softplus(scale)
        return F.mse_loss(self.outwards(code), x), (mean * mean).mean()


def table():
    """A dict of two inputs of different dtypes and a float64 target."""
    dna, age = RNG.normal(size=(RECORD_COUNT, 3)), RNG.integers(0, 5, (RECORD_COUNT, 2))
    return {"dna": dna, "age": age.astype(np.uint8) * 1.0, "y": dna.sum(axis=1)}


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 8, "batch_size": 10, "report": False, **options}
    return sl.train.fit(model, data, valid, **as_arguments(**every))


def is_learning(run):
    losses = [row["train_loss"] for row in run.history]
    return losses[-1] < 0.8 * losses[0]


def test_each_parameter_receives_the_array_of_its_name():
    data = table()
    run = train(TwoInputs(), data, data, loss=F.mse_loss, lr=0.05)
    assert is_learning(run)
    assert run.valid.metrics == {"n": RECORD_COUNT, "loss": run.history[-1]["valid_loss"]}


def test_an_array_for_an_optional_parameter_may_be_missing():
    data = table()
    del data["age"]
    assert is_learning(train(TwoInputs(), data, loss=F.mse_loss, lr=0.05))


def test_the_error_names_the_missing_array_and_the_existing_arrays():
    data = table()
    data["rna"] = data.pop("dna")
    with pytest.raises(
        ArgumentError,
        match=r"TwoInputs.forward\(dna, age\) needs dna, but .* the arrays age",
    ):
        train(TwoInputs(), data, loss=F.mse_loss)


def test_integer_inputs_remain_integers_and_the_task_sets_the_type_of_labels():
    ids = RNG.integers(0, 5, (60, 6))
    data = {"ids": ids, "label": ids[:, 2] % 3}
    run = train(Words(), data, data, task="classify", lr=0.03, epochs=15)
    assert run.valid.metrics["accuracy"] > 0.5
    assert run.trained.classes == ("0", "1", "2")
    assert run.valid.scores.to_numpy().shape == (60, 3)


@pytest.mark.parametrize("kind", ["arrays", "batches", "ours", "torch"])
def test_arrays_batches_and_loaders_give_the_same_training_steps(kind):
    data = {name: values.astype(np.float32) for name, values in table().items()}
    columns = list(data.values())
    tensors = torch.utils.data.TensorDataset(*map(torch.from_numpy, columns))
    items = [
        {name: values[at] for name, values in data.items()} for at in range(RECORD_COUNT)
    ]
    cut = [{k: v[i : i + 10] for k, v in data.items()} for i in range(0, RECORD_COUNT, 10)]
    given: Any = {
        "arrays": [tuple(batch.values()) for batch in cut],
        "batches": cut,
        "ours": sl.data.DataLoader(items, batch_size=10),
        "torch": torch.utils.data.DataLoader(tensors, batch_size=10),
    }
    expected = train(TwoInputs(), cut, cut, loss=F.mse_loss, epochs=2)
    found = train(TwoInputs(), given[kind], given[kind], loss=F.mse_loss, epochs=2)
    for before, after in zip(expected.history, found.history, strict=True):
        assert (before["train_loss"], before["valid_loss"]) == (
            after["train_loss"],
            after["valid_loss"],
        )


@pytest.mark.parametrize("kind", ["dict", "tuple", "torch"])
def test_a_sequential_network_receives_the_inputs_and_the_key(kind):
    data = table()
    given: Any = {"inputs": data["dna"], "y": data["y"][:, None]}
    net: Any = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    options: dict[str, Any] = {"loss": F.mse_loss, "lr": 0.05}
    if kind == "torch":
        net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 1))
        given["input"] = given.pop("inputs")
        options |= {"loss": torch.nn.MSELoss(), "backend": "torch", "num_threads": 1}
    assert is_learning(
        train(net, tuple(given.values()) if kind == "tuple" else given, **options)
    )


def test_a_batch_tuple_contains_the_inputs_in_order_and_then_the_labels():
    data = table()
    by_name = train(TwoInputs(), data, loss=F.mse_loss, epochs=2)
    in_order = train(TwoInputs(), tuple(data.values()), loss=F.mse_loss, epochs=2)
    names = ("epoch", "train_loss")
    assert [[row[name] for name in names] for row in by_name.history] == [
        [row[name] for name in names] for row in in_order.history
    ]


def two_losses(model, batch, key):
    fit_loss, prior = model.elbo(batch["inputs"], key)
    return fit_loss + 0.1 * prior, {"fit": fit_loss, "prior": prior}


def test_a_custom_step_returns_its_losses_by_name():
    run = train(Coder(), table()["dna"], table()["dna"], step=two_losses, lr=0.03)
    assert is_learning(run)
    for part in ("train", "valid"):
        row = run.history[-1]
        whole = row[f"{part}_fit"] + 0.1 * row[f"{part}_prior"]
        np.testing.assert_allclose(row[f"{part}_loss"], whole, rtol=1e-5)


@pytest.mark.parametrize("place", [(2, 3), (3, None)], ids=str)
def test_a_run_with_a_custom_step_resumes_to_the_same_bits(tmp_path, place):
    class Stop(sl.train.Progress):
        def on_batch(self, step):
            if (step.epoch, step.batch) == place:
                raise KeyboardInterrupt

        def on_epoch(self, row):
            if (row["epoch"], None) == place:
                raise KeyboardInterrupt

    data, options = table()["dna"], {"step": two_losses, "epochs": 4}
    whole = train(Coder(), data, data, out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        train(Coder(), data, data, out=tmp_path / "run", callbacks=[Stop()], **options)
    again = train(Coder(), data, data, out=tmp_path / "run", resume=True, **options)
    rows = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in run.history]
        for run in (whole, again)
    ]
    assert rows[0] == rows[1]
    files = [(tmp_path / it / "model.safetensors").read_bytes() for it in ("whole", "run")]
    assert files[0] == files[1]


# Values that the steps of an epoch return; some steps do not return all numbers.
RETURNED_NUMBERS_BY_STEP: list[dict[str, float]] = [
    {"a": 1.0},
    {"a": 2.0, "b": 5.0},
    {"b": 7.0},
    {"a": 6.0},
]


@pytest.mark.parametrize("batch", [None, 1, 3], ids=str)
def test_a_logged_number_is_averaged_over_the_steps_that_return_it(tmp_path, batch):
    class Stop(sl.train.Progress):
        def on_batch(self, step):
            if (step.epoch, step.batch) == (1, batch):
                raise KeyboardInterrupt

    def step(model, batch):
        return model(batch["x"]).mean(), RETURNED_NUMBERS_BY_STEP[
            int(batch["place"].numpy()[0])
        ]

    data = [
        {"x": np.full((size, 3), 0.5, np.float32), "place": np.full(size, place)}
        for place, size in enumerate((10, 20, 20, 10))
    ]
    options: dict[str, Any] = {"step": step, "epochs": 2, "out": tmp_path}
    if batch is not None:
        with pytest.raises(KeyboardInterrupt):
            train(nn.Linear(3, 1), data, callbacks=[Stop()], **options)
    run = train(nn.Linear(3, 1), data, resume=batch is not None, **options)
    for row in run.history:
        assert row["train_a"] == (10 * 1 + 20 * 2 + 10 * 6) / 40
        assert row["train_b"] == (20 * 5 + 20 * 7) / 40


def test_a_step_without_a_key_receives_tuples_if_the_data_are_tuples():
    def step(model, batch):
        dna, age, y = batch
        return F.mse_loss(model(dna, age), y)

    assert is_learning(train(TwoInputs(), tuple(table().values()), step=step, lr=0.05))


def test_a_step_receives_the_arrays_of_a_seqloom_dataset_by_name(toy, small):
    seen = set()

    def step(model, batch, key):
        seen.update(batch)
        logits = model.logits(batch["inputs"], mask=batch.get("mask"), key=key)
        return F.cross_entropy(logits, batch["label"]), logits

    run = train(small, toy(), toy(30, name="valid"), step=step, task="classify", epochs=2)
    assert {"inputs", "label"} <= seen
    assert "id" not in seen
    assert 0 <= run.valid.metrics["accuracy"] <= 1
    assert len(sl.infer.predict(run, toy(5, name="new"))) == 5


def test_metrics_are_computed_from_the_outputs_that_a_step_returns():
    def step(model, batch, key):
        outputs = model(batch["dna"], batch["age"])
        return F.mse_loss(outputs, batch["y"]), outputs

    data, options = (
        table(),
        {"metrics": {"rmse": lambda y, z: np.sqrt(((y - z) ** 2).mean())}},
    )
    run = train(TwoInputs(), data, data, step=step, **options)
    row = run.history[-1]
    np.testing.assert_allclose(row["valid_rmse"] ** 2, row["valid_loss"], rtol=1e-5)


def test_a_run_with_a_custom_step_can_be_saved_and_loaded(tmp_path):
    data = table()
    run = train(TwoInputs(), data, data, loss=F.mse_loss, out=tmp_path / "run", report=True)
    again = sl.models.load(tmp_path / "run", model=TwoInputs())
    x = again.model.backend.tensor(data["dna"].astype(np.float32))
    np.testing.assert_array_equal(again.model(x).numpy(), run.model(x).numpy())
    assert "trained on 40 records" in (tmp_path / "run/report.html").read_text()


def test_predict_with_a_custom_model_is_an_error_because_outputs_have_no_names(toy):
    run = train(TwoInputs(), table(), loss=F.mse_loss, epochs=1)
    with pytest.raises(ArgumentError, match=r"call run\.model"):
        sl.infer.predict(run, toy())


def test_a_logged_number_with_the_name_loss_is_an_error():
    def step(model, batch, key):
        outputs = model(batch["dna"], batch["age"])
        return F.mse_loss(outputs, batch["y"]), {"loss": 0.0 * outputs.mean()}

    with pytest.raises(ArgumentError, match="cannot be named 'loss'"):
        train(TwoInputs(), table(), loss=F.mse_loss, metrics={"loss": F.mse_loss})
    with pytest.raises(ArgumentError, match="step returned a number named 'loss'"):
        train(TwoInputs(), table(), step=step)


@pytest.mark.parametrize("value", [None, "high"])
def test_the_error_names_a_metric_that_returns_no_number(value):
    data, options = table(), {"metrics": {"odd": lambda *_: value}}
    with pytest.raises(ArgumentError, match="the metric 'odd' must return one number"):
        train(TwoInputs(), data, data, loss=F.mse_loss, **options)


def count(model, batch):
    """Return something that is not a loss."""
    return model.number_of_parameters + len(batch)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"loss": None}, ArgumentError, "a custom task needs objective="),
        (
            {"step": count, "loss": None},
            GradientError,
            "must return the loss",
        ),
        ({"step": two_losses}, ArgumentError, "leave out loss or step"),
        ({"step": "mine", "loss": None}, ArgumentError, "step must be a function"),
        ({"train": iter([table()])}, ArgumentError, "empty after one epoch"),
        ({"train": {"dna": [[1.0]], "y": [1.0, 2.0]}}, ShapeError, "a row for each record"),
        (
            {"train": {"dna": ["ACGT"], "y": [1.0]}},
            ArgumentError,
            "'dna' must contain numbers",
        ),
        ({"train": [3, 4]}, ArgumentError, "a batch must be a dict"),
        ({"train": [table()], "task": "classify"}, ArgumentError, "is a loader"),
        ({"class_weight": "balanced"}, ArgumentError, "the task is custom"),
        ({"train": {"dna": table()["dna"]}}, ArgumentError, "has no labels among dna"),
    ],
)
def test_data_that_cannot_be_trained_on_are_an_error(change, error, message):
    options: dict[str, Any] = {"train": table(), "loss": F.mse_loss, **change}
    with pytest.raises(error, match=message):
        sl.train.fit(TwoInputs(), **as_arguments(epochs=1, **options))


def by_name(pair):
    return dict(zip(("inputs", "y"), pair, strict=True))


@pytest.mark.parametrize("form", [tuple, by_name])
def test_a_frame_and_a_series_with_different_indices_are_an_error(form):
    model = nn.Sequential(nn.Linear(3, 1))
    x = pd.DataFrame(table()["dna"], index=[f"s{row}" for row in range(RECORD_COUNT)])
    y = x.sum(axis=1)
    with pytest.raises(ArgumentError, match=r"the index of .* pass .*\.loc\[.*\.index\]"):
        train(model, form((x, y[::-1])), task="regress", epochs=1)
    first, other = (
        train(nn.Sequential(nn.Linear(3, 1)), form(pair), task="regress", epochs=2).history
        for pair in [(x, y), (x.to_numpy(), y.to_numpy())]
    )
    assert [row["train_loss"] for row in first] == [row["train_loss"] for row in other]


def test_masked_values_are_an_error():
    data = table()
    hidden = np.ma.array(data["y"], mask=np.arange(RECORD_COUNT) == 3)
    with pytest.raises(ArgumentError, match="y has 1 masked values"):
        train(TwoInputs(), {**data, "y": hidden}, loss=F.mse_loss)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_outputs_with_one_axis_are_an_error_for_a_task(backend):
    class Flat(nn.Module):
        layer: nn.Linear

        def __init__(self):
            self.layer = nn.Linear(3, 1)

        def __call__(self, inputs):
            return self.layer(inputs)[:, 0]

    class FlatOfTorch(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, inputs):
            return self.layer(inputs)[:, 0]

    model = Flat() if backend == "numpy" else FlatOfTorch()
    data = (table()["dna"].astype(np.float32), table()["y"])
    with pytest.raises(ArgumentError, match=r"needs a column for each of .*\[:, None\]"):
        train(model, data, task="regress", epochs=1, backend=backend)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_batch_without_records_is_an_error():
    data = table()
    batches = [data, {name: array[:0] for name, array in data.items()}]
    with pytest.raises(GradientError, match="the batch has no records"):
        train(TwoInputs(), batches, loss=F.mse_loss)


def test_array_datasets_support_threads():
    # For datasets without thread support, the loader saves and sets the global random
    # generators for each batch.
    assert supports_threads(Arrays({"x": np.zeros(3)}))
    assert supports_threads(BatchCollator())
