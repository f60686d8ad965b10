"""The tests of bed_reader pass with seqloom imported under the name bed_reader."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BED_READER_TESTS = Path(*find_spec("bed_reader").submodule_search_locations) / "tests"
COMPAT_TEST_FOLDER = Path(__file__).parent

# Tests of bed_reader that are not run, with the reason.
NEEDS_INTERNET_REASON = "reads from the internet"
NEEDS_S3_CREDENTIALS_REASON = (
    "reads from Amazon with the user's own credentials; without them it tests nothing"
)
EXCLUDED_TESTS = {
    "test_open_bed_cloud.py::test_aws_cloud_urls_rst_1": NEEDS_S3_CREDENTIALS_REASON,
    "test_open_bed_cloud.py::test_http_cloud_urls_rst_1": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_http_cloud_urls_rst_2": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_http_cloud_urls_rst_3": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_http_cloud_urls_rst_4": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_http_one": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_http_two": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_readme_example": NEEDS_INTERNET_REASON,
    "test_open_bed_cloud.py::test_s3_article": NEEDS_S3_CREDENTIALS_REASON,
    "test_open_bed_cloud.py::test_s3_example": NEEDS_S3_CREDENTIALS_REASON,
}
# Test files of bed_reader that are not run, with the reason.
SKIPPED_TEST_FILES = {
    "test_file_dot.py": "products of matrices of float64 in mapped files, no genotypes: "
    "the docstring of seqloom.compat.bed_reader lists these functions",
}


def names_in(file: str) -> list[str]:
    """Return the names of the tests in a test file of bed_reader."""
    body = ast.parse((BED_READER_TESTS / file).read_text()).body
    names = [each.name for each in body if isinstance(each, ast.FunctionDef)]
    return [f"{file}::{name}" for name in names if name.startswith("test_")]


BED_READER_TEST_FILES = sorted(
    {file.name for file in BED_READER_TESTS.glob("test_*.py")} - set(SKIPPED_TEST_FILES)
)
ALL_BED_READER_TESTS = [test for file in BED_READER_TEST_FILES for test in names_in(file)]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, str]:
    """Return the failure message of each test; an empty string if the test passed."""
    folder = tmp_path_factory.mktemp("bed_reader")
    (folder / "pytest.ini").touch()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "alias_bed_reader"]
    command += [
        "-p",
        "no:cacheprovider",
        "-c",
        folder / "pytest.ini",
        "--rootdir",
        BED_READER_TESTS,
    ]
    command += [f"--deselect={test}" for test in EXCLUDED_TESTS]
    said = subprocess.run(
        [*command, *(BED_READER_TESTS / file for file in BED_READER_TEST_FILES)],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": str(COMPAT_TEST_FOLDER),
            "BED_READER_DATA_DIR": str(BED_READER_TESTS / "data"),
        }
        | {"HOME": str(folder)},  # hides the user's credentials
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "outcomes.json").exists(), said.stdout + said.stderr
    return json.loads((folder / "outcomes.json").read_text())


@pytest.mark.parametrize("test", ALL_BED_READER_TESTS)
def test_the_tests_of_bed_reader_pass(test: str, outcomes: dict[str, str]):
    if test in EXCLUDED_TESTS:
        pytest.skip(EXCLUDED_TESTS[test])
    assert outcomes[test] == ""


def test_excluded_tests_of_bed_reader_exist():
    assert set(EXCLUDED_TESTS) <= set(ALL_BED_READER_TESTS)
    assert set(SKIPPED_TEST_FILES) <= {
        file.name for file in BED_READER_TESTS.glob("test_*.py")
    }
