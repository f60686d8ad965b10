"""Fixtures of the command-line tests."""

from dataclasses import dataclass

import pytest

from seqloom import _demo
from seqloom.cli import main

TRAIN, LABELS = str(_demo.example_path("train.fa.gz")), str(_demo.example_path("train.tsv"))
TEST, TEST_LABELS = (
    str(_demo.example_path("test.fa.gz")),
    str(_demo.example_path("test.tsv")),
)


@dataclass
class Said:
    """Exit code and output of a command."""

    code: object
    out: str
    err: str


@pytest.fixture
def call(capsys):
    """Run a command line in this process."""

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        return Said(left.value.code, *capsys.readouterr())

    return run


def finish(*words):
    """Run a command line that must succeed."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    assert left.value.code == 0


@pytest.fixture(scope="session")
def trainer():
    """Train about one epoch, for tests that need a run folder."""

    def train(fasta, labels, folder, epochs=1):
        words = ["--labels", labels, "--alphabet", "dna", "--valid-share", 0]
        finish("train", fasta, *words, "--epochs", epochs, "--out", folder)

    return train


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run folder written by `seqloom train`, and its arguments."""
    folder = tmp_path_factory.mktemp("cli") / "run"
    words = ["train", TRAIN, "--labels", LABELS, TEST_LABELS, "--test", TEST]
    finish(*words, "--out", folder, "--epochs", 2, "--seed", 3, "--network", "standard")
    return folder
