"""The official tests of the Array API standard pass for seqloom's namespace.

The test suite, array-api-tests, is not on PyPI. Set ``ARRAY_API_TESTS`` to the path of a
Git checkout with submodules, and install its requirements.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SKIPS_FILE = Path(__file__).parents[1] / "conformance" / "array_api_suite_skips.toml"
# PyTorch supports few operations on these data types.
SKIPPED_DTYPES = {"torch": "uint16,uint32,uint64"}
MODULE_SOURCE = """\
import sys

import seqloom as sl

sys.modules[__name__] = sl.tensor.backend({library!r}).tensor(0).__array_namespace__()
"""


def skipped_tests(library):
    """Return the names of the tests that are skipped for a library."""
    entries = tomllib.loads(SKIPS_FILE.read_text("utf-8"))["left_out"]
    return [
        test
        for entry in entries
        if library in entry.get("libraries", [library])
        for test in entry["tests"]
    ]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_the_official_array_api_tests_pass(library, tmp_path):
    checkout = os.environ.get("ARRAY_API_TESTS")
    if not checkout:
        pytest.skip("set ARRAY_API_TESTS to the path of a checkout of array-api-tests")
    name = f"seqloom_on_{library}"
    (tmp_path / f"{name}.py").write_text(MODULE_SOURCE.format(library=library), "utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    skips = tmp_path / "skips.txt"
    skips.write_text("\n".join(skipped_tests(library)), "utf-8")
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": name,
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "ARRAY_API_TESTS_SKIP_DTYPES": SKIPPED_DTYPES.get(library, ""),
        "JAX_ENABLE_X64": "1",
        "PYTHONPATH": path,
    }
    options = ["--skips-file", str(skips), "--disable-deadline", "--max-examples", "50"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "array_api_tests", *options],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
