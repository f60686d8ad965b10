"""What the command line's tests share."""

from dataclasses import dataclass

import pytest

from seqloom import _demo
from seqloom.cli import main

TRAIN, LABELS = str(_demo.path("train.fa.gz")), str(_demo.path("train.tsv"))
TEST, TEST_LABELS = str(_demo.path("test.fa.gz")), str(_demo.path("test.tsv"))


@dataclass
class Said:
    """What a command line left: its exit code and what it printed."""

    code: object
    out: str
    err: str


def leave_out_pictures(patch):
    """Makes reports without pictures: tests/report draws them, here they only cost time."""
    patch.setattr("seqloom.report._pictures.find_spec", lambda _: None)


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    leave_out_pictures(monkeypatch)


@pytest.fixture
def call(capsys):
    """Runs a command line in this process."""

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        return Said(left.value.code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run folder that `seqloom train` wrote, and its words."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    words = ["train", TRAIN, "--labels", LABELS, TEST_LABELS, "--test", TEST]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as left:
        leave_out_pictures(patch)
        main([*words, "--out", str(folder), "--epochs", "2", "--seed", "3"])
    assert left.value.code == 0
    return folder
