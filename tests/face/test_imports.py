"""What `import seqloom` loads, and that it stays quick."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "jax", "matplotlib", "rich", "scipy", "pyarrow", "cyclopts")
LOADED = "import sys, {}; print(*sys.modules)"
SECONDS = """
import time, numpy
start = time.perf_counter()
import seqloom
print(time.perf_counter() - start)
"""


def run(program: str) -> str:
    """What a program prints in a fresh interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return {name.partition(".")[0] for name in run(LOADED.format("seqloom")).split()}


@pytest.mark.parametrize("name", HEAVY)
def test_importing_seqloom_does_not_load(name: str, loaded: set[str]):
    assert name not in loaded


def test_importing_seqloom_adds_at_most_40_ms_to_numpy():
    # The least of several: a busy machine can only add to it (benchmarks/import measures).
    assert min(float(run(SECONDS)) for _ in range(5)) < 0.040
