"""The array-api-tests suite of the standard's authors over our namespace.

It is on no package index: ``ARRAY_API_TESTS`` names a checkout with its submodules, whose
requirements are installed.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SKIPS = Path(__file__).parents[1] / "conformance" / "array_api_suite_skips.toml"
# torch stores them and computes with them hardly anywhere.
SKIPPED_TYPES = {"torch": "uint16,uint32,uint64"}
MODULE = """\
import sys

import seqloom as sl

sys.modules[__name__] = sl.tensor.backend({library!r}).tensor(0).__array_namespace__()
"""


def left_out(library):
    """The tests that the suite leaves out for the tensors of a library."""
    entries = tomllib.loads(SKIPS.read_text("utf-8"))["left_out"]
    return [
        test
        for entry in entries
        if library in entry.get("libraries", [library])
        for test in entry["tests"]
    ]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_the_suite_of_the_standard_passes(library, tmp_path):
    checkout = os.environ.get("ARRAY_API_TESTS")
    if not checkout:
        pytest.skip("ARRAY_API_TESTS names no checkout of array-api-tests")
    name = f"seqloom_on_{library}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(library=library), "utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    skips = tmp_path / "skips.txt"
    skips.write_text("\n".join(left_out(library)), "utf-8")
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": name,
        "ARRAY_API_TESTS_VERSION": "2024.12",
        "ARRAY_API_TESTS_SKIP_DTYPES": SKIPPED_TYPES.get(library, ""),
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
