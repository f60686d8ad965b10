"""Going on: from any epoch to the same bits, and only with the same data and settings."""

import json
from typing import Any

import pytest

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.errors import DataWarning, RecordError, RunFolderError


class Stop(sl.train.Progress):
    """Presses Ctrl-C in an epoch."""

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
    """Train four epochs in a folder; keywords change the call."""

    def call(out="run", **options):
        every: dict[str, Any] = {"epochs": 4, "batch_size": 16, "lr": 1e-2, **options}
        valid = every.pop("valid", toy(30, name="valid"))
        train = every.pop("train", toy())
        return sl.train.fit(
            small, train, valid, **as_arguments(out=tmp_path / out, **every)
        )

    return call


@pytest.mark.parametrize("place", [(1, 2), (1, None), (2, 1), (3, 3), (4, None)], ids=str)
def test_a_stopped_run_goes_on_to_the_same_bits(start, tmp_path, place):
    start("whole")
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(*place))
    start(resume=True)
    for name in ("model.safetensors", "scores-valid.tsv"):
        assert (tmp_path / "run" / name).read_bytes() == (
            tmp_path / "whole" / name
        ).read_bytes()


def test_ctrl_c_says_how_to_go_on(start):
    said = r"keeps 2 epochs and 1 step of the next: go on with resume=True"
    with pytest.raises(KeyboardInterrupt, match=said):
        start(progress=Stop(3, 1))


def test_ctrl_c_in_the_first_epoch_keeps_its_steps(start):
    said = r"run keeps 2 steps of the first epoch: go on with resume=True"
    with pytest.raises(KeyboardInterrupt, match=said):
        start(progress=Stop(1, 2))


def test_ctrl_c_before_the_first_step_says_that_nothing_is_saved(start):
    with pytest.raises(KeyboardInterrupt, match="before the first step; nothing"):
        start(progress=Stop("start"))


def test_ctrl_c_without_a_folder_says_that_nothing_is_kept(toy, small):
    with pytest.raises(KeyboardInterrupt, match="no run folder was given"):
        sl.train.fit(small, toy(), progress=Stop(1, 1))


def test_a_stopped_run_predicts_with_its_best_epoch(start, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    with pytest.warns(DataWarning, match="training of this model did not finish"):
        assert len(sl.infer.predict(tmp_path / "run", tmp_path / "toy.fa")) == 48


def test_the_metrics_are_cut_back_to_the_checkpoint(start, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    path = tmp_path / "run/metrics.jsonl"
    path.write_text(path.read_text() + '{"epoch": 3, "half a li')
    start(resume=True)
    epochs = [json.loads(line)["epoch"] for line in path.read_text().splitlines()]
    assert epochs == [1, 2, 3, 4]


def test_a_resumed_run_says_where_it_begins(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(3, 1))
    watch = Stop(0)
    start(resume=True, progress=watch)
    assert (watch.plan.first_epoch, watch.plan.first_batch) == (3, 2)


def test_a_finished_run_is_given_back(start):
    first = start()
    again = start(resume=True)
    assert (again.history, again.best_epoch) == (first.history, first.best_epoch)


def test_a_run_that_stopped_early_stays_stopped(start):
    options = {"epochs": 40, "lr": 0.5, "batch_size": 4, "early_stop": 2}
    assert start(resume=True, **options).history == start(resume=True, **options).history


def test_resume_begins_where_there_is_nothing_yet(start):
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
def test_resume_refuses_another_setting_by_name(start, name, other):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match=f"begun with {name} "):
        start(resume=True, **other)


def test_resume_names_all_settings_that_differ(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    said = r"epochs 4, not 3.*batch_size 16, not 8.*lr 0.01, not 0.001.*seed 0, not 1"
    with pytest.raises(RunFolderError, match=said):
        start(resume=True, epochs=3, batch_size=8, lr=1e-3, seed=1)


def test_resume_says_which_setting_of_a_task_differs(start):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match="begun with task weights None, not"):
        start(resume=True, class_weight="balanced")


def test_more_epochs_make_a_run_longer(start, tmp_path):
    start()
    longer = start(resume=True, epochs=6)
    assert [row["epoch"] for row in longer.history] == [1, 2, 3, 4, 5, 6]
    lines = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    assert len(lines) == 6


def test_a_longer_run_that_is_stopped_goes_on_to_the_same_bits(start, tmp_path):
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


def test_a_longer_run_takes_the_rates_of_its_new_length(start):
    start()
    longer = start(resume=True, epochs=6)
    alone = start("alone", epochs=6)
    rates = [[row["lr"] for row in run.history[4:]] for run in (longer, alone)]
    assert rates[0] == pytest.approx(rates[1])


def test_a_saved_model_without_a_checkpoint_is_not_resumed(start, toy, small, tmp_path):
    sl.train.fit(small, toy(), epochs=1).save(tmp_path / "run")
    before = (tmp_path / "run/model.safetensors").read_bytes()
    with pytest.raises(RunFolderError, match="no checkpoint, so it cannot be resumed"):
        start(resume=True)
    assert (tmp_path / "run/model.safetensors").read_bytes() == before


@pytest.mark.parametrize("part", ["train", "valid"])
def test_resume_refuses_other_data(start, toy, part):
    with pytest.raises(KeyboardInterrupt):
        start(progress=Stop(2, 1))
    with pytest.raises(RunFolderError, match=r"(training|validation) data"):
        start(resume=True, **{part: toy(40, name="other")})


def test_a_refused_resume_changes_nothing(start, tmp_path):
    start()
    before = {path: path.read_bytes() for path in (tmp_path / "run").glob("*.*")}
    with pytest.raises(RunFolderError):
        start(resume=True, lr=1e-3)
    assert {path: path.read_bytes() for path in before} == before


def test_a_damaged_checkpoint_is_refused(start, tmp_path):
    start()
    path = tmp_path / "run/checkpoint/last.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError):
        start(resume=True)


def test_what_a_killed_writer_left_is_removed(start, tmp_path):
    start()
    left = [
        tmp_path / "run/.config.json.01234567.part",
        tmp_path / "run/checkpoint/.last.safetensors.89abcdef.part",
    ]
    for path in left:
        path.write_bytes(b"half")
    start(resume=True)
    assert not any(path.exists() for path in left)


def test_replacing_a_run_leaves_the_files_of_others(start, tmp_path):
    start()
    others = [tmp_path / "run/checkpoint/mine.safetensors", tmp_path / "run/.mine.part"]
    for path in others:
        path.write_bytes(b"mine")
    start(overwrite=True)
    assert [path.read_bytes() for path in others] == [b"mine", b"mine"]


@pytest.mark.parametrize("way", ["resume", "overwrite"])
@pytest.mark.parametrize("name", ["config.json", "checkpoint/last.safetensors"])
def test_a_folder_of_another_program_is_no_run(start, tmp_path, name, way):
    path = tmp_path / "run" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"model_type": "theirs"}')
    with pytest.raises(RunFolderError, match="has files of another kind"):
        start(**{way: True})
    assert path.read_text() == '{"model_type": "theirs"}'
