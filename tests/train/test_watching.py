"""Who sees the progress of fit: a person at a terminal or in a notebook, nobody else."""

import os
import pty
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from seqloom.train._progress import is_watched

SCRIPT = """
import seqloom as sl
labels = {{"a": "yes", "b": "no"}}
data = sl.data.SequenceDataset("a.fa", labels=labels, encoder=sl.encode.OneHot("dna"))
sl.train.fit(sl.models.SequenceCNNConfig.for_data(data), data, epochs=2{})
"""


def look(options, folder, *, terminal):
    """What a script that trains prints, to a terminal or into a pipe."""
    (folder / "a.fa").write_text(">a\nACGT\n>b\nACGA\n")
    command = [sys.executable, "-c", SCRIPT.format(options)]
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
    """A piece of what was written; nothing once the other side is closed."""
    try:
        return os.read(handle, 1 << 16)
    except OSError:
        return b""


def test_a_terminal_shows_a_line_for_each_epoch(tmp_path):
    written = look("", tmp_path, terminal=True)
    assert b"parameters learn from 2 sequences" in written
    assert b"times; classify no, yes" in written  # the task that fit took
    assert b"    2   0." in written  # its epoch, its loss


def test_false_silences_a_terminal(tmp_path):
    assert look(", progress=False", tmp_path, terminal=True) == b""


def test_a_pipe_gets_nothing_unasked(tmp_path):
    assert look("", tmp_path, terminal=False) == b""


def test_a_notebook_is_watched(monkeypatch):
    notebook: Any = ModuleType("IPython")
    notebook.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    assert is_watched()


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["none", "no kernel"])
def test_ipython_outside_of_a_notebook_is_watched_at_a_terminal_only(monkeypatch, shell):
    plain: Any = ModuleType("IPython")
    plain.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", plain)
    assert is_watched() == sys.stdout.isatty()
