"""Runs the parts of the GPU benchmark, each in its own process with a time limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from benchmarks.gpu._results import (
    DEVICE_CHECK,
    RESULTS_FILE,
    Results,
    explain_failure,
    has_failed,
    is_skipped,
    read_results,
)

# Part of the benchmark -> its module, and the seconds after which it is killed. The
# whole run takes at most eight minutes, including 20 s for the installation.
MODULE_AND_SECONDS_OF_PART = {
    "check": ("benchmarks.gpu._check", 25),
    "tests": ("benchmarks.gpu._tests", 125),
    "inference": ("benchmarks.gpu._inference", 150),
    "training": ("benchmarks.gpu._training", 120),
    "embed": ("benchmarks.gpu._embed", 35),
}
LOG_FILE = "log.txt"
KILL_DELAY_SECONDS = 3  # Seconds from the planned end of a part until it is killed.
# By default JAX allocates 75 % of the GPU's memory, which other libraries need.
PROCESS_VARIABLES = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONUNBUFFERED": "1"}


def main() -> None:
    """Measure this machine's GPU and publish the results; needs CUDA."""
    from benchmarks._measure import is_quick_run
    from benchmarks.gpu._result_page import publish_results

    if not find_spec("torch") or not import_module("torch").cuda.is_available():
        print("gpu: skipped: needs a CUDA device, and this machine has none")
        return
    # The folder is kept, because `python -m benchmarks.gpu read` can read it later.
    out = Path(mkdtemp(prefix="seqloom-gpu-"))
    run_parts(out, list(MODULE_AND_SECONDS_OF_PART), "cuda", is_tiny=is_quick_run())
    publish_results(out)


def run_parts(out: Path, parts: Sequence[str], device: str, *, is_tiny: bool) -> int:
    """Run parts of the benchmark, with results and log in `out`; return 1 on failure."""
    path = out / RESULTS_FILE
    if path.exists():
        raise SystemExit(f"{path} exists: choose another folder, or move its results away")
    out.mkdir(parents=True, exist_ok=True)
    settings = Results(path, "run", device=device, seconds=0, is_tiny=is_tiny)
    settings.add("settings", device=device, is_tiny=is_tiny)
    start = time.monotonic()
    with _exit_on_sigterm(), (out / LOG_FILE).open("w") as log:
        for part in parts:
            _run_part(path, part, device, is_tiny=is_tiny, log=log)
            if any(
                it["what"] == DEVICE_CHECK and has_failed(it) for it in read_results(path)
            ):
                print("the other parts need the device: they do not run")
                break
    print(
        f"{time.monotonic() - start:.0f} s in all; results: {path}; log: {out / LOG_FILE}"
    )
    return int(any(map(has_failed, read_results(path))))


@contextmanager
def _exit_on_sigterm() -> Generator[None]:
    """Turn SIGTERM into an exception, so that the child process is killed too."""

    def exit_with_signal_status(number: int, _frame: object) -> None:
        """Exit with the status of a process that the signal ended."""
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, exit_with_signal_status)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_part(path: Path, part: str, device: str, *, is_tiny: bool, log: IO[str]) -> None:
    """Run one part of the benchmark; at its time limit, kill its process group."""
    module, seconds = MODULE_AND_SECONDS_OF_PART[part]
    results = Results(path, part, device=device, seconds=seconds, is_tiny=is_tiny)
    arguments = [
        str(path),
        part,
        module,
        str(seconds - KILL_DELAY_SECONDS),
        "--device",
        device,
    ]
    if is_tiny:
        arguments.append("--tiny")
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gpu", "part", *arguments],
        env={**os.environ, **PROCESS_VARIABLES},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        status: int | None = process.wait(seconds)
    except subprocess.TimeoutExpired:
        status = None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status is None:
        results.add("end", failed=f"killed after its limit of {seconds} s")
    elif status:
        results.add("end", failed=f"ended with status {status}: see {LOG_FILE}")
    print(
        f"{part}: {time.monotonic() - start:.0f} s, {_summarise_part(path, part)}",
        flush=True,
    )


def _summarise_part(path: Path, part: str) -> str:
    """Return a text with the number of results of a part, and its failures."""
    results = [result for result in read_results(path) if result["part"] == part]
    skipped = sum(map(is_skipped, results))
    failures = [result for result in results if has_failed(result)]
    lines = [f"\n    {it['what']}: {explain_failure(it)}" for it in failures]
    counts = f"{len(results)} results, {skipped} skipped, {len(failures)} failed"
    return f"{counts}{''.join(lines)}"
