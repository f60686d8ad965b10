"""Tests of checkpoints: when they are written, how many are kept, and reading."""

import functools
import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import ArgumentError, RecordError, RunFolderError
from seqloom.train import _checkpoints, _parts, _training
from seqloom.train._progress import Step
from seqloom.train._values import Interval

LAST_CHECKPOINT = "run/checkpoint/last.safetensors"


class Killed(BaseException):
    """Simulates a kill: no file is written afterwards."""


class Watch(sl.train.Progress):
    """A callback that calls a function after a given batch, and records all batches."""

    def __init__(self, place: Any = None, action: Any = None):
        self.place, self.action = place, action
        self.batches = []

    def on_start(self, plan):
        pass

    def on_batch(self, step):
        self.batches.append((step.epoch, step.batch))
        if self.batches[-1] == self.place:
            self.action()

    def on_epoch(self, row):
        pass

    def on_end(self, run):
        pass


def kill():
    raise Killed


@pytest.fixture
def start(toy, small, tmp_path):
    """Train three epochs of three batches in a folder; keywords override the defaults."""

    def call(out="run", **options):
        every: dict[str, Any] = {"epochs": 3, "batch_size": 16, "lr": 1e-2, **options}
        valid = every.pop("valid", toy(30, name="valid"))
        return sl.train.fit(
            small, toy(), valid, **as_arguments(out=tmp_path / out, **every)
        )

    return call


@pytest.fixture
def weights(start, tmp_path):
    """The weights of an uninterrupted run."""
    start("whole")
    return (tmp_path / "whole/model.safetensors").read_bytes()


def names_in(tmp_path):
    return sorted(path.name for path in (tmp_path / "run/checkpoint").iterdir())


@pytest.mark.parametrize("place", [(1, 1), (2, 2), (3, 3)], ids=str)
def test_a_killed_run_resumes_from_its_last_step(start, weights, tmp_path, place):
    with pytest.raises(Killed):
        start(progress=Watch(place, kill), checkpoint_every=1)
    watch = Watch()
    start(resume=True, progress=watch)
    assert (tmp_path / "run/model.safetensors").read_bytes() == weights
    assert len(watch.batches) == 9 - 3 * (place[0] - 1) - place[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"optimizer": sl.optim.ScheduleFreeAdamW()},
        lambda: {"optimizer": sl.optim.Muon()},
        lambda: {"optimizer": sl.optim.SGD(momentum=0.9), "compile": True},
        lambda: {"schedule": sl.optim.Plateau(1e-2, patience=0)},
        lambda: {"backend": "torch"},
    ],
    ids=["schedule-free", "Muon", "compiled", "plateau", "torch"],
)
def test_each_kind_of_training_resumes_in_the_middle_of_an_epoch(toy, tmp_path, make):
    def train(out, **options):
        call: dict[str, Any] = {"lr": 1e-2, **make(), "epochs": 3, "batch_size": 16}
        if "schedule" in call:
            del call["lr"]
        config = sl.models.SequenceCNNConfig(
            channels=4, outputs=2, widths=(8,), kernel_size=5, dropout=0.5
        )
        valid = toy(30, name="valid")
        return sl.train.fit(
            config, toy(), valid, **as_arguments(out=tmp_path / out, **call, **options)
        )

    train("whole")
    with pytest.raises(Killed):
        train("run", progress=Watch((2, 2), kill), checkpoint_every=1)
    train("run", resume=True)
    for name in ("model.safetensors", "scores-valid.tsv"):
        found, expected = (tmp_path / it / name for it in ("run", "whole"))
        assert found.read_bytes() == expected.read_bytes()


def test_an_epoch_resumes_with_another_number_of_workers(
    start, weights, tmp_path, monkeypatch
):
    loader = sl.data.DataLoader
    for workers, place in ((2, (1, 2)), (3, (2, 1))):
        made = functools.partial(loader, num_workers=workers)
        monkeypatch.setattr(_parts, "DataLoader", made)
        with pytest.raises(Killed):
            start(resume=True, progress=Watch(place, kill), checkpoint_every=1)
    monkeypatch.setattr(_parts, "DataLoader", loader)
    start(resume=True)
    assert (tmp_path / "run/model.safetensors").read_bytes() == weights


