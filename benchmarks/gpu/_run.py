"""Runs the parts one after another, each in a process of its own with a time limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from benchmarks.gpu._results import RESULTS, Results, has_failed, read_results

# The module of each part, and the seconds after which it is killed. With 20 s for the
# installation the whole run takes at most eight minutes.
PARTS = {
    "check": ("benchmarks.gpu._check", 25),
    "tests": ("benchmarks.gpu._tests", 125),
    "inference": ("benchmarks.gpu._inference", 150),
    "training": ("benchmarks.gpu._training", 120),
    "embed": ("benchmarks.gpu._embed", 35),
}
LOG = "log.txt"
MARGIN = 3  # seconds that a part keeps to end by itself
# JAX would take three quarters of the device's memory, which others need.
SETTINGS = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONUNBUFFERED": "1"}


def main() -> None:
    """Measures this machine's GPU and publishes the results; needs CUDA."""
    from benchmarks.gpu._read import publish_results

    if not find_spec("torch") or not import_module("torch").cuda.is_available():
        print("gpu: skipped: needs a CUDA device, and this machine has none")
        return
    with TemporaryDirectory() as folder:
        run_parts(Path(folder), list(PARTS), "cuda", is_tiny=False)
        publish_results(Path(folder))


def run_parts(out: Path, parts: Sequence[str], device: str, *, is_tiny: bool) -> int:
    """Writes results and a log into `out`; returns 1 if a part failed or was killed."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / RESULTS
    path.write_text("")
    settings = Results(path, "run", device=device, seconds=0, is_tiny=is_tiny)
    settings.add("settings", device=device, is_tiny=is_tiny)
    start = time.monotonic()
    with (out / LOG).open("w") as log:
        for part in parts:
            _run_part(path, part, device, is_tiny=is_tiny, log=log)
    print(f"{time.monotonic() - start:.0f} s in all; results: {path}; log: {out / LOG}")
    return int(any(map(has_failed, read_results(path))))


def _run_part(path: Path, part: str, device: str, *, is_tiny: bool, log: IO[str]) -> None:
    """Runs one part and kills it at its limit, with the processes that it started."""
    module, seconds = PARTS[part]
    results = Results(path, part, device=device, seconds=seconds, is_tiny=is_tiny)
    settings = [str(path), part, module, str(seconds - MARGIN), "--device", device]
    start = time.monotonic()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "benchmarks.gpu",
            "part",
            *settings,
            *(["--tiny"] if is_tiny else []),
        ],
        env={**os.environ, **SETTINGS},
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
        results.add("end", failed=f"ended with status {status}: see {LOG}")
    print(f"{part}: {time.monotonic() - start:.0f} s, {_count(path, part)}", flush=True)


def _count(path: Path, part: str) -> str:
    """The number of results of a part, and each that failed."""
    found = [it for it in read_results(path) if it["part"] == part]
    skipped = sum("skipped" in it for it in found)
    failures = [it for it in found if has_failed(it)]
    lines = [f"\n    {it['what']}: {it.get('failed', it)}" for it in failures]
    counts = f"{len(found)} results, {skipped} skipped, {len(failures)} failed"
    return f"{counts}{''.join(lines)}"
