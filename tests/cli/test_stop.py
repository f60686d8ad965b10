"""Ctrl-C in the middle of a run."""

import shlex
import signal
import subprocess
import sys

from seqloom import _demo

TRAIN, LABELS = str(_demo.path("train.fa.gz")), str(_demo.path("train.tsv"))


def test_ctrl_c_says_how_to_go_on(tmp_path):
    words = ["train", TRAIN, "--labels", LABELS, "--out", str(tmp_path / "run")]
    command = [sys.executable, "-u", "-m", "seqloom", *words, "--epochs", "500"]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    for line in process.stdout:
        if line.endswith("best\n"):  # the first epoch is saved
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    again = shlex.split(errors.splitlines()[-1])
    assert again == ["seqloom", *words, "--epochs", "500", "--resume"]


def test_ctrl_c_while_the_commands_load_is_one_line(call, monkeypatch):
    monkeypatch.setattr("seqloom.cli._app.run", press_ctrl_c)
    said = call("demo")
    assert (said.code, said.err) == (130, "\nstopped\n")


def press_ctrl_c(_):
    raise KeyboardInterrupt
