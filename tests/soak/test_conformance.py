"""The conformance suite on all of torch's samples, not on some of each operation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "strict"])
def test_every_sample_of_torchs_agrees(library):
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "tests/conformance"]
    command += ["-k", library]
    every = {**os.environ, "CONFORMANCE_SAMPLES": "0"}
    done = subprocess.run(
        command, cwd=HOME, env=every, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
