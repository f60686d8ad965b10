"""`seqloom doctor` reports the installation, and causes of slowness."""

import json
import os
import platform
import subprocess
import sys
from importlib import metadata

import pytest

VARIABLES_THAT_REDUCE_SPEED = {
    "SEQLOOM_SIMD": "portable",
    "OPENBLAS_CORETYPE": "Haswell",
    "PYTHONDONTWRITEBYTECODE": "1",
    "SEQLOOM_NUM_THREADS": "many",
}


def ask(*words, **variables):
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in VARIABLES_THAT_REDUCE_SPEED
    }
    command = [sys.executable, "-m", "seqloom", "doctor", *words]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**environment, **variables},
    )
    return done.stdout


def test_doctor_prints_versions_processor_threads_and_cache(tmp_path):
    said = ask(SEQLOOM_CACHE=str(tmp_path), COLUMNS="200")
    for fact in (
        metadata.version("seqloom"),
        platform.python_version(),
        f"numpy {metadata.version('numpy')}",
        f"torch {metadata.version('torch')}",
        f"{os.cpu_count()} cores",
        f"{tmp_path}, 0 files",
    ):
        assert fact in said


def test_doctor_prints_the_number_of_files_in_the_cache(tmp_path):
    (tmp_path / "x").write_bytes(bytes(1_500_000))
    said = json.loads(ask("--json", SEQLOOM_CACHE=str(tmp_path)))
    assert said["facts"]["cache"] == f"{tmp_path}, 1 files, 1.5 MB"


@pytest.mark.parametrize(("variable", "value"), VARIABLES_THAT_REDUCE_SPEED.items())
def test_doctor_names_environment_variables_that_reduce_speed(variable, value):
    advice = json.loads(ask("--json", **{variable: value}))["advice"]
    (found,) = [one for one in advice if variable in one["what"]]
    assert found["remedy"]


def test_doctor_reports_a_thread_limit_below_the_number_of_cores(monkeypatch):
    from seqloom.cli import _doctor

    monkeypatch.setattr(_doctor, "count_cores", lambda: 8)
    monkeypatch.setenv("SEQLOOM_NUM_THREADS", "3")
    found = [one.what for one in _doctor.find_advice()]
    assert "SEQLOOM_NUM_THREADS allows 3 of 8 cores." in found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_doctor_reports_a_cache_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    advice = json.loads(ask("--json", SEQLOOM_CACHE=str(tmp_path)))["advice"]
    assert any(str(tmp_path) in one["what"] for one in advice)
