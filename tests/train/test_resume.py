"""Tests that resumed runs end with equal bits, and require equal data and settings."""

import json
from typing import Any

import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import DataWarning, RecordError, RunFolderError


class Stop(sl.train.Progress):
    """A callback that simulates Ctrl-C in an epoch."""

    def __init__(self, epoch, batch=None):
        self.place = (epoch, batch)

    def on_start(self, plan):
        self.plan = plan
        if self.place[0] == "start":
            raise KeyboardInterrupt

    def on_batch(self, step):
        if (step.epoch, step.batch) == self.place:
            raise KeyboardInterrupt

    def on_epoch(self, row):
        if (row["epoch"], None) == self.place:
            raise KeyboardInterrupt

    def on_end(self, run):
        self.run = run


@pytest.fixture
def start(toy, small, tmp_path):
    """Train four epochs in a folder; keyword arguments override the defaults."""

    def call(out="run", **options):
        every: dict[str, Any] = {"epochs": 4, "batch_size": 16, "lr": 1e-2, **options}
        valid = every.pop("valid", toy(30, name="valid"))
        train = every.pop("train", toy())
        return sl.train.fit(
            small, train, valid, **as_arguments(out=tmp_path / out, **every)
        )

    return call


@pytest.mark.parametrize("place", [(1, 2), (1, None), (2, 1), (3, 3), (4, None)], ids=str)
def test_a_stopped_run_resumes_to_the_same_bits(start, tmp_path, place):
    start("whole")
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(*place))
    start(resume=True)
    for name in ("model.safetensors", "scores-valid.tsv"):
        assert (tmp_path / "run" / name).read_bytes() == (
            tmp_path / "whole" / name
        ).read_bytes()


def test_the_message_after_ctrl_c_explains_how_to_resume(start):
    said = r"contains 2 epochs and 1 step of the next; continue with resume=True"
    with pytest.raises(KeyboardInterrupt, match=said):
        start(progress=Stop(3, 1))


def test_ctrl_c_in_the_first_epoch_saves_its_steps(start):
    said = r"run contains 2 steps of the first epoch; continue with resume=True"
    with pytest.raises(KeyboardInterrupt, match=said):
        start(progress=Stop(1, 2))


def test_ctrl_c_before_the_first_step_reports_that_nothing_is_saved(start):
    with pytest.raises(KeyboardInterrupt, match="before the first step; nothing"):
        start(progress=Stop("start"))


def test_ctrl_c_without_a_folder_reports_that_nothing_is_saved(toy, small):
    with pytest.raises(KeyboardInterrupt, match="there is no run folder"):
        sl.train.fit(small, toy(), progress=Stop(1, 1))


