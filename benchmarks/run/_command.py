"""Run `seqloom-run` as a process, and measure its start-up time."""

import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks._measure import REPOSITORY_ROOT, time_alternately
from seqloom.cli._export import PROGRAM

_ROUNDS = 15
_PYTHON_PROGRAM = """
import sys
import numpy as np
import onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(session.run(None, {"inputs": np.zeros((1, 4, 60), "float32")})[0])
"""


def run_command(model: Path, reads: Path, out: Path, *, threads: int) -> None:
    """Score a file of sequences with `seqloom-run`."""
    options = ["--out", str(out), "--threads", str(threads), "--overwrite", "--quiet"]
    command = [str(PROGRAM), "predict", str(model), str(reads), *options]
    subprocess.run(command, check=True)


def time_first_score(folder: Path) -> tuple[float, float]:
    """Return the seconds from process start to the first score, for both programs."""
    record = folder / "one.fa"
    record.write_text(">a\n" + "ACGT" * 15 + "\n")
    ours = [str(PROGRAM), "predict", str(folder / "model.seqloom"), str(record)]
    theirs = [sys.executable, "-c", _PYTHON_PROGRAM, str(folder / "model.onnx")]
    sides = {
        "ours": lambda: _first_line(ours),
        "theirs": lambda: _first_line(theirs),
    }
    seconds = time_alternately(sides, rounds=_ROUNDS)
    return median(seconds["ours"]), median(seconds["theirs"])


def _first_line(command: list[str]) -> None:
    """Run a program that prints scores, and return its first line."""
    done = subprocess.run(command, check=True, capture_output=True, cwd=REPOSITORY_ROOT)
    assert done.stdout
