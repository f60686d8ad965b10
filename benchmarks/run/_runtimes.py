"""Run one exported model on encoded arrays in this process."""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import peak_memory_increase
from benchmarks.run._networks import sample_inputs

Arrays = dict[str, Any]
Work = Callable[[], Any]


def load_in_seqloom(folder: Path, arrays: Arrays, threads: int) -> Work:
    """Return a function that runs the exported folder with the library of `seqloom-run`."""
    native = import_module("seqloom._rust._native")
    model = native.ExportedModel(str(folder / "model.seqloom"))
    return lambda: model.run(arrays, threads)[0]


def load_in_onnxruntime(folder: Path, arrays: Arrays, threads: int) -> Work:
    """Return a function that runs the ONNX file with ONNX Runtime."""
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_outputs()]
    output = [name for name in names if name == "outputs"] or names[:1]
    return lambda: session.run(output, arrays)[0]


RUNTIMES = {"seqloom": load_in_seqloom, "ONNX Runtime": load_in_onnxruntime}


def main() -> None:
    """Save the first result; then time calls for each line of standard input."""
    side, name, length, threads, folder = sys.argv[1:]
    work, peak = _load_runtime(
        side, name, int(length), threads=int(threads), folder=Path(folder)
    )
    print(json.dumps(peak), flush=True)
    for line in sys.stdin:
        # The threads are asleep before the first measurement, and awake before the
        # second.
        both = [_mean_call_seconds(work, int(line)) for _ in range(2)]
        print(json.dumps(both), flush=True)


def _load_runtime(
    side: str, name: str, length: int, *, threads: int, folder: Path
) -> tuple[Work, int]:
    """Return the function of a runtime, and the peak memory of its first call."""
    arrays, made = sample_inputs(name, length), list[Work]()

    def load_and_run() -> None:
        made.append(RUNTIMES[side](folder, arrays, threads))
        np.save(folder / f"{side}.npy", np.asarray(made[0]()))

    peak = peak_memory_increase(load_and_run)
    return made[0], peak


def _mean_call_seconds(work: Work, calls: int) -> float:
    """Return the mean seconds of a call."""
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls
