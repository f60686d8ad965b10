"""Tests of the numbers that a run logs to TensorBoard, MLflow and Weights & Biases."""

import sys
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import MissingExtraError


@pytest.fixture
def train(toy, small):
    """Train two epochs of three steps; return the run and its `Step` objects."""

    def call(*callbacks, **options):
        steps = []

        class Keep:
            def on_batch(self, step):
                steps.append(step)

        every: dict[str, Any] = {"epochs": 2, "batch_size": 16, "report": False, **options}
        valid = toy(30, name="valid")
        run = sl.train.fit(
            small, toy(), valid, **as_arguments(callbacks=[Keep(), *callbacks], **every)
        )
        return run, steps

    return call


def read_events(folder):
    """Read event files by TensorBoard's reader, as (step, value) pairs by name."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = events.EventAccumulator(str(folder)).Reload()
    return {
        name: [(it.step, it.tensor_proto.float_val[0]) for it in found.Tensors(name)]
        for name in found.Tags()["tensors"]
    }


def test_tensorboard_logs_each_step_and_each_epoch(train, tmp_path):
    pytest.importorskip("tensorboard")
    run, steps = train(sl.train.TensorBoard(tmp_path / "logs"))
    found = read_events(tmp_path / "logs")
    for name, expected in {
        "train/loss": [(it.number, it.loss) for it in steps],
        "lr": [(it.number, it.lr) for it in steps],
        "epoch/valid_loss": [(3 * it["epoch"], it["valid_loss"]) for it in run.history],
        "final/valid/auroc": [(6, run.valid.metrics["auroc"])],
    }.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-6)


def test_tensorboard_logs_every_nth_step_and_continues_after_a_resume(train, tmp_path):
    pytest.importorskip("tensorboard")
    for epochs in (2, 3):
        train(
            sl.train.TensorBoard(tmp_path / "logs", every=2),
            out=tmp_path / "run", resume=True, epochs=epochs,
        )  # fmt: skip
    assert [step for step, _ in read_events(tmp_path / "logs")["train/loss"]] == [
        2,
        4,
        6,
        8,
    ]


@pytest.mark.filterwarnings("ignore")  # warnings from MLflow
def test_mlflow_logs_settings_metrics_and_the_final_status(train, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "store").as_uri()
    run, steps = train(sl.train.MLflow("splice", tracking_uri=uri, run_name="first"))
    client = mlflow.MlflowClient(tracking_uri=uri)
    place = client.get_experiment_by_name("splice").experiment_id
    (kept,) = client.search_runs([place])
    assert (kept.info.run_name, kept.info.status) == ("first", "FINISHED")
    assert kept.data.params["batch size"] == "16"
    losses = client.get_metric_history(kept.info.run_id, "train/loss")
    assert [(it.step, it.value) for it in losses] == [(it.number, it.loss) for it in steps]
    assert kept.data.metrics["final/valid/auroc"] == run.valid.metrics["auroc"]


@pytest.mark.filterwarnings("ignore")
def test_mlflow_marks_a_run_that_failed(train, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "store").as_uri()

    class Fails:
        def on_epoch(self, row):
            raise RuntimeError(row)

    with pytest.raises(RuntimeError):
        train(sl.train.MLflow("splice", tracking_uri=uri), Fails())
    client = mlflow.MlflowClient(tracking_uri=uri)
    place = client.get_experiment_by_name("splice").experiment_id
    assert [it.info.status for it in client.search_runs([place])] == ["FAILED"]


@pytest.mark.filterwarnings("ignore")
def test_wandb_logs_to_the_open_run(train, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", dir=str(tmp_path)) as kept:
        run, _ = train(sl.train.WandB())
        kept.log({}, step=99)  # makes W&B write the values of earlier steps
        found, config = dict(kept.summary), dict(kept.config)
    assert found["epoch/valid_loss"] == run.history[-1]["valid_loss"]
    assert found["final/valid/auroc"] == run.valid.metrics["auroc"]
    assert config["batch size"] == 16


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_wandb_opens_and_ends_a_run_if_none_is_open(train, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train(sl.train.WandB("splice", mode="offline", dir=str(tmp_path)))
    assert wandb.run is None
    assert any((tmp_path / "wandb").glob("offline-run-*/*.wandb"))


@pytest.mark.parametrize("name", ["tensorboard", "mlflow", "wandb"])
def test_a_callback_without_its_library_names_the_package(train, name, monkeypatch):
    for module in (name, "tensorboard.summary"):
        monkeypatch.setitem(sys.modules, module, None)
    callback = {
        "tensorboard": sl.train.TensorBoard("logs"),
        "mlflow": sl.train.MLflow(),
        "wandb": sl.train.WandB(),
    }[name]
    with pytest.raises(MissingExtraError, match=f"pip install {name}"):
        train(callback)
