"""What a part of the run found: one line of JSON for each result, written at once."""

import json
import time
from pathlib import Path
from typing import Any

RESULTS = "results.jsonl"


class Results:
    """Appends results to a file, so that a part that is killed keeps what it had found.

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
        """Writes one result: `what` was done, and its figures by name."""
        line = json.dumps({"part": self.part, "what": what, **fields}) + "\n"
        with self.path.open("a") as file:
            file.write(line)
        print(line, end="", flush=True)

    def skip(self, what: str, why: str) -> None:
        """Writes that `what` was not done, and why."""
        self.add(what, skipped=why)

    def seconds_left(self) -> float:
        """The seconds until the part is killed."""
        return self._end - time.monotonic()


def read_results(path: Path) -> list[dict[str, Any]]:
    """All results of a file, in the order in which they were found."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def has_failed(result: dict[str, Any]) -> bool:
    """Whether a result is a failure, or not as expected."""
    is_failure = "failed" in result or result.get("outcome") in {"failed", "unfinished"}
    return is_failure or not result.get("ok", True)
