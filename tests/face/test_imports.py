"""What `import seqloom` loads."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "jax", "matplotlib", "rich", "scipy", "pyarrow", "cyclopts")
LOADED = "import sys, {}; print(*sys.modules)"
# How many modules `import seqloom` adds to those of NumPy; each one costs time.
# `make bench SUITE=import` measures the time itself.
MOST_MODULES = 30


def run(program: str) -> str:
    """What a program prints in a fresh interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return {name.partition(".")[0] for name in run(LOADED.format("seqloom")).split()}


@pytest.mark.parametrize("name", HEAVY)
def test_importing_seqloom_does_not_import_a_heavy_package(name: str, loaded: set[str]):
    assert name not in loaded


def test_importing_seqloom_adds_few_modules_to_numpy():
    before = set(run(LOADED.format("numpy")).split())
    added = set(run(LOADED.format("numpy, seqloom")).split()) - before
    assert len(added) <= MOST_MODULES, sorted(added)
