"""Tests of training in half precision: weights, loss scale, resuming and errors."""

from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.nn import functional as F
from seqloom.train import _fit
from threads_as_ranks import Threads


class Network(sl.nn.Module):
    """A network of two linear layers."""

    first: sl.nn.Linear
    head: sl.nn.Linear

    def __init__(self):
        self.first = sl.nn.Linear(6, 16)
        self.head = sl.nn.Linear(16, 3)

    def logits(self, inputs):
        """Return the logits of three classes."""
        return self.head(F.relu(self.first(inputs)))


def data():
    """Random inputs with labels of three classes."""
    rows = np.random.default_rng(0).normal(size=(60, 6)).astype("float32")
    return {"inputs": rows, "label": rows[:, :3].argmax(1)}


def train(precision, backend="numpy", **options):
    """Allow half precision on processors where it is slow."""
    given: dict[str, Any] = {"epochs": 4, "batch_size": 20, "loss": F.cross_entropy}
    given |= {"schedule": sl.optim.Constant(0.02), "progress": False, "report": False}
    given |= options
    network = Network().bind(backend, 0)
    with sl.tensor.autocast("float32", allow_slow=True):
        return sl.train.fit(network, data(), **as_arguments(precision=precision, **given))


def losses(run):
    """Return the training losses of the epochs."""
    return [row["train_loss"] for row in run.history]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_trains_as_well_as_full_precision(precision):
    full, half = train("float32"), train(precision)
    assert losses(half) != losses(full)
    np.testing.assert_allclose(losses(half), losses(full), rtol=0.02)
    assert {param.dtype for _, param in half.model.parameters()} == {"float32"}


def test_a_compiled_step_in_bfloat16_equals_an_uncompiled_step():
    one, other = train("bfloat16", compile=False), train("bfloat16", compile=True)
    np.testing.assert_allclose(losses(one), losses(other), rtol=1e-3)


def test_a_run_in_float16_resumes_with_its_loss_scale(tmp_path):
    whole = train("float16", out=tmp_path / "whole")
    train("float16", out=tmp_path / "cut", epochs=2)
    again = train("float16", out=tmp_path / "cut", resume=True)
    assert losses(again) == losses(whole)
    expected = whole.model.to_record()
    for path, values in again.model.to_record().items():
        np.testing.assert_array_equal(values, expected[path], err_msg=path)
    one, other = (
        sl.record.load(tmp_path / name / "checkpoint/last.safetensors").metadata["others"]
        for name in ("whole", "cut")
    )
    assert one == other
    assert one["loss_scale"]["good_steps"] > 0


@pytest.mark.parametrize("backend", ["torch", pytest.param("jax", marks=pytest.mark.soak)])
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_each_backend_trains_in_half_precision(backend, precision):
    full, half = train("float32", backend), train(precision, backend)
    np.testing.assert_allclose(losses(half), losses(full), rtol=0.02)
    assert {param.dtype for _, param in half.model.parameters()} == {"float32"}


def half_step(model, batch, key):
    """Return a matrix product as the loss, which therefore is in half precision."""
    del key
    logits = model.logits(batch["inputs"]).reshape((-1,))
    return sl.tensor.apply("vecdot", logits, logits) / 100


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")  # a NumPy warning
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_loss_in_half_precision_is_scaled_in_float32(precision):
    options: dict[str, Any] = {"step": half_step, "loss": None}
    options |= {"schedule": sl.optim.Constant(1e-3)}
    full, half = train("float32", **options), train(precision, **options)
    # The first of 12 float16 steps is skipped: the loss scale 65536 overflows a gradient.
    np.testing.assert_allclose(losses(half), losses(full), rtol=0.05)


def test_the_report_names_the_precision(tmp_path):
    train("bfloat16", out=tmp_path / "run", report=True)
    report = (tmp_path / "run/report.html").read_text()
    assert "<dt>precision</dt><dd>bfloat16</dd>" in report


def far_data():
    """Return inputs; in each batch, one row overflows at the initial loss scale."""
    rows = data()
    rows["inputs"][::20] *= 300
    return rows


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # a NumPy warning
def test_all_processes_skip_a_step_that_overflows_in_one_process(monkeypatch, tmp_path):
    threads = Threads(2)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    call: dict[str, Any] = {"train": far_data(), "epochs": 3, "batch_size": 20}
    call |= {"loss": F.cross_entropy, "precision": "float16", "progress": False}
    call |= {"schedule": sl.optim.Constant(1e-4), "report": False}

    def run(network, **options):
        with sl.tensor.autocast("float32", allow_slow=True):  # only in this thread
            return sl.train.fit(network, **as_arguments(**call, **options))

    networks = [Network().bind("numpy", 0) for _ in range(3)]
    out = tmp_path / "run"
    runs = threads.run(lambda number: run(networks[number], out=out))
    alone = run(networks[2], out=tmp_path / "alone")
    weights = [it.model.to_record()["first.weight"] for it in (*runs, alone)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_allclose(weights[0], weights[2], rtol=1e-3, atol=1e-5)
    scales = [
        sl.record.load(folder / "checkpoint/last.safetensors").metadata["others"]
        for folder in (out, tmp_path / "alone")
    ]
    assert scales[0]["loss_scale"]["loss_scale"] < 65536
    assert scales[0] == scales[1]


def test_a_run_cannot_resume_in_another_precision(tmp_path):
    train("float16", out=tmp_path / "run", epochs=2)
    with pytest.raises(sl.errors.RunFolderError, match="precision"):
        train("float32", out=tmp_path / "run", resume=True)


def test_a_training_precision_that_would_be_slower_is_an_error():
    with pytest.raises(sl.errors.BackendError, match="NumPy has no products of bfloat16"):
        sl.train.fit(
            Network().bind("numpy", 0),
            data(),
            objective=F.cross_entropy,
            backend=sl.train.Computation(precision="bfloat16"),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "half"}, "precision must be"),
        (
            {"precision": "float16", "compile": True},
            r"Computation\(compile=True\): a step in float16",
        ),
    ],
)
def test_invalid_precision_settings_are_errors(options, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        train(**options)


def test_precision_with_a_pytorch_module_is_an_error_that_names_autocast():
    with pytest.raises(sl.errors.ArgumentError, match=r"torch\.autocast"):
        sl.train.fit(
            torch.nn.Linear(6, 3),
            data(),
            backend=sl.train.Computation("torch", precision="bfloat16"),
            objective=torch.nn.functional.cross_entropy,
        )
