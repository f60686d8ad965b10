"""Time `seqloom-run` and ONNX Runtime on encoded arrays, and compare their outputs."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import seqloom as sl
from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._page import markdown_table
from benchmarks.run._networks import BATCH_RECORDS, NETWORKS, make_network, sample_inputs
from benchmarks.run._runtimes import RUNTIMES
from benchmarks.tensor._libraries import thread_environment
from seqloom.export import Input
from seqloom.infer._forward import Forward

THREAD_COUNTS = (1, 2)
ROUNDS, SECONDS = full_or_quick(15, 5), 0.05  # seconds per round
MAX_DIFFERENCE = 1e-4  # Maximum accepted difference of outputs.
NOTES = f"""
The first table has median times of {ROUNDS} rounds for batches of {BATCH_RECORDS} encoded
records. Outputs of the two programs differ by at most {MAX_DIFFERENCE:g}. Memory is the
increase in memory use after loading the model and running one batch. The ratio after a
pause includes the time to wake the threads.
"""
_RUNTIME_SCRIPT = "from benchmarks.run._runtimes import main; main()"


def measure_arrays() -> str:
    """Return a table of the times of all networks on encoded arrays."""
    rows = [_network_row(name, threads) for name in NETWORKS for threads in THREAD_COUNTS]
    sides = "ONNX Runtime", "seqloom", "ratio", "ratio after a pause"
    head = "", "threads", *sides, "memory", "memory of ONNX Runtime"
    return markdown_table(head, rows)


def _network_row(name: str, threads: int) -> tuple[str, ...]:
    """Return the table row of one network."""
    with TemporaryDirectory() as folder:
        length = write_models(name, Path(folder))
        peaks, seconds = _time_runtimes(name, length, threads=threads, folder=folder)
        _compare_outputs(name, length, Path(folder))
    (rested, ours), (waiting, theirs) = seconds["seqloom"], seconds["ONNX Runtime"]
    row = (
        name,
        str(threads),
        f"{theirs * 1e3:.2f} ms",
        f"{ours * 1e3:.2f} ms",
        f"**{ours / theirs:.2f}**",
        f"{rested / waiting:.2f}",
        *(f"{peaks[side] / 1e6:.1f} MB" for side in RUNTIMES),
    )
    print(*row, flush=True)
    return row


def write_models(name: str, folder: Path, *, of_reads: bool = False) -> int:
    """Export a network for seqloom-run and as ONNX; return the length of its inputs."""
    trained, length = make_network(name, of_reads=of_reads)
    arrays = sample_inputs(name, length)
    # All records have the same length, so neither runtime needs a mask.
    inputs = {it: Input(("batch", *x.shape[1:]), str(x.dtype)) for it, x in arrays.items()}
    given = None if trained.encoder is not None else inputs
    sl.export.save(trained, folder / "model.seqloom", inputs=given)
    sl.export.onnx(trained.model, folder / "model.onnx", inputs=inputs)
    return length


def _time_runtimes(
    name: str, length: int, *, threads: int, folder: str
) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Return the peak memory and the median seconds of each runtime."""
    workers = {
        side: _start_runtime(side, name, str(length), str(threads), folder)
        for side in RUNTIMES
    }
    try:
        peaks = {side: _read_line(worker) for side, worker in workers.items()}
        calls = {
            side: _count_calls(_time_calls_once(worker, 3)[1])
            for side, worker in workers.items()
        }
        rounds = [
            {
                side: _time_calls_once(worker, calls[side])
                for side, worker in workers.items()
            }
            for _ in range(ROUNDS)
        ]
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()
    both = {side: zip(*(each[side] for each in rounds), strict=True) for side in RUNTIMES}
    return peaks, {side: [median(it) for it in parts] for side, parts in both.items()}


def _count_calls(seconds: float) -> int:
    return max(1, round(SECONDS / max(seconds, 1e-6)))


def _start_runtime(*arguments: str) -> Any:
    """Start a process that runs one runtime."""
    return subprocess.Popen(
        [sys.executable, "-c", _RUNTIME_SCRIPT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY_ROOT,
        env=thread_environment(int(arguments[3])),
    )


def _time_calls_once(worker: Any, calls: int) -> list[float]:
    """Let a process run; return the seconds per call after a pause, and without a pause."""
    worker.stdin.write(f"{calls}\n")
    worker.stdin.flush()
    return _read_line(worker)


def _read_line(worker: Any) -> Any:
    """Read a line of JSON from a process."""
    return json.loads(worker.stdout.readline())


def _compare_outputs(name: str, length: int, folder: Path) -> None:
    """Compare the outputs of both runtimes with those of the model in Python."""
    trained, _ = make_network(name)
    forward = Forward.of(trained.model)
    arrays = sample_inputs(name, length)
    expected = np.asarray(forward(trained.model, arrays, encoder=trained.encoder))
    ours, theirs = (np.load(folder / f"{side}.npy") for side in RUNTIMES)
    if name == "transformer":  # Attention in Python sums numbers in another order.
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, expected)
    np.testing.assert_allclose(theirs, expected, rtol=MAX_DIFFERENCE, atol=MAX_DIFFERENCE)
