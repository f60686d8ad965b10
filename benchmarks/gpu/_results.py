"""The results of a run: one line of JSON for each, written as soon as it exists."""

import json
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

RESULTS = "results.jsonl"
DEVICE = "device"  # the measurement whose failure ends the run
MAX_REASON = 300  # characters

Result = dict[str, Any]


class Results:
    """Appends results to a file, so that a part that is killed keeps its earlier results.

    Args:
        path: The file, which all parts of a run share.
        part: The part's name.
        device: ``cuda`` or ``cpu``.
        seconds: The time that the part may take.
        is_tiny: Whether the part runs on small inputs, to show that it works.
    """

    def __init__(
        self, path: Path, part: str, *, device: str, seconds: float, is_tiny: bool
    ) -> None:
        self.path, self.part = path, part
        self.device, self.is_tiny = device, is_tiny
        self._end = time.monotonic() + seconds

    def add(self, what: str, **fields: Any) -> None:
        """Write one result: the name of the measurement, and its figures by name."""
        line = json.dumps({"part": self.part, "what": what, **fields})
        with self.path.open("a") as file:
            file.write(f"\n{line}\n")  # the line before may have been cut by a kill
        print(line, flush=True)

    def skip(self, what: str, why: str) -> None:
        """Write that a measurement was skipped, and why."""
        self.add(what, skipped=why)

    def attempt(self, what: str, measure: Callable[[], None], *, seconds: float) -> None:
        """Call `measure` if the time suffices; writes why it was skipped or failed."""
        left = max(self.seconds_left(), 0)
        if left < seconds:
            self.skip(what, f"needs about {seconds:.0f} s, {left:.0f} s are left")
            return
        try:
            measure()
        except Exception as error:  # noqa: BLE001 - the other measurements may still work
            traceback.print_exc()  # into the log
            self.add(what, failed=f"{type(error).__name__}: {error}")

    def seconds_left(self) -> float:
        """Return the seconds until the part has to end."""
        return self._end - time.monotonic()


def read_results(path: Path) -> list[Result]:
    """Return all results of a file, in the order in which they were written."""
    results: list[Result] = []
    for line in filter(None, path.read_text().splitlines()):
        with suppress(json.JSONDecodeError):  # cut by a kill
            results.append(json.loads(line))
    return results


def is_skipped(result: Result) -> bool:
    """Return whether a measurement was skipped; in a summary, ``skipped`` is a number."""
    return isinstance(result.get("skipped"), str)


def has_failed(result: Result) -> bool:
    """Return whether a measurement failed; in a summary, ``failed`` is a number."""
    has_reason = isinstance(result.get("failed"), str)
    is_bad_test = result.get("outcome") in {"failed", "unfinished"}
    return has_reason or is_bad_test or not result.get("ok", True)


def explain_failure(result: Result) -> str:
    """Why a measurement failed, on one line."""
    reason = result.get("failed") or result.get("why") or "not as expected"
    return " ".join(str(reason).split())[:MAX_REASON]
