"""One worker process per library; only one process computes at a time."""

import json
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from signal import SIGKILL
from statistics import median
from tempfile import TemporaryFile
from threading import Timer
from typing import Any

from benchmarks._measure import REPOSITORY_ROOT
from benchmarks.tensor._libraries import thread_environment
from benchmarks.tensor._networks import NETWORKS, MeasurementSetup


class LibraryFailed(Exception):  # noqa: N818  # a result, not a fault of this program
    """The process of a library failed; the message is the reason."""


class LibraryTimedOut(LibraryFailed):
    """The process of a library did not answer in time."""


class LibraryProcess:
    """Process in which one library runs a network."""

    def __init__(self, process: Any, errors: Any) -> None:
        self.process, self.errors = process, errors

    def request_result(self, method: str, steps: int) -> Any:
        """Send a command and wait for the answer."""
        self.send_request(method, steps)
        return json.loads(self.read_reply())

    def send_request(self, method: str, steps: int) -> None:
        """Send a command without waiting."""
        try:
            self.process.stdin.write(f"{method} {steps}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # `answer` reports why the process ended.

    def read_reply(self, seconds: float | None = None) -> str:
        """Return the next output line of the process; after a timeout, kill the process."""
        late = Timer(seconds or 0.0, self.process.kill)
        if seconds is not None:
            late.start()
        line = self.process.stdout.readline()
        late.cancel()
        if not line:
            raise self._find_cause(seconds)
        return line

    def _find_cause(self, seconds: float | None) -> LibraryFailed:
        """Return an exception with the reason why the process ended."""
        if self.process.wait() == -SIGKILL and seconds is not None:
            return LibraryTimedOut(f"killed after {seconds:.0f} s without an answer")
        self.errors.seek(0)
        return LibraryFailed((self.errors.read().strip() or "it ended").splitlines()[-1])


@contextmanager
def start_worker(
    side: str, setup: MeasurementSetup, **variables: str
) -> Generator[LibraryProcess]:
    """Start the process of a library without waiting until the process is ready."""
    settings = {"side": side, "setup": asdict(setup)}
    command = [sys.executable, "-m", "benchmarks.tensor._worker", json.dumps(settings)]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=REPOSITORY_ROOT,
            env={**thread_environment(setup.threads), **variables},
        ) as process,
    ):
        try:
            yield LibraryProcess(process, errors)
        finally:
            process.kill()


@contextmanager
def running_process(side: str, setup: MeasurementSetup) -> Generator[LibraryProcess]:
    """Context manager that starts the process of a library, and ends it after the block."""
    with start_worker(side, setup) as one:
        one.read_reply()
        yield one


def measure_speeds(
    sides: Sequence[str], network: str, *, threads: int, dropout: float, rounds: int
) -> dict[str, dict[str, Any]]:
    """Return the first losses of each library, and its seconds per step in each round."""
    found: dict[str, dict[str, Any]] = {}
    setup = MeasurementSetup(name=network, threads=threads, dropout=dropout)
    with ExitStack() as stack:
        crew: dict[str, LibraryProcess] = {}
        for side in sides:
            try:
                crew[side] = stack.enter_context(running_process(side, setup))
                found[side] = {
                    "losses": crew[side].request_result("compute_losses", 3),
                    "seconds": [],
                }
            except LibraryFailed as failure:
                crew.pop(side, None)
                found[side] = {"failed": str(failure)}
        for _ in range(rounds):
            for side, each in crew.items():
                seconds = each.request_result("time_steps", NETWORKS[network].steps)
                found[side]["seconds"].append(seconds)
                time.sleep(PAUSE_SECONDS)
    return found


# Pause in seconds between two libraries: after their last call, threads of OpenBLAS
# still use a core that the next library needs.
PAUSE_SECONDS = 0.3


def measure_memory(side: str, network: str, threads: int) -> int:
    """Return the bytes by which ten steps increase the memory of a new process."""
    with running_process(side, MeasurementSetup(name=network, threads=threads)) as one:
        return one.request_result("measure_memory_increase", 10)


def median_step_ms(found: dict[str, Any]) -> float:
    """Return the median time of a step in milliseconds."""
    return 1000 * median(found["seconds"])
