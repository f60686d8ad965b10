"""Time two parts of a step: a recorded addition, and dropout."""

from statistics import median
from typing import Any

from benchmarks._measure import run_module

WORKER_MODULE = "benchmarks.tensor._one_call"


def small_operation_rows() -> list[list[str]]:
    """Return a table row for addition and dropout: seqloom, PyTorch and their ratio."""
    tape, mask = run_module(WORKER_MODULE, "tape"), run_module(WORKER_MODULE, "dropout")
    over = f"{1e6 * tape['over'][0]:.2f} over NumPy's own"
    return [
        _small_operation_row(f"a recorded 8 x 8 addition, microseconds; {over}", tape, 1e6),
        _small_operation_row("dropout of 2,621,440 numbers, ms", mask, 1e3),
    ]


def _small_operation_row(name: str, found: dict[str, Any], scale: float) -> list[str]:
    ours, theirs = (scale * median(found[side]) for side in ("ours", "torch"))
    return [name, f"{ours:.2f}", f"{theirs:.2f}", f"**{ours / theirs:.2f}**"]
