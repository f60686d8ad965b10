"""A file with one line of JSON per result, written as soon as the result exists."""

import json
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

RESULTS_FILE = "results.jsonl"
DEVICE_CHECK = "device"  # name of the measurement that must succeed for the run to continue
MAX_REASON_CHARACTERS = 300  # maximum characters of a printed reason

Result = dict[str, Any]


class Results:
    """Appends results to a file, so that the results survive if the process is killed.

    Args:
        path: File of the results of all parts of the benchmark.
        part: Name of the part of the benchmark, such as ``training``.
        device: ``cuda`` or ``cpu``.
        seconds: Time limit of this part of the benchmark.
        is_tiny: If True, the inputs are small, so the run only shows that the code
            works.
    """

    def __init__(
        self, path: Path, part: str, *, device: str, seconds: float, is_tiny: bool
    ) -> None:
        self.path, self.part = path, part
        self.device, self.is_tiny = device, is_tiny
        self._end = time.monotonic() + seconds

    def add(self, what: str, **fields: Any) -> None:
        """Write one result: the name of the measurement, and its values as keywords."""
        line = json.dumps({"part": self.part, "what": what, **fields})
        with self.path.open("a") as file:
            file.write(f"\n{line}\n")  # a killed process may have left an incomplete line
        print(line, flush=True)

    def skip(self, what: str, why: str) -> None:
        """Write that a measurement was skipped, and why."""
        self.add(what, skipped=why)

    def attempt(self, what: str, measure: Callable[[], None], *, seconds: float) -> None:
        """Call `measure` if enough time is left; write why it was skipped or failed."""
        left = max(self.seconds_left(), 0)
        if left < seconds:
            self.skip(what, f"needs about {seconds:.0f} s, {left:.0f} s are left")
            return
        try:
            measure()
        except Exception as error:  # noqa: BLE001 - the other measurements may still work
            traceback.print_exc()  # to standard error, which is the log
            self.add(what, failed=f"{type(error).__name__}: {error}")

    def seconds_left(self) -> float:
        """Return the seconds until the time limit of this part of the benchmark."""
        return self._end - time.monotonic()


def read_results(path: Path) -> list[Result]:
    """Return all results of a file, in the order in which they were written."""
    results: list[Result] = []
    for line in filter(None, path.read_text().splitlines()):
        with suppress(json.JSONDecodeError):  # incomplete line of a killed process
            results.append(json.loads(line))
    return results


def is_skipped(result: Result) -> bool:
    """Return whether a result is a skipped measurement, whose ``skipped`` is a string."""
    return isinstance(result.get("skipped"), str)


def has_failed(result: Result) -> bool:
    """Return whether a measurement failed. A number in ``failed`` is a count of tests."""
    has_reason = isinstance(result.get("failed"), str)
    is_bad_test = result.get("outcome") in {"failed", "unfinished"}
    return has_reason or is_bad_test or not result.get("ok", True)


def explain_failure(result: Result) -> str:
    """Return the reason of a failed measurement as one line of text."""
    reason = result.get("failed") or result.get("why") or "not as expected"
    return " ".join(str(reason).split())[:MAX_REASON_CHARACTERS]