def test_the_means_of_a_resumed_epoch_include_all_its_steps(start):
    whole = start("whole").history
    with pytest.raises(Killed):
        start(progress=Watch((2, 2), kill), checkpoint_every=1)
    for one, other in zip(whole, start(resume=True).history, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_a_short_epoch_writes_no_checkpoint_by_default(start):
    with pytest.raises(Killed):
        start(progress=Watch((2, 3), kill))
    watch = Watch()
    start(resume=True, progress=watch)
    assert watch.batches[0] == (2, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_within_a_step_waits_for_the_end_of_the_step(start, tmp_path, number):
    def send(logits, labels, calls=iter(range(99))):  # noqa: B008 - counts the calls
        if next(calls) == 4:  # call 3 is the validation, call 4 the first step of epoch 2
            os.kill(os.getpid(), number)
        return sl.nn.functional.cross_entropy(logits, labels)

    with pytest.raises(KeyboardInterrupt, match=r"1 epoch and 1 step of the next"):
        start(loss=send, checkpoint_every="epoch")
    record = sl.record.load(tmp_path / LAST_CHECKPOINT)
    assert record.metadata["step_count"] == 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_second_signal_stops_a_step_at_once_and_the_step_is_not_saved(start, tmp_path):
    def send(logits, labels, calls=iter(range(99))):  # noqa: B008 - counts the calls
        if next(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return sl.nn.functional.cross_entropy(logits, labels)

    with pytest.raises(KeyboardInterrupt, match=r"contains 1 epoch; continue"):
        start(loss=send)
    assert sl.record.load(tmp_path / LAST_CHECKPOINT).metadata["step_count"] == 3


def test_a_signal_handler_of_the_program_stays_installed_after_training(start):
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append("SIGTERM"))
    try:
        start(progress=Watch((2, 1), lambda: os.kill(os.getpid(), signal.SIGTERM)))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ["SIGTERM"]


def test_training_in_another_thread_ignores_signals(start):
    found = []
    thread = threading.Thread(target=lambda: found.append(start()))
    thread.start()
    thread.join()
    assert len(found[0].history) == 3


def test_the_option_keep_retains_the_newest_and_the_best_checkpoints(
    start, tmp_path, monkeypatch
):
    monkeypatch.setattr(_training, "_is_best", lambda history: len(history) == 1)
    start(keep=2, checkpoint_every=1)
    best, *newest = [f"step-{step:08}.safetensors" for step in (3, 8, 9)]
    assert names_in(tmp_path) == ["last.safetensors", best, *newest]
    for name in (newest[-1], "last.safetensors"):
        record = sl.record.load(tmp_path / "run/checkpoint" / name)
        assert record.metadata["step_count"] == 9
    record = sl.record.load(tmp_path / "run/checkpoint" / best).under("model.")
    kept = sl.record.load(tmp_path / "run/model.safetensors")
    assert all((np.asarray(record[path]) == np.asarray(kept[path])).all() for path in kept)


def test_keeping_one_checkpoint_stores_one_file(start, tmp_path):
    start(checkpoint_every=1)
    assert names_in(tmp_path) == ["last.safetensors"]


def test_without_hard_links_the_newest_checkpoint_is_stored_twice(
    start, tmp_path, monkeypatch
):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("os.link", refuse)
    start(keep=2, epochs=2)
    newest = tmp_path / "run/checkpoint/step-00000006.safetensors"
    assert newest.read_bytes() == (tmp_path / LAST_CHECKPOINT).read_bytes()


def test_replacing_a_run_removes_its_checkpoints(start, tmp_path):
    start(keep=3)
    start(overwrite=True, epochs=1)
    assert names_in(tmp_path) == ["last.safetensors"]


def test_a_checkpoint_of_version_1_is_read(start, weights, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Watch((2, 1), lambda: os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(Killed):
        start("old", progress=Watch((2, 1), kill))
    record = sl.record.load(tmp_path / "old/checkpoint/last.safetensors")
    new = {"best_step", "lr", "seconds", "others"}
    facts = {name: value for name, value in record.metadata.items() if name not in new}
    arrays = {path: np.asarray(array) for path, array in record.items()}
    old = sl.record.Record(arrays, metadata={**facts, "version": 1})
    old.save(tmp_path / LAST_CHECKPOINT)
    start(resume=True)
    assert (tmp_path / "run/model.safetensors").read_bytes() == weights


def test_a_checkpoint_of_a_later_version_is_an_error(start, tmp_path):
    start(epochs=1)
    record = sl.record.load(tmp_path / LAST_CHECKPOINT)
    arrays = {path: np.asarray(array) for path, array in record.items()}
    later = sl.record.Record(arrays, metadata={**record.metadata, "version": 3})
    later.save(tmp_path / LAST_CHECKPOINT)
    with pytest.raises(RecordError, match="not a checkpoint that this version"):
        start(resume=True)


@pytest.mark.parametrize(
    "change",
    [
        {"history": [1]},
        {"best_epoch": -1},
        {"identity": None},
        {"identity": {"epochs": "many"}},
        {"lr": "\ud800"},
        {"numbers": ["auc"]},
        {"version": True},
    ],
    ids=repr,
)
def test_invalid_metadata_of_a_checkpoint_is_an_error(small, tmp_path, change):
    path, identity = tmp_path / "last.safetensors", {"epochs": 1}
    state = _checkpoints.RunState(small.init("numpy", sl.Key(0)), sl.optim.AdamW())
    state.steps = [Step(1, 1, 4, 0.5, None)]
    _checkpoints.save_checkpoint(path, state, identity)
    record = sl.record.load(path)
    arrays = {name: np.asarray(array) for name, array in record.items()}
    sl.record.Record(arrays, metadata={**record.metadata, **change}).save(path)
    with pytest.raises((RecordError, RunFolderError), match=r"last\.safetensors"):
        _checkpoints.load_checkpoint(path, state, identity)


def test_a_checkpoint_restores_the_weight_average(small, tmp_path):
    def make(seed):
        model = small.init("numpy", sl.Key(seed))
        average = sl.optim.WeightAverage()
        average.update(model)
        state = _checkpoints.RunState(model, sl.optim.AdamW(), weight_average=average)
        return state, average.apply_average(model).to_record()

    path = tmp_path / "last.safetensors"
    (state, means), (other, _) = make(0), make(1)
    _checkpoints.save_checkpoint(path, state, {})
    _checkpoints.load_checkpoint(path, other, {})
    average: Any = other.weight_average
    again = average.apply_average(other.model).to_record()
    assert all((means[name] == again[name]).all() for name in means)


def test_a_checkpoint_without_a_needed_state_is_an_error(small, tmp_path):
    model, path = small.init("numpy", sl.Key(0)), tmp_path / "last.safetensors"
    _checkpoints.save_checkpoint(path, _checkpoints.RunState(model, sl.optim.AdamW()), {})
    average = sl.optim.WeightAverage()
    state = _checkpoints.RunState(model, sl.optim.AdamW(), weight_average=average)
    with pytest.raises(RecordError, match="started without weight_average"):
        _checkpoints.load_checkpoint(path, state, {})


@pytest.mark.parametrize(
    ("every", "step", "elapsed", "cost", "is_over"),
    [
        (500, 1000, 0, 0, True),
        (500, 1001, 9e9, 0, False),
        ("90s", 1, 89, 0, False),
        ("90s", 1, 90, 99, True),
        ("1.5 min", 1, 90, 0, True),
        ("2h", 1, 7199, 0, False),
        ("epoch", 1, 9e9, 0, False),
        (None, 1, 59, 0, False),
        (None, 1, 60, 1, True),
        (None, 1, 60, 2, False),
        (None, 1, 100, 2, True),
    ],
)
def test_a_checkpoint_interval_is_a_number_of_steps_or_a_time(
    every, step, elapsed, cost, is_over
):
    assert Interval.of(every).is_over(step, elapsed, cost) is is_over


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "", "10", "0s", "3 days", "never"])
def test_an_invalid_checkpoint_interval_is_an_error(start, every):
    with pytest.raises(
        ArgumentError, match=r"checkpoint_every \(--checkpoint-every\) must"
    ):
        start(checkpoint_every=every)


@pytest.mark.parametrize("keep", [0, 1.5, "all"])
def test_the_option_keep_must_be_at_least_one(start, keep):
    with pytest.raises(ArgumentError, match=r"keep \(--keep\) must be"):
        start(keep=keep)


def test_a_pytorch_network_resumes_in_the_middle_of_an_epoch(tmp_path):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(48, 6)).astype(np.float32)}
    data["y"] = (data["x"][:, :1] > 0).astype(np.float32)

    def train(out, **options):
        torch.manual_seed(0)
        parts = [torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)]
        model = torch.nn.Sequential(*parts, torch.nn.Linear(8, 1))
        sl.train.fit(
            model,
            data,
            **as_arguments(
                step=lambda model, batch: ((model(batch["x"]) - batch["y"]) ** 2).mean(),
                epochs=3,
                batch_size=16,
                backend="torch",
                out=tmp_path / out,
                **options,
            ),
        )
        return {path: it.detach().numpy() for path, it in model.state_dict().items()}

    whole = train("whole")
    with pytest.raises(Killed):
        train("run", progress=Watch((2, 2), kill), checkpoint_every=1)
    found = train("run", resume=True)
    assert all((found[path] == whole[path]).all() for path in whole)
