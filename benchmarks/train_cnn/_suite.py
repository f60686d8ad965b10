"""Run each measurement in its own process, and write the table."""

from statistics import median
from typing import Any

from benchmarks._measure import run_module
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.train_cnn._lower_bounds import lower_bound_ms
from benchmarks.train_cnn._setup import BATCH_SIZE, EPOCHS, prepare_data

THREAD_COUNTS = (1, 2)
NOTES = f"""
A step of the demo's network consists of forward pass, backward pass, AdamW (torch:
`fused=True`) and reading the loss. Batches have {BATCH_SIZE} windows, which are already in
memory.
"""
TABLE_COLUMNS = ("threads", "", "seqloom", "torch eager", "seqloom / torch")


def main() -> None:
    """Measure time and memory at one and two threads."""
    config, _ = prepare_data()
    rows, apart = list[Any](), 0.0
    for threads in THREAD_COUNTS:
        speed = run_module("benchmarks.train_cnn._speed", str(threads))
        apart = max(apart, speed["apart"])
        rows += [*_time_rows(threads, speed), _memory_row(threads)]
    floors = " and ".join(
        f"{lower_bound_ms(config, n):.2f} ms with {n}" for n in THREAD_COUNTS
    )
    measured = markdown_table(TABLE_COLUMNS, rows, texts=("",))
    text = f"{measured}\n\n{_describe_lower_bounds(apart, floors)}"
    publish_section("train_cnn", text, notes=NOTES, shown=r"^\| 1 \|")


def _time_rows(threads: int, speed: dict[str, Any]) -> list[tuple[object, ...]]:
    """Return table rows with the median step time and the total time of both libraries."""
    ours, theirs = speed["seconds"].values()
    step = [1000 * median(times) / speed["steps"] for times in (ours, theirs)]
    total = [float(sum(ours)), float(sum(theirs))]
    return [
        (threads, "step, median over epochs, ms", *_cells_with_ratio(step)),
        (threads, f"{EPOCHS} epochs, s", *_cells_with_ratio(total)),
    ]


def _memory_row(threads: int) -> tuple[object, ...]:
    """Return a table row with the memory that ten training steps use in a new process."""
    module = "benchmarks.train_cnn._memory"
    grown = [
        float(run_module(module, side, str(threads))) / 1e6 for side in ("seqloom", "torch")
    ]
    return (threads, "memory that ten steps add, MB", *_cells_with_ratio(grown))


def _cells_with_ratio(pair: list[float]) -> tuple[str, str, str]:
    return f"{pair[0]:.2f}", f"{pair[1]:.2f}", f"**{pair[0] / pair[1]:.2f}**"


def _describe_lower_bounds(apart: float, floors: str) -> str:
    """Return a note with the largest difference of losses, and the lower bounds."""
    return (
        f"With equal initial weights and no dropout, the losses of the first epoch differ "
        f"by at most {apart:.0e}. The matrix products of the convolutions alone take "
        f"{floors} threads.\n\n{describe_machine('numpy', 'torch', 'seqloom')}"
    )
