"""A sample of `make faults`: nothing is lost, whatever fails and whenever."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# How the names begin of writers and readers of which each takes less than a second.
QUICK = ("record", "sequences", "index", "genotypes", "table", "scores", "labels")


def run_faults(*arguments):
    """Runs the program that makes calls fail; returns what it prints."""
    if not sys.platform.startswith("linux") or not shutil.which("cc"):
        pytest.skip("needs Linux and a C compiler")
    done = subprocess.run(
        [sys.executable, "-m", "faults", *arguments],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["calls", "crash", "read", "damage"])
def test_nothing_is_lost_in_a_sample_of_all_faults(kind):
    said = run_faults(*QUICK, "--kind", kind, "--sample", "4", "--jobs", "1")
    tried = re.search(
        r"^([\d,]+) faults in \d+ s; 0 of them went wrong", said, re.MULTILINE
    )
    assert tried, said
    assert int(tried[1].replace(",", "")) > 50


@pytest.mark.parametrize("name", ["run, one", "cache, sequences", "embeddings, disk"])
def test_a_job_loses_nothing_in_a_sample(name):
    said = run_faults(name, "--kind", "calls", "--sample", "1", "--jobs", "1")
    assert "1 faults in" in said


def test_nothing_of_a_record_is_lost_at_any_call():
    said = run_faults("record, safetensors", "--kind", "calls", "--jobs", "1")
    tried, listed = re.search(r"(\d+) of +(\d+) faults, 0 wrong", said).groups()
    assert int(tried) == int(listed) > 100


def test_a_name_that_nobody_has_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "faults", "recrod"],
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no writer or reader begins with recrod" in done.stderr
