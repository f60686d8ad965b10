"""``seqloom demo``, with fewer epochs than the default."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from seqloom import _demo
from seqloom.cli import _demo as command
from seqloom.report import make_page


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty working directory, and a demo that trains for few epochs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(command.NETWORK_SETTINGS, "epochs", 1)


@pytest.fixture
def said(call):
    return call("demo")


def windows(part):

    return (
        gzip.decompress(_demo.example_path(f"{part}.fa.gz").read_bytes())
        .decode()
        .split("\n")[1::2]
    )


def test_demo_prints_published_results_and_the_path_of_its_report(said):
    assert said.code == 0
    for words in ("test accuracy", "95 % interval", "95.9 %", "logistic regression"):
        assert words in said.out
    assert said.out.endswith("report seqloom-demo/report.html\n")


@pytest.mark.usefixtures("said")
def test_demo_accuracy_equals_that_of_the_scores_file():
    found = json.loads(Path("seqloom-demo/demo.json").read_text())
    rows = [
        line.split("\t")
        for line in Path("seqloom-demo/scores-test.tsv").read_text().split("\n")
    ]
    truth = dict(
        line.split() for line in _demo.example_path("test.tsv").read_text().splitlines()
    )
    right = [
        truth[r[0]] == rows[0][1 + np.argmax([*map(float, r[1:])])] for r in rows[1:-1]
    ]
    seen = set(windows("train"))
    unshared = [
        hit
        for hit, window in zip(right, windows("test"), strict=True)
        if window not in seen
    ]
    assert found["accuracy"] == pytest.approx(np.mean(right))
    assert found["unshared"] == pytest.approx(np.mean(unshared))
    assert found["shared"] == len(right) - len(unshared)


@pytest.mark.usefixtures("said")
def test_the_report_of_the_demo_mentions_published_results():
    page = Path("seqloom-demo/report.html").read_text("utf-8")
    for words in (
        "Primate splice junctions",
        "published",
        "Worst mistakes",
        "are also in",
    ):
        assert words in page


def test_the_report_of_the_demo_is_generated_once(call, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "seqloom.report._page.make_page", lambda it: drawn.append(it) or make_page(it)
    )
    call("demo")
    assert [report.title for report in drawn] == ["Primate splice junctions"]


@pytest.mark.usefixtures("said")
def test_demo_can_run_twice(call):
    assert call("demo").code == 0


def test_demo_does_not_replace_another_run(call, trained):
    before = (trained / "model.safetensors").read_bytes()
    said = call("demo", "--out", trained)
    assert said.code == 2
    assert (trained / "model.safetensors").read_bytes() == before


def test_the_option_files_of_demo_copies_files_without_training(call):
    for _ in range(2):
        assert call("demo", "--files", "files").code == 0
    found = {path.name: path.read_bytes() for path in Path("files").iterdir()}
    names = ["train.fa.gz", "train.tsv", "test.fa.gz", "test.tsv"]
    folders = [_demo.example_path("genotypes"), _demo.example_path("genome")]
    beside = [path for folder in folders for path in folder.glob("*.[!m]*")]
    paths = [*map(_demo.example_path, names), *beside]
    assert found == {path.name: path.read_bytes() for path in paths}
    assert len(found) == 12


@pytest.mark.parametrize(
    ("out", "advice"), [("seqloom-demo", "the same command"), ("new", "remove new")]
)
def test_ctrl_c_during_the_demo_prints_how_to_restart(call, monkeypatch, out, advice):
    monkeypatch.setattr(command, "_fit_network", press_ctrl_c)
    said = call("demo", "--out", out)
    assert said.code == 130
    assert advice in said.err
    assert "resume" not in said.err


def press_ctrl_c(*_, **__):
    raise KeyboardInterrupt
