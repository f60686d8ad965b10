"""Runs that are killed at any moment and resumed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqloom as sl

TRAINING_SCRIPT = Path(__file__).with_name("train_and_die.py")
DEMO_FILES = Path(sl.__file__).parent / "_demo"
NO_KILL = "never"
# "batch 1.2" is batch 2 of epoch 1, and "epoch 1" is the end of epoch 1. A sync to disk
# happens between writing and renaming a file, and before the next file.
KILL_POINTS_IN_TRAINING = ["batch 1.2", "batch 3.3", "epoch 1", "epoch 3"]
KILL_POINTS_AT_FSYNC = [f"sync {number}" for number in (1, 5, 6, 7, 9, 27, 31, 35)]


def train(folder, death):
    """Train in a process that kills itself at a given moment; return its exit code."""
    command = [sys.executable, TRAINING_SCRIPT, folder, death]
    return subprocess.run(command, check=False, timeout=60).returncode


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is not killed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert train(folder, NO_KILL) == 0
    return folder


@pytest.mark.sample(5)
@pytest.mark.parametrize("death", KILL_POINTS_IN_TRAINING + KILL_POINTS_AT_FSYNC)
def test_a_killed_training_run_resumes_with_bitwise_equal_results(whole, tmp_path, death):
    assert train(tmp_path / "run", death) == -9
    assert_whole_files(tmp_path / "run")
    assert train(tmp_path / "run", NO_KILL) == 0
    assert_equal_runs(tmp_path / "run", whole)


def test_a_training_run_that_is_killed_repeatedly_finishes(whole, tmp_path):
    for death in ("batch 2.2", "sync 4", "batch 3.1", "epoch 4"):
        assert train(tmp_path / "run", death) == -9
    assert train(tmp_path / "run", NO_KILL) == 0
    assert_equal_runs(tmp_path / "run", whole)


def test_randomly_killed_runs_finish_with_bitwise_equal_results(tmp_path):
    # `make soak` runs 300 kills in tests/soak/test_training_kills.py.
    command = [sys.executable, Path(__file__).with_name("kill_at_random.py"), "12", "0"]
    subprocess.run([*command, tmp_path], check=True, timeout=600)


def test_predict_gives_the_scores_that_a_resumed_run_saved(tmp_path):
    assert train(tmp_path / "run", "batch 3.2") == -9
    assert train(tmp_path / "run", NO_KILL) == 0
    scores = sl.infer.predict(tmp_path / "run", DEMO_FILES / "test.fa.gz", num_threads=1)
    saved = sl.infer.Scores.read_tsv(tmp_path / "run/scores-test.tsv")
    assert scores.to_numpy().tobytes() == saved.to_numpy().tobytes()


def assert_whole_files(folder):
    """Read every file with a final name."""
    for path in folder.rglob("[!.]*.*"):
        if path.suffix == ".safetensors":
            assert all(np.isfinite(each).all() for each in sl.record.load(path).values())
        elif path.suffix == ".tsv":
            sl.infer.Scores.read_tsv(path)
        elif path.suffix in {".json", ".jsonl"}:
            [json.loads(it) for it in read_documents(path)]


def read_documents(path):
    """Return the JSON texts of a file."""
    text = path.read_text()
    return text.splitlines() if path.suffix == ".jsonl" else [text]


def assert_equal_runs(folder, other):
    """Compare weights and scores bit by bit, and metrics without times."""
    for name in ("model.safetensors", "config.json", "scores-valid.tsv", "scores-test.tsv"):
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    assert metrics_of(folder) == metrics_of(other)
    assert weights_of(folder) == weights_of(other)


def metrics_of(folder):
    """Return the metrics of the epochs without their times."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{**json.loads(line), "seconds": None} for line in lines]


def weights_of(folder):
    """Return the checkpoint's arrays: last and best weights, and optimiser state."""
    record = sl.record.load(folder / "checkpoint/last.safetensors")
    return {path: np.asarray(each).tobytes() for path, each in record.items()}
