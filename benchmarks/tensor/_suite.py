"""Measure each library in a separate process, in turn, and write the tables."""

from typing import Any

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.tensor._processes import (
    LibraryFailed,
    measure_memory,
    measure_speeds,
    median_step_ms,
)
from benchmarks.tensor._small_operations import small_operation_rows

THREAD_COUNTS = (1, 2)
ROUNDS = full_or_quick(
    {"MLP": 21, "SequenceCNN": 15, "DeepSEA": 5, "encoder": 5},
    {"MLP": 5, "SequenceCNN": 3},
)
TIMED_LIBRARIES = (
    "floor",
    "torch floor",
    "numpy",
    "numpy compiled",
    "torch eager",
    "torch.compile",
)
# A quick run excludes libraries that take longer to compile than to run.
TABLE_LIBRARIES = full_or_quick(
    (*TIMED_LIBRARIES, "jax.jit", "ours on torch compiled", "ours on jax compiled"),
    TIMED_LIBRARIES[:-1],
)
LIBRARIES_WITH_DROPOUT = ("numpy compiled", "torch eager")
TABLE_COLUMNS = ("network, threads", *TABLE_LIBRARIES)
RATIO_COLUMNS = (
    "network, threads",
    "numpy / torch eager",
    "compiled / torch eager",
    "compiled / torch eager, minus the floor",
    "on torch / torch.compile",
    "on jax / jax.jit",
)
TOLERANCE = 1e-5
NOTES = f"""
The tables have median milliseconds per training step: forward pass, backward pass, AdamW
(torch: `fused=True`) and reading the loss. All libraries start from equal weights, and
their first losses differ by less than {TOLERANCE:.0e}. The floors are the matrix products
of the step.
"""
# These tables are only in the CSV file: dropout, memory and small operations.
HIDDEN_ROWS_PATTERN = r"with dropout|memory that|^\|  \| seqloom"

Found = dict[str, dict[str, Any]]


def main() -> None:
    """Measure steps with and without dropout, their memory, and small operations."""
    runs = {
        (name, n): _time_networks(name, n, TABLE_LIBRARIES, 0.0)
        for name in ROUNDS
        for n in THREAD_COUNTS
    }
    for (name, threads), found in runs.items():
        _check_first_losses(f"{name} at {threads}", found)
    text = "\n\n".join(
        [
            markdown_table(
                TABLE_COLUMNS,
                [_step_time_row(*case, found) for case, found in runs.items()],
            ),
            markdown_table(
                RATIO_COLUMNS, [_ratio_row(*case, found) for case, found in runs.items()]
            ),
            _tabulate_dropout(),
            _tabulate_memory(),
            markdown_table(
                ("", "seqloom", "torch", "seqloom / torch"),
                [*small_operation_rows(), *_list_scaling_rows(runs)],
            ),
            describe_machine("numpy", "torch", "jax", "seqloom"),
        ]
    )
    publish_section(
        "tensor", text, notes=NOTES, shown=r", 1 \|", hidden=HIDDEN_ROWS_PATTERN
    )


def _time_networks(
    name: str, threads: int, sides: tuple[str, ...], dropout: float
) -> Found:
    options: Any = {"threads": threads, "dropout": dropout, "rounds": ROUNDS[name]}
    return measure_speeds(sides, name, **options)


def _check_first_losses(case: str, found: Found) -> None:
    """Raise unless the first losses of all libraries agree, as the weights are equal."""
    first = {
        side: each["losses"][0]
        for side, each in found.items()
        if "losses" in each and "floor" not in side
    }
    apart = max(first.values()) - min(first.values())
    assert apart < TOLERANCE, f"{case}: the sides do not compute the same: {first}"


def _step_time_row(name: str, threads: int, found: Found) -> list[str]:
    """Return a table row with the median milliseconds of a step in each library."""
    return [f"{name}, {threads}", *(_format_time(found[side]) for side in TABLE_LIBRARIES)]


def _format_time(found: dict[str, Any]) -> str:
    return f"{median_step_ms(found):.2f}" if "seconds" in found else "none"


def _ratio_row(name: str, threads: int, found: Found) -> list[str]:
    """Return a table row of time ratios; a ratio below 1 means that seqloom is faster."""
    above = _format_ratio(found, "numpy compiled", "torch eager", less="floor")
    return [
        f"{name}, {threads}",
        _format_ratio(found, "numpy", "torch eager"),
        _format_ratio(found, "numpy compiled", "torch eager"),
        above,
        _format_ratio(found, "ours on torch compiled", "torch.compile"),
        _format_ratio(found, "ours on jax compiled", "jax.jit"),
    ]


def _format_ratio(found: Found, one: str, other: str, *, less: str = "") -> str:
    """Return a ratio of median times after subtracting the time of `less` from both."""
    if not all("seconds" in found.get(side, {}) for side in (one, other)):
        return "none"
    floor = median_step_ms(found[less]) if less else 0.0
    left, right = median_step_ms(found[one]), median_step_ms(found[other])
    return f"**{(left - floor) / (right - floor):.2f}**"


def _tabulate_dropout() -> str:
    """Return the table of training steps with a dropout rate of 0.1."""
    rows = list[list[str]]()
    for name in ROUNDS:
        for threads in THREAD_COUNTS:
            found = _time_networks(name, threads, LIBRARIES_WITH_DROPOUT, 0.1)
            times = [_format_time(found[side]) for side in LIBRARIES_WITH_DROPOUT]
            rows.append(
                [
                    f"{name}, {threads}",
                    *times,
                    _format_ratio(found, *LIBRARIES_WITH_DROPOUT),
                ]
            )
    return markdown_table(("with dropout 0.1", *LIBRARIES_WITH_DROPOUT, "ratio"), rows)


def _tabulate_memory() -> str:
    """Return the table of peak memory that ten steps add, in megabytes."""
    sides = ("numpy", "numpy compiled", "torch eager")
    rows = [
        [name, *(_measure_memory_growth(side, name) for side in sides)] for name in ROUNDS
    ]
    return markdown_table(("memory that ten steps add, MB", *sides), rows)


def _measure_memory_growth(side: str, name: str) -> str:
    try:
        return f"{measure_memory(side, name, THREAD_COUNTS[0]) / 1e6:.1f}"
    except LibraryFailed as failure:
        return str(failure)


def _list_scaling_rows(runs: dict[tuple[str, int], Found]) -> list[list[str]]:
    """Return a table row with the speed-up of the encoder by a second thread.

    The result is empty if the encoder was not measured.
    """
    if "encoder" not in ROUNDS:
        return []
    one, two = (runs["encoder", threads] for threads in THREAD_COUNTS)
    shares = [
        f"{median_step_ms(two[side]) / median_step_ms(one[side]):.2f}"
        if "seconds" in one[side] and "seconds" in two[side]
        else "none"
        for side in ("numpy compiled", "torch eager")
    ]
    return [["encoder's step, 2 threads / 1", *shares, ""]]
