"""The conformance tests pass on all samples of PyTorch, not only on a few."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "strict"])
def test_conformance_tests_pass_on_all_torch_samples(library):
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "tests/conformance"]
    command += ["-k", library]
    environment = {**os.environ, "CONFORMANCE_SAMPLES": "0"}
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
