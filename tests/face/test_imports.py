"""The modules that `import seqloom` imports."""

import subprocess
import sys

import pytest

SLOW_PACKAGES = ("torch", "jax", "matplotlib", "rich", "scipy", "pyarrow", "cyclopts")
PRINT_MODULES_SCRIPT = "import sys, {}; print(*sys.modules)"
# Maximum number of modules that `import seqloom` adds to those of NumPy.
# `make bench SUITE=import` measures the import time.
MAX_IMPORTED_MODULES = 30


def run(program: str) -> str:
    """Return the output of a program in a new interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return {
        name.partition(".")[0]
        for name in run(PRINT_MODULES_SCRIPT.format("seqloom")).split()
    }


@pytest.mark.parametrize("name", SLOW_PACKAGES)
def test_importing_seqloom_does_not_import_a_heavy_package(name: str, loaded: set[str]):
    assert name not in loaded


def test_importing_seqloom_imports_few_modules_besides_numpy():
    before = set(run(PRINT_MODULES_SCRIPT.format("numpy")).split())
    added = set(run(PRINT_MODULES_SCRIPT.format("numpy, seqloom")).split()) - before
    assert len(added) <= MAX_IMPORTED_MODULES, sorted(added)
