"""Tests that `fit` prints progress only in a terminal or a notebook."""

import os
import pty
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from seqloom.train._progress import is_interactive

TRAINING_SCRIPT = """
import seqloom as sl
labels = {{"a": "yes", "b": "no"}}
data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=sl.encode.OneHot("dna"))
sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=2{})
"""


def read_output(options, folder, *, terminal):
    """Return the output of a training script, in a terminal or a pipe."""
    (folder / "a.fa").write_text(">a\nACGT\n>b\nACGA\n")
    command = [sys.executable, "-c", TRAINING_SCRIPT.format(options)]
    if not terminal:
        return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdout=theirs)
    os.close(theirs)
    pieces = []
    while piece := _read(ours):
        pieces.append(piece)
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return b"".join(pieces)


def _read(handle):
    """Read some output of the script; empty after the script has ended."""
    try:
        return os.read(handle, 1 << 16)
    except OSError:
        return b""


def test_a_terminal_shows_a_line_for_each_epoch(tmp_path):
    written = read_output("", tmp_path, terminal=True)
    assert b"parameters, trained on 2 sequences" in written
    assert b"epochs; classify no, yes" in written  # the task that `fit` inferred
    assert b"    2   0." in written  # epoch and loss


def test_progress_false_prints_nothing_to_a_terminal(tmp_path):
    assert read_output(", progress=False", tmp_path, terminal=True) == b""


def test_nothing_is_printed_to_a_pipe_by_default(tmp_path):
    assert read_output("", tmp_path, terminal=False) == b""


def test_a_notebook_prints_progress(monkeypatch):
    notebook: Any = ModuleType("IPython")
    notebook.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert is_interactive()


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["none", "no kernel"])
def test_ipython_outside_a_notebook_prints_progress_only_in_a_terminal(monkeypatch, shell):
    plain: Any = ModuleType("IPython")
    plain.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", plain)
    assert is_interactive() == sys.stdout.isatty()