def test_a_stopped_run_predicts_with_its_best_epoch(start, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    with pytest.warns(DataWarning, match="training of this model did not finish"):
        assert len(sl.infer.predict(tmp_path / "run", tmp_path / "toy.fa")) == 48


def test_metrics_after_the_checkpoint_are_removed_on_resume(start, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    path = tmp_path / "run/metrics.jsonl"
    path.write_text(path.read_text() + '{"epoch": 3, "half a li')
    start(resume=True)
    epochs = [json.loads(line)["epoch"] for line in path.read_text().splitlines()]
    assert epochs == [1, 2, 3, 4]


def test_a_resumed_run_prints_where_it_begins(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    watch = Stop(0)
    start(resume=True, progress=watch)
    assert (watch.plan.first_epoch, watch.plan.first_batch) == (3, 2)


def test_resuming_a_finished_run_returns_its_results(start):
    first = start()
    again = start(resume=True)
    assert (again.history, again.best_epoch) == (first.history, first.best_epoch)


def test_resuming_an_early_stopped_run_trains_no_further(start):
    options = {"epochs": 40, "lr": 0.5, "batch_size": 4, "early_stop": 2}
    assert start(resume=True, **options).history == start(resume=True, **options).history


def test_resume_without_a_checkpoint_starts_a_new_run(start):
    assert len(start(resume=True).history) == 4


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("epochs", {"epochs": 3}),
        ("lr", {"lr": 1e-3}),
        ("batch_size", {"batch_size": 8}),
        ("seed", {"seed": 1}),
        ("weight_decay", {"weight_decay": 0.5}),
        ("early_stop", {"early_stop": 9}),
        ("task", {"class_weight": "balanced"}),
        ("loss", {"loss": lambda logits, labels: (logits.sum(), labels)[0]}),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_resume_with_another_setting_is_an_error_that_names_it(start, name, other):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match=f"started with {name} "):
        start(resume=True, **other)


def test_resume_names_all_settings_that_differ(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    said = r"epochs 4, not 3.*batch_size 16, not 8.*lr 0.01, not 0.001.*seed 0, not 1"
    with pytest.raises(RunFolderError, match=said):
        start(resume=True, epochs=3, batch_size=8, lr=1e-3, seed=1)


def test_the_error_names_the_setting_of_the_task_that_differs(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match="started with task weights None, not"):
        start(resume=True, class_weight="balanced")


def test_a_finished_run_can_resume_with_more_epochs(start, tmp_path):
    start()
    longer = start(resume=True, epochs=6)
    assert [row["epoch"] for row in longer.history] == [1, 2, 3, 4, 5, 6]
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert len(lines) == 6


def test_an_extended_run_that_is_stopped_resumes_to_the_same_bits(start, tmp_path):
    for name in ("whole", "run"):
        start(name)
    start("whole", resume=True, epochs=6)
    with pytest.raises(KeyboardInterrupt):
        start(resume=True, epochs=6, progress=Stop(5, 2))
    start(resume=True, epochs=6)
    first, second = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "run")
    )
    assert first == second


def test_an_extended_run_uses_the_learning_rates_of_its_new_length(start):
    start()
    longer = start(resume=True, epochs=6)
    alone = start("alone", epochs=6)
    rates = [[row["lr"] for row in run.history[4:]] for run in (longer, alone)]
    assert rates[0] == pytest.approx(rates[1])


def test_resuming_a_model_without_a_checkpoint_is_an_error(start, toy, small, tmp_path):
    sl.train.fit(small, toy(), epochs=1).save(tmp_path / "run")
    before = (tmp_path / "run/model.safetensors").read_bytes()
    with pytest.raises(RunFolderError, match="no checkpoint, so it cannot be resumed"):
        start(resume=True)
    assert (tmp_path / "run/model.safetensors").read_bytes() == before


@pytest.mark.parametrize("part", ["train", "valid"])
def test_resume_with_other_data_is_an_error(start, toy, part):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match=r"(training|validation) data"):
        start(resume=True, **{part: toy(40, name="other")})


def test_a_failed_resume_changes_no_files(start, tmp_path):
    start()
    before = {path: path.read_bytes() for path in (tmp_path / "run").glob("*.*")}
    with pytest.raises(RunFolderError):
        start(resume=True, lr=1e-3)
    assert {path: path.read_bytes() for path in before} == before


def test_a_corrupt_checkpoint_is_an_error(start, tmp_path):
    start()
    path = tmp_path / "run/checkpoint/last.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError):
        start(resume=True)


def test_temporary_files_of_a_killed_run_are_removed(start, tmp_path):
    start()
    left = [
        tmp_path / "run/.config.json.01234567.part",
        tmp_path / "run/checkpoint/.last.safetensors.89abcdef.part",
    ]
    for path in left:
        path.write_bytes(b"half")
    start(resume=True)
    assert not any(path.exists() for path in left)


def test_replacing_a_run_keeps_other_files(start, tmp_path):
    start()
    others = [tmp_path / "run/checkpoint/mine.safetensors", tmp_path / "run/.mine.part"]
    for path in others:
        path.write_bytes(b"mine")
    start(overwrite=True)
    assert [path.read_bytes() for path in others] == [b"mine", b"mine"]


@pytest.mark.parametrize("way", ["resume", "overwrite"])
@pytest.mark.parametrize("name", ["config.json", "checkpoint/last.safetensors"])
def test_a_folder_with_files_of_another_program_is_not_replaced(start, tmp_path, name, way):
    path = tmp_path / "run" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"model_type": "theirs"}')
    with pytest.raises(RunFolderError, match="contains other files"):
        start(**{way: True})
    assert path.read_text() == '{"model_type": "theirs"}'
