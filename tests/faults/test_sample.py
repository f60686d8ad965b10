"""A sample of `make faults`: no fault at any call loses data."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
# Prefixes of writers and readers that each take less than a second.
QUICK_JOBS = ("record", "sequences", "index", "genotypes", "table", "scores", "labels")
FAULT_KINDS = ["calls", "crash", "read", "damage"]
SAMPLED_JOB_NAMES = ["run, one", "cache, sequences", "embeddings, disk"]


def run_faults(*arguments):
    """Run the fault program and return its output."""
    if not sys.platform.startswith("linux") or not shutil.which("cc"):
        pytest.skip("needs Linux and a C compiler")
    done = subprocess.run(
        [sys.executable, "-m", "faults", *arguments],
        check=False, capture_output=True, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sample():
    """Return the output for a few faults of each type on each fast writer and reader."""
    kinds = [word for kind in FAULT_KINDS for word in ("--kind", kind)]
    return run_faults(*QUICK_JOBS, *kinds, "--sample", "4", "--jobs", "1")


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_a_random_sample_of_faults_loses_no_data(kind, sample):
    rows = re.findall(
        rf"^{kind} .* ([\d,]+) of +[\d,]+ faults, (\d+) wrong", sample, re.MULTILINE
    )
    assert sum(int(tried.replace(",", "")) for tried, _ in rows) > 50, sample
    assert {wrong for _, wrong in rows} == {"0"}


@pytest.fixture(scope="module")
def jobs():
    """Return the output for one fault of each job."""
    return run_faults(*SAMPLED_JOB_NAMES, "--kind", "calls", "--sample", "1", "--jobs", "1")


@pytest.mark.parametrize("name", SAMPLED_JOB_NAMES)
def test_a_random_sample_of_faults_in_embedding_jobs_loses_no_data(name, jobs):
    assert re.search(
        rf"^calls +{name}.* 1 of +[\d,]+ faults, 0 wrong", jobs, re.MULTILINE
    ), jobs


def test_a_fault_at_any_system_call_loses_no_weights_file():
    said = run_faults("record, safetensors", "--kind", "calls", "--jobs", "1")
    tried, listed = re.search(r"(\d+) of +(\d+) faults, 0 wrong", said).groups()
    assert int(tried) == int(listed) > 100


def test_an_unknown_fault_name_is_an_error():
    done = subprocess.run(
        [sys.executable, "-m", "faults", "recrod"],
        check=False, capture_output=True, text=True, cwd=REPOSITORY,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no writer or reader begins with recrod" in done.stderr
