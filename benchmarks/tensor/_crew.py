"""Processes that wait for their turn: one for each side, none working beside another."""

import json
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import median
from tempfile import TemporaryFile
from typing import Any

from benchmarks._measure import HOME
from benchmarks.tensor._networks import NETWORKS
from benchmarks.tensor._sides import environment


class Failed(Exception):  # noqa: N818  # a result, not a fault of this program
    """A side could not do its part; the text says why."""


class Member:
    """The process of one side, seen from outside."""

    def __init__(self, process: Any, errors: Any) -> None:
        self.process, self.errors = process, errors

    def ask(self, method: str, steps: int) -> Any:
        """Has the side do something, and waits for its answer."""
        self.process.stdin.write(f"{method} {steps}\n")
        self.process.stdin.flush()
        return json.loads(self.answer())

    def answer(self) -> str:
        """The next line that the process writes."""
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise Failed((self.errors.read().strip() or "it ended").splitlines()[-1])
        return line


@contextmanager
def member(side: str, network: str, threads: int, dropout: float) -> Generator[Member]:
    """Starts the process of a side and ends it."""
    settings = {"side": side, "network": network, "threads": threads, "dropout": dropout}
    command = [sys.executable, "-m", "benchmarks.tensor._worker", json.dumps(settings)]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=HOME,
            env=environment(threads),
        ) as process,
    ):
        one = Member(process, errors)
        try:
            one.answer()
            yield one
        finally:
            process.kill()


def speeds(
    sides: Sequence[str], network: str, *, threads: int, dropout: float, rounds: int
) -> dict[str, dict[str, Any]]:
    """Each side's median seconds a step, taken in turn, and its first losses."""
    found: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        crew: dict[str, Member] = {}
        for side in sides:
            try:
                crew[side] = stack.enter_context(member(side, network, threads, dropout))
                found[side] = {"losses": crew[side].ask("losses", 3), "seconds": []}
            except Failed as failure:
                crew.pop(side, None)
                found[side] = {"failed": str(failure)}
        for _ in range(rounds):
            for side, each in crew.items():
                seconds = each.ask("seconds", NETWORKS[network].steps)
                found[side]["seconds"].append(seconds)
                time.sleep(REST)
    return found


# Seconds between two turns: OpenBLAS's threads look for work for a while after their last,
# on a processor that the next side would need.
REST = 0.3


def memory(side: str, network: str, threads: int) -> int:
    """The bytes that ten steps add in a fresh process."""
    with member(side, network, threads, 0.0) as one:
        return one.ask("memory", 10)


def step_of(found: dict[str, Any]) -> float:
    """The median time of a step in milliseconds."""
    return 1000 * median(found["seconds"])
