"""Measure all libraries with inputs of growing size, and write plots and a table."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import REPOSITORY_ROOT, is_quick_run, touch_memory
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.scale._growth import (
    FITTED_DECADES,
    MIN_MEMORY_BYTES,
    MeasuredSize,
    Points,
    growth_exponent,
)
from benchmarks.scale._plots import write_plot
from benchmarks.scale._reading import write_input
from benchmarks.scale._sweeps import (
    LIBRARIES_OF_OPERATION,
    LOWER_BOUND,
    SWEEPS,
    InputSizes,
    Sweep,
)

PACKAGES = ("numpy", "torch", "dnaio", "pyfastx", "biopython", "bed-reader", "seqloom")
# Maximum relative difference between the results of two libraries.
MAX_RELATIVE_DIFFERENCE = 1e-3
# Sizes of the warm-up call.
WARM_UP_SIZES = InputSizes(records=100, length=150, variants=100, parameters=10_000)
SLOPE_COLUMNS = (f"slope, last {FITTED_DECADES} decades", "slope, all")
NOTES = f"""
Times are the shortest of up to seven calls. Memory is the peak increase in resident memory
during the first call, in MB; values below 1 count as 1. Slopes are fitted to the
logarithms; the pictures show the last {FITTED_DECADES} decades and the other libraries. All
libraries use one thread, except in the rows that compare numbers of threads.
"""
TABLE_COLUMNS = (
    "operation by size; largest size",
    "side",
    "ms",
    "time relative to seqloom",
    *SLOPE_COLUMNS,
    "MB",
    *SLOPE_COLUMNS,
)


def main(sweeps: Sequence[Sweep] = SWEEPS) -> None:
    """Measure all sweeps one after another, and write the results."""
    touch_memory(2 << 30)  # more bytes than any library uses
    rows: list[Sequence[object]] = []
    pictures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for sweep in sweeps:
            points = _measure_sweep(sweep, Path(folder))
            if not is_quick_run():
                pictures.append(write_plot(sweep, points))
            rows += [_library_row(sweep, side, points) for side in points]
    text = "\n\n".join(
        [markdown_table(TABLE_COLUMNS, rows), describe_machine(*PACKAGES), *pictures]
    )
    publish_section("scale", text, notes=NOTES, shown=r"\| seqloom \|")


def _measure_sweep(sweep: Sweep, folder: Path) -> Points:
    """Measure all libraries for each input size, and check that their results agree."""
    workers = {
        side: _start_library(sweep.operation, side)
        for side in LIBRARIES_OF_OPERATION[sweep.operation]
    }
    points: Points = {side: [] for side in workers}
    for sizes in sweep.input_sizes:
        asked = [
            _prepare_file(
                sweep, WARM_UP_SIZES._replace(threads=sizes.threads), folder / "small"
            ),
            _prepare_file(sweep, sizes, folder / "measured"),
        ]
        answers = {
            side: _measure_library(worker, asked) for side, worker in workers.items()
        }
        _check_results(sweep, sizes, answers)
        for side, answer in answers.items():
            megabytes = max(answer["bytes"], MIN_MEMORY_BYTES) / 1e6
            points[side].append(MeasuredSize(answer["seconds"], megabytes))
    for worker in workers.values():
        worker.communicate()  # Close standard input and wait for the process.
    return points


def _prepare_file(sweep: Sweep, sizes: InputSizes, path: Path) -> tuple[str, InputSizes]:
    """Write an input file if the operation reads a file, and return its path."""
    path = path.with_suffix(sweep.suffix)
    if sweep.suffix:
        write_input(path, sizes)
    return str(path), sizes


def _start_library(operation: str, side: str) -> Any:
    """Start a process that measures one library, and wait until the library is imported."""
    worker: Any = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale._worker", operation, side],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY_ROOT,
    )
    assert worker.stdout.readline(), f"{operation}, {side}: the process ended at its start"
    return worker


def _measure_library(worker: Any, asked: list[tuple[str, InputSizes]]) -> Any:
    """Measure one library with one input size."""
    worker.stdin.write(json.dumps(asked) + "\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline())


def _check_results(sweep: Sweep, sizes: InputSizes, answers: dict[str, Any]) -> None:
    """Raise if the results of the libraries differ; print the progress of the sweep."""
    found = [answer["found"] for side, answer in answers.items() if side != LOWER_BOUND]
    same = all(np.allclose(each, found[0], rtol=MAX_RELATIVE_DIFFERENCE) for each in found)
    assert same, f"{sweep.name}, {sizes}: the sides differ: {answers}"
    size = getattr(sizes, sweep.axis)
    taken = {side: f"{each['seconds']:.5f} s" for side, each in answers.items()}
    print(f"{sweep.name}, {size:,}", taken, flush=True)


def _library_row(sweep: Sweep, side: str, points: Points) -> Sequence[object]:
    """Return the table row of a library: values at the largest size, and slopes."""
    seconds, megabytes = zip(*points[side], strict=True)
    label = f"{sweep.name}; {sweep.values[-1]:,}"
    ratio = seconds[-1] / points["seqloom"][-1].seconds
    time = (f"{1e3 * seconds[-1]:.4g}", f"{ratio:.2f}", *_slope_cells(sweep, seconds))
    if side == LOWER_BOUND:  # The memory of the lower bound is not measured.
        return label, side, *time, "", "", ""
    return label, side, *time, f"{megabytes[-1]:.0f}", *_slope_cells(sweep, megabytes)


def _slope_cells(sweep: Sweep, values: Sequence[float]) -> tuple[str, str]:
    """Return the slopes at the largest sizes and over all sizes."""
    last = growth_exponent(sweep.values, values, decades=FITTED_DECADES)
    return f"**{last:z.2f}**", f"{growth_exponent(sweep.values, values):z.2f}"
