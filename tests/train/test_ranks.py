"""Tests that several processes train one network with the same result as one process.

Most tests use threads in place of processes. The last tests start processes, by
torchrun or by fork, which imports torch only once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError
from seqloom.train import _fit, _ranks
from threads_as_ranks import Threads

RANKS_SCRIPT = Path(__file__).with_name("train_by_ranks.py")


@pytest.fixture
def together(monkeypatch):
    """Train with a thread for each rank; return the run of each rank."""

    def run(world, **call):
        threads = Threads(world)
        monkeypatch.setattr(_fit, "find_ranks", threads.find)
        return threads.run(lambda _: sl.train.fit(**as_arguments(**call)))

    return run


def assert_alike(run, other):
    """Assert that two runs have equal weights and histories."""
    weights, expected = run.model.to_record(), other.model.to_record()
    for path in expected:
        np.testing.assert_allclose(weights[path], expected[path], 1e-5, 1e-6, err_msg=path)
    for row, wanted in zip(run.history, other.history, strict=True):
        rows = {**row, "seconds": 0}
        assert rows == pytest.approx({**wanted, "seconds": 0}, rel=1e-4, abs=1e-5)


def config_of(**options):
    every: dict[str, Any] = {"channels": 4, "outputs": 2, "widths": (8,), "kernel_size": 5}
    every |= {"dropout": 0.0} | options
    return sl.models.SequenceCNNConfig(**every)


# With 49 records in batches of 16, the last batch has one record, so some ranks have no
# record.
@pytest.mark.parametrize("world", [2, 3])
def test_several_processes_train_like_one_process(toy, together, tmp_path, world):
    call: dict[str, Any] = {
        "model": config_of(),
        "train": toy(49),
        "valid": toy(30, name="valid"),
    }
    call |= {"epochs": 2, "batch_size": 16, "lr": 1e-3}
    alone = sl.train.fit(**as_arguments(**call))
    runs = together(world, **call, out=tmp_path / "run")
    for run in runs:
        assert_alike(run, alone)
    assert (
        sl.infer.predict(tmp_path / "run", toy(30, name="valid")).ids
        == alone.valid.scores.ids
    )


def test_all_processes_have_exactly_the_same_weights(toy, together):
    runs = together(3, model=config_of(), train=toy(49), epochs=1, batch_size=16)
    first, *others = (run.model.to_record() for run in runs)
    assert all((first[path] == other[path]).all() for other in others for path in first)


@pytest.mark.parametrize(
    "data",
    [
        {"lengths": (12, 20, 31)},
        {"labels": "gc", "task": "regress"},
        {"labels": "motifs", "unlabelled": "skip"},
    ],
    ids=["lengths", "numbers", "several labels"],
)
def test_all_kinds_of_labels_can_be_trained_by_several_processes(toy, together, data):
    train = toy(49, **data)
    config = config_of(outputs=len(train.classes))
    call: dict[str, Any] = {
        "model": config,
        "train": train,
        "epochs": 1,
        "batch_size": 8,
        "lr": 1e-3,
    }
    assert_alike(together(2, **call)[1], sl.train.fit(**as_arguments(**call)))


def test_class_weights_apply_to_the_whole_batch(toy, together):
    call: dict[str, Any] = {
        "model": config_of(),
        "train": toy(49),
        "epochs": 2,
        "batch_size": 8,
    }
    call |= {"class_weight": {"yes": 5.0, "no": 0.5}, "lr": 1e-3}
    assert_alike(together(2, **call)[0], sl.train.fit(**as_arguments(**call)))


def test_batch_statistics_are_those_of_the_whole_batch(toy, together):
    config = config_of(length=20, widths=(), aligned=4)
    call: dict[str, Any] = {
        "model": config,
        "train": toy(49),
        "epochs": 1,
        "batch_size": 16,
        "lr": 1e-3,
    }
    threads = 2
    runs, alone = together(threads, **call), sl.train.fit(**as_arguments(**call))
    mean = alone.model.to_record()["aligned.mean.total"]
    found = runs[0].model.to_record()["aligned.mean.total"]
    np.testing.assert_allclose(found, mean, rtol=1e-5)


@pytest.mark.parametrize("backend", ["torch", pytest.param("jax", marks=pytest.mark.soak)])
def test_each_backend_can_train_with_several_processes(toy, together, backend):
    call: dict[str, Any] = {
        "model": config_of(),
        "train": toy(33),
        "epochs": 1,
        "batch_size": 16,
    }
    call |= {"backend": backend, "lr": 1e-3}
    assert_alike(together(2, **call)[0], sl.train.fit(**as_arguments(**call)))


def make_arrays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(49, 5)).astype(np.float32)
    return {"x": x, "y": (x @ rng.normal(size=5)).astype(np.float32)[:, None]}


def measure_step(model, batch, key):
    """A custom step, which returns the loss and a number."""
    del key
    error = model(batch["x"]) - batch["y"]
    return (error * error).mean(), {"largest": (error * error).max()}


def test_a_custom_step_on_arrays_can_be_trained_by_several_processes(monkeypatch):
    threads = Threads(2)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    call: dict[str, Any] = {
        "train": make_arrays(),
        "step": measure_step,
        "epochs": 2,
        "batch_size": 16,
    }
    layers: list[Any] = [sl.nn.Linear(5, 1).bind("numpy", sl.Key(0)) for _ in range(3)]
    runs = threads.run(lambda number: sl.train.fit(layers[number], **as_arguments(**call)))
    alone = sl.train.fit(layers[2], **as_arguments(**call, compile=False))
    weights = [run.model.to_record()["weight"] for run in (*runs, alone)]
    np.testing.assert_allclose(weights[0], weights[2], rtol=1e-5, atol=1e-6)
    assert (weights[0] == weights[1]).all()


class Branches(sl.nn.Module):
    """A network that uses one of its layers for some records only."""

    rare: sl.nn.Linear
    usual: sl.nn.Linear

    def __init__(self):
        self.rare = sl.nn.Linear(5, 3, bias=False)
        self.usual = sl.nn.Linear(5, 3)

    def logits(self, x):
        outputs = self.usual(x)
        flags = (x.numpy()[:, :1] > 1.2).astype(np.float32)
        return outputs + self.rare(x * flags) if flags.any() else outputs


@pytest.mark.parametrize("world", [2, 3])
def test_a_process_without_a_gradient_adds_zeros(monkeypatch, world):
    threads = Threads(world)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    rows = make_arrays()["x"]
    data = {"x": rows, "label": (rows[:, 1] > 0) + (rows[:, 2] > 0).astype(np.int64)}
    call: dict[str, Any] = {"task": "classify", "epochs": 2, "batch_size": 6, "lr": 0.01}
    models = [Branches().bind("numpy", sl.Key(0)) for _ in range(world + 1)]
    runs = threads.run(
        lambda number: sl.train.fit(models[number], data, **as_arguments(**call))
    )
    alone = sl.train.fit(models[-1], data, **as_arguments(**call, compile=False))
    for run in runs:
        assert_alike(run, alone)


def test_a_pytorch_network_can_be_trained_by_several_processes(monkeypatch):
    torch = pytest.importorskip("torch")
    threads = Threads(2)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)

    def make():
        torch.manual_seed(0)
        return torch.nn.Linear(5, 1)

    def step(model, batch):
        return ((model(batch["x"]) - batch["y"]) ** 2).mean()

    networks = [make() for _ in range(3)]
    call: dict[str, Any] = {
        "train": make_arrays(),
        "step": step,
        "epochs": 2,
        "batch_size": 16,
    }
    call |= {"backend": "torch"}
    threads.run(lambda number: sl.train.fit(networks[number], **as_arguments(**call)))
    sl.train.fit(networks[2], **as_arguments(**call))
    weights = [network.weight.detach().numpy() for network in networks]
    np.testing.assert_allclose(weights[1], weights[2], rtol=1e-5, atol=1e-6)


def test_genotypes_can_be_trained_on_by_several_processes(cohort, together):
    train = cohort(49)
    config = sl.models.GenotypeMLPConfig.for_data(train)
    call: dict[str, Any] = {
        "model": config,
        "train": train,
        "epochs": 1,
        "batch_size": 16,
        "lr": 1e-3,
    }
    runs = together(2, **call)
    assert np.isfinite(runs[0].history[-1]["train_loss"])


def test_dropout_differs_between_processes(toy, monkeypatch):
    seen: list[Any] = []

    class Dropped(sl.nn.Module):
        drop: sl.nn.Dropout
        last: sl.nn.Linear

        def logits(self, x, *, key=None, **_):
            x = x.reshape(x.shape[0], -1)
            seen.append(self.drop(x * 0 + 1, key=key).numpy())
            return self.last(x)

    threads, train = Threads(2), toy(16)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    models = [Dropped(sl.nn.Dropout(0.5), sl.nn.Linear(80, 2)) for _ in range(2)]
    threads.run(lambda number: sl.train.fit(models[number], train, epochs=1))
    assert not (seen[0] == seen[1]).all()


def test_all_processes_start_with_the_network_of_the_first_process(toy, monkeypatch):
    threads, train = Threads(2), toy(16)
    monkeypatch.setattr(_fit, "find_ranks", threads.find)
    models = [config_of().init("numpy", sl.Key(seed)) for seed in (1, 2)]
    alone = sl.train.fit(models[0].map(lambda _, x: x), train, epochs=1, batch_size=16)
    runs = threads.run(
        lambda number: sl.train.fit(models[number], train, epochs=1, batch_size=16)
    )
    assert_alike(runs[1], alone)


@pytest.mark.parametrize("world", [1, 3])
def test_a_run_resumes_with_another_number_of_processes(toy, together, tmp_path, world):
    class Stop:
        def on_batch(self, step):
            if (step.epoch, step.batch) == (2, 2):
                raise KeyboardInterrupt

    call: dict[str, Any] = {
        "model": config_of(),
        "train": toy(49),
        "valid": toy(30, name="valid"),
    }
    call |= {"epochs": 3, "batch_size": 16, "lr": 1e-3}
    alone = sl.train.fit(**as_arguments(**call))
    call |= {"out": tmp_path / "run"}
    with pytest.raises((KeyboardInterrupt, Exception)):
        together(2, **call, progress=Stop(), checkpoint_every="epoch")
    record = sl.record.load(tmp_path / "run/checkpoint/last.safetensors")
    assert record.metadata["step_count"] == 6
    for run in together(world, **call, resume=True):
        assert_alike(run, alone)


def test_a_callback_that_ends_the_run_ends_it_in_all_processes(toy, together):
    class End:
        def on_batch(self, step):
            return step.batch == 2

    runs = together(
        2, model=config_of(), train=toy(49), epochs=3, batch_size=16, callbacks=[End()]
    )
    assert [len(run.history) for run in runs] == [1, 1]


def test_only_one_process_writes_and_reports(toy, together, tmp_path):
    told = []

    class Watch:
        def on_epoch(self, row):
            told.append(row["epoch"])

    call: dict[str, Any] = {
        "model": config_of(),
        "train": toy(16),
        "epochs": 2,
        "batch_size": 16,
    }
    together(2, **call, out=tmp_path / "run", progress=Watch(), keep=2)
    assert told == [1, 2]
    names = sorted(path.name for path in (tmp_path / "run/checkpoint").iterdir())
    assert names[0] == "last.safetensors"


def test_the_variables_of_torchrun_must_be_numbers(toy, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(ArgumentError, match="WORLD_SIZE must be a number, as torchrun"):
        sl.train.fit(config_of(), toy(16), epochs=1)


def test_a_gpu_is_chosen_by_the_local_rank(monkeypatch):
    assert _ranks.choose_device("torch:cuda") == "torch:cuda"
    for name, value in {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert _ranks.choose_device("torch:cuda") == "torch:cuda:1"
    assert _ranks.choose_device("torch:cuda:0") == "torch:cuda:0"
    assert _ranks.choose_device("numpy") == "numpy"


def start(folder, world, backend="numpy", what="train", place="", *, torchrun=False):
    """Train with real processes; return the exit code and the output."""
    command = [sys.executable]
    if torchrun:
        command += ["-m", "torch.distributed.run", "--standalone"]
        command.append(f"--nproc-per-node={world}")
    words = [*command, RANKS_SCRIPT, folder, backend, what, place]
    words += [] if torchrun else [str(world)]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        words, check=False, timeout=300, capture_output=True, text=True, env=variables
    )
    return done.returncode, done.stdout + done.stderr


def assert_alike_on_disk(folder, other):
    """Assert that weights and optimiser states in two run folders are equal."""
    names = ("checkpoint/last.safetensors", "model.safetensors")
    for name in names:
        found, expected = (sl.record.load(home / name) for home in (folder, other))
        assert found.keys() == expected.keys()
        for path in expected:
            np.testing.assert_allclose(
                np.asarray(found[path]),
                np.asarray(expected[path]),
                1e-5,
                1e-6,
                err_msg=path,
            )


@pytest.mark.parametrize(
    "backend", ["numpy", pytest.param("torch", marks=pytest.mark.soak)]
)
def test_a_killed_run_of_two_processes_resumes_with_one_or_three(tmp_path, backend):
    assert start(tmp_path / "whole", 1, backend)[0] == 0
    code, _ = start(tmp_path / "one", 2, backend, "kill", "2.3")
    assert code != 0
    record = sl.record.load(tmp_path / "one/checkpoint/last.safetensors")
    assert record.metadata["step_count"] == 7 + 3
    shutil.copytree(tmp_path / "one", tmp_path / "three")
    for name, world in (("one", 1), ("three", 3)):
        assert start(tmp_path / name, world, backend)[0] == 0
        assert_alike_on_disk(tmp_path / name, tmp_path / "whole")


def test_an_error_in_one_process_ends_all_processes(tmp_path):
    code, said = start(tmp_path / "run", 2, what="fault", torchrun=True)
    assert code != 0
    assert "the disk of process 1 is gone" in said
    assert "another process of this run has ended" in said


@pytest.mark.soak
def test_a_signal_to_torchrun_leaves_a_checkpoint_of_a_completed_step(tmp_path):
    assert start(tmp_path / "whole", 1)[0] == 0
    code, _ = start(tmp_path / "run", 2, what="stop", place="2.3", torchrun=True)
    assert code != 0
    record = sl.record.load(tmp_path / "run/checkpoint/last.safetensors")
    assert 7 + 3 <= record.metadata["step_count"] < 14
    assert start(tmp_path / "run", 2, torchrun=True)[0] == 0
    assert_alike_on_disk(tmp_path / "run", tmp_path / "whole")


@pytest.mark.soak
def test_only_one_process_prints_the_output_of_the_command(tmp_path):
    demo = Path(sl.__file__).parent / "_demo"
    words = ["train", demo / "train.fa.gz", "--labels", demo / "train.tsv", "--epochs", "1"]
    words += ["--valid-share", "0.1", "--out", tmp_path / "run"]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", "-m", "seqloom.cli", *words]
    first, again = (
        subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
        for _ in range(2)
    )
    assert (first.returncode, first.stdout.count("kept   epoch 1 of 1")) == (0, 1)
    assert again.returncode != 0
    assert "already contains a run" in again.stderr
    assert "process 1: error" not in again.stderr
