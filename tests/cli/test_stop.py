"""Ctrl-C and batch system signals during a run."""

import shlex
import signal
import subprocess
import sys

import pytest

from seqloom import _demo
from seqloom._signals import interrupt_on_fatal_signals

TRAIN, LABELS = str(_demo.example_path("train.fa.gz")), str(_demo.example_path("train.tsv"))


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 138)],
    ids=["Ctrl-C", "SIGTERM", "SIGUSR1"],
)
def test_a_stopped_training_run_prints_how_to_resume(tmp_path, sent, code):
    words = ["train", TRAIN, "--labels", LABELS, "--out", str(tmp_path / "run")]
    command = [sys.executable, "-u", "-m", "seqloom", *words, "--epochs", "500"]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    for line in process.stdout:
        if line.endswith("best\n"):  # the first epoch is saved
            break
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in errors
    kept = len((tmp_path / "run/metrics.jsonl").read_text().splitlines())
    assert f"contains {kept} epoch" in errors
    again = shlex.split(errors.splitlines()[-1])
    assert again == ["seqloom", *words, "--epochs", "500", "--resume"]


def test_ctrl_c_during_the_imports_of_a_command_prints_one_line(call, monkeypatch):
    monkeypatch.setattr("seqloom.cli._app.run", press_ctrl_c)
    said = call("demo")
    assert (said.code, said.err) == (130, "\nstopped\n")


def press_ctrl_c(_):
    raise KeyboardInterrupt


def test_a_command_does_not_handle_a_signal_that_was_ignored(call):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt_on_fatal_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_command_restores_the_previous_signal_handlers(call):
    call("--version")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_train_with_resume_in_an_empty_folder_starts_a_new_run(call, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nGGCC\n")
    (tmp_path / "a.tsv").write_text("id\tlabel\na\tyes\nb\tno\n")
    words = [
        "train",
        tmp_path / "a.fa",
        "--labels",
        tmp_path / "a.tsv",
        "--alphabet",
        "dna",
    ]
    words += ["--valid-share", 0, "--out", tmp_path / "run", "--resume"]
    said = call(*words, "--epochs", 1)
    assert said.code == 0
    assert "run contains no run yet: starting a new one" in said.out
    longer = call(*words, "--epochs", 3)
    assert "3 epochs, starting at epoch 2" in longer.out
    assert "kept   epoch 3 of 3" in longer.out


def test_resuming_in_a_folder_without_a_run_needs_input_files(call, tmp_path):
    said = call("train", "--out", tmp_path / "run", "--resume")
    assert said.code == 2
    assert "run: contains no run of seqloom train" in said.err
    assert "give FILES and all options of the first call" in said.err


@pytest.mark.parametrize("text", ["", "[1]", '{"files": "a.fa"}', '{"files": [1]}', "null"])
def test_a_corrupt_command_json_of_a_run_is_an_error(call, tmp_path, text):
    (tmp_path / "command.json").write_text(text)
    said = call("train", "--out", tmp_path, "--resume")
    assert said.code == 2
    assert "command.json: cannot be read; remove it and give all options" in said.err
