"""A pytest plugin: ``import bed_reader`` imports ``seqloom.compat.bed_reader``.

Only the pytest process that runs the tests of bed_reader (test_bed_reader.py) loads this
plugin. Tests that compare with the real bed_reader are not affected. The plugin writes the
result of each test to the file ``outcomes.json``.
"""

import json
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import pytest

import seqloom.compat.bed_reader as ours
from seqloom.compat.bed_reader import _open_bed

outcomes: dict[str, str] = {}
os.fsync = os.fstat  # skips syncs, which are slow for thousands of files

wheel = PathFinder.find_spec("bed_reader")
assert wheel is not None
# The test files import each other as bed_reader.tests, so that name must exist.
tests = PathFinder.find_spec("bed_reader.tests", wheel.submodule_search_locations)
assert tests is not None
sys.modules["bed_reader"] = ours
sys.modules["bed_reader._open_bed"] = _open_bed
sys.modules["bed_reader.tests"] = module_from_spec(tests)


def pytest_runtest_logreport(report: pytest.TestReport):
    said = "" if report.passed else f"{report.outcome}: {report.longreprtext}"
    outcomes[report.nodeid] = outcomes.get(report.nodeid, "") + said


def pytest_sessionfinish():
    Path("outcomes.json").write_text(json.dumps(outcomes))
