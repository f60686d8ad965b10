"""A pytest plugin that runs only the chosen tests, and writes each result to a pipe."""

import json
import os
from typing import Any

import pytest

PIPE, CHOICE = "SEQLOOM_TESTS_PIPE", "SEQLOOM_TESTS_CHOICE"
CONFORMANCE_FOLDER = "tests/conformance/"
MAX_REASON_CHARACTERS = 1500  # maximum characters of a reported traceback


def pytest_configure(config: pytest.Config) -> None:
    """Report from the main process only, not from the workers of pytest-xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(EventReporter(int(os.environ[PIPE])))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Select the chosen tests, and sort them by the chosen order of files."""
    choice = json.loads(os.environ[CHOICE])
    order = {path: number for number, path in enumerate(choice["files"])}
    conformance = set(choice["conformance"])
    first_cases: dict[tuple[str, str], pytest.Item] = {}
    for item in items:
        first_cases.setdefault(_test_function_id(item), item)

    def is_chosen(item: pytest.Item) -> bool:
        if _test_file(item).startswith(CONFORMANCE_FOLDER):
            return item.name in conformance
        if not choice["is_tiny"]:
            return True
        # Tests without `skipif` need no GPU, so a tiny run omits them.
        is_marked = item.get_closest_marker("skipif") is not None
        return is_marked and first_cases[_test_function_id(item)] is item

    chosen = [item for item in items if is_chosen(item)]
    items[:] = sorted(chosen, key=lambda item: order.get(_test_file(item), len(order)))


def _test_function_id(item: pytest.Item) -> tuple[str, str]:
    """Return the file and the function of a test, without its parameters."""
    return _test_file(item), getattr(item, "originalname", item.name)


def _test_file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


class EventReporter:
    """Writes a line of JSON to the pipe for each event of the test run."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._seconds: dict[str, float] = {}
        self._outcomes: dict[str, dict[str, str]] = {}

    def _write_event(self, **event: Any) -> None:
        os.write(self._pipe, (json.dumps(event) + "\n").encode())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Report the collected tests, which are the same in all workers of pytest-xdist."""
        self._write_event(event="collected", ids=ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Report an error that prevented the collection of a test file."""
        if report.failed:
            self._write_event(
                event="finished", name=report.nodeid, **describe_outcome(report)
            )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Report the start of a test."""
        self._write_event(event="started", name=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report the end of a test, or of the process that ran it."""
        name = report.nodeid
        self._seconds[name] = self._seconds.get(name, 0.0) + report.duration
        if not report.passed:
            self._outcomes.setdefault(name, describe_outcome(report))
        is_crash = report.when not in {"setup", "call", "teardown"}
        if report.when == "teardown" or is_crash:
            outcome = self._outcomes.pop(name, {"outcome": "passed"})
            seconds = round(self._seconds.pop(name), 3)
            self._write_event(event="finished", name=name, seconds=seconds, **outcome)


def describe_outcome(report: pytest.CollectReport | pytest.TestReport) -> dict[str, str]:
    """Return the outcome of a test that did not pass, and the reason."""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        return {"outcome": "skipped", "skipped": reason}
    text = report.longreprtext.strip()
    crash = getattr(report.longrepr, "reprcrash", None)
    first_line = getattr(crash, "message", "").partition("\n")[0]
    why = first_line or text.rpartition("\n")[2]
    return {
        "outcome": str(report.outcome),
        "why": why,
        "text": text[-MAX_REASON_CHARACTERS:],
    }
