"""The benchmark kit for GPU machines also runs on a CPU with small inputs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.gpu._kit import MAX_KIT_BYTES, make_kit
from benchmarks.gpu._results import RESULTS_FILE, has_failed, read_results
from benchmarks.gpu._run import MODULE_AND_SECONDS_OF_PART


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kit") / "gpu"
    make_kit(folder)
    return folder


@pytest.fixture(scope="module")
def results(kit):
    """Return results of a small run that cannot import seqloom from the repository."""
    out = kit.parent / "out"
    environment = {**os.environ, "PYTHON": sys.executable}
    environment.pop("PYTHONPATH", None)
    command = [kit / "run", out, "--device", "cpu", "--tiny"]
    subprocess.run(command, env=environment, cwd="/", check=False)
    return read_results(out / RESULTS_FILE)


def test_the_gpu_test_folder_has_at_most_50_mib(kit):
    files = [path for path in kit.rglob("*") if path.is_file() and not path.is_symlink()]
    installed = kit / "installed"
    sizes = [path.stat().st_size for path in files if installed not in path.parents]
    assert sum(sizes) <= MAX_KIT_BYTES


@pytest.mark.parametrize("part", MODULE_AND_SECONDS_OF_PART)
def test_each_part_of_the_gpu_benchmark_finishes_with_results(results, part):
    results = [result for result in results if result["part"] == part]
    assert results
    assert not [result for result in results if has_failed(result)]


def test_the_gpu_test_folder_imports_the_package_that_it_contains(kit):
    command = [sys.executable, "-c", "import seqloom; print(seqloom.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(kit / "installed")}
    answer = subprocess.run(
        command, check=True, env=environment, cwd="/", capture_output=True, text=True
    )
    assert Path(answer.stdout.strip()).is_relative_to(kit / "installed")
