"""Read whole .bed files into existing arrays and into new arrays."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal, TypeAlias

import numpy as np

from benchmarks._measure import full_or_quick, time_alternately
from benchmarks.bed import _readers
from benchmarks.bed._files import BedFile

Kind: TypeAlias = tuple[str, Literal["F", "C"]]

DTYPES_AND_ORDERS: tuple[Kind, ...] = (
    ("int8", "F"),
    ("int8", "C"),
    ("float32", "F"),
    ("float32", "C"),
    ("float64", "F"),
)
THREAD_COUNTS = (1, 2)
ROUNDS = full_or_quick(5, 3)
REUSED_MEMORY_COLUMNS = (
    "read the whole file into reused memory, ms",
    "seqloom",
    "bed_reader",
    "pgenlib",
    "NumPy",
    "bed_reader / seqloom",
    "pgenlib / seqloom",
)
NEW_MEMORY_COLUMNS = (
    "read the whole file into new memory, ms",
    "seqloom",
    "first touch only",
    "bed_reader",
    "seqloom / touch",
    "bed_reader / seqloom",
)


def time_reused_arrays(file: BedFile) -> list[Sequence[object]]:
    """Time all dtypes and orders; pgenlib and NumPy support one thread and one order."""
    return [
        _reused_array_row(file, kind, threads)
        for threads in THREAD_COUNTS
        for kind in DTYPES_AND_ORDERS
    ]


def time_new_arrays(file: BedFile) -> list[Sequence[object]]:
    """Time readers that allocate the result, so that times include clearing memory."""
    return [
        _new_array_row(file, (kind, "F"), threads)
        for threads in THREAD_COUNTS
        for kind in ("int8", "float32")
    ]


def _reused_array_row(file: BedFile, kind: Kind, threads: int) -> Sequence[object]:
    """Check that all readers agree, then time them in turns."""
    dtype, order = kind
    out = np.zeros(file.shape, dtype, order=order)
    sides = {
        "ours": _readers.open_with_seqloom(
            file, threads, dtype=dtype, order=order, out=out
        ),
        "bed_reader": _readers.open_with_bed_reader(
            file, threads, dtype=dtype, order=order
        ),
    }
    _check_equal_genotypes(sides["ours"], sides["bed_reader"])
    if order == "F" and threads == 1 and dtype != "float64":
        other = np.zeros(file.shape[::-1], dtype)
        sides["pgenlib"] = _readers.open_with_pgenlib(file, other)
        sides["NumPy"] = _readers.open_with_numpy(file, other)
        _check_equal_genotypes(lambda: sides["ours"]().T, sides["NumPy"])
        _check_equal_genotypes(
            lambda: sides["ours"]().T, lambda: _replace_missing_code(sides["pgenlib"]())
        )
    times = _median_milliseconds(sides)
    names = ("ours", "bed_reader", "pgenlib", "NumPy")
    ratios = [_format_ratio(times.get(name), times["ours"]) for name in names[1:3]]
    return [
        _row_label(file, kind, threads),
        *map(_format_time, map(times.get, names)),
        *ratios,
    ]


def _new_array_row(file: BedFile, kind: Kind, threads: int) -> Sequence[object]:
    """Time seqloom, bed_reader, and writing to new memory of the same size."""
    dtype, order = kind
    size = file.shape[0] * file.shape[1] * np.dtype(dtype).itemsize
    times = _median_milliseconds(
        {
            "ours": _readers.open_with_seqloom(file, threads, dtype=dtype, order=order),
            "touch": lambda: touch_new_memory(size, threads),
            "bed_reader": _readers.open_with_bed_reader(
                file, threads, dtype=dtype, order=order
            ),
        }
    )
    return [
        _row_label(file, kind, threads),
        *map(_format_time, times.values()),
        _format_ratio(times["ours"], times["touch"]),
        _format_ratio(times["bed_reader"], times["ours"]),
    ]


def touch_new_memory(size: int, threads: int) -> None:
    """Allocate memory, and write one byte to each page."""
    from concurrent.futures import ThreadPoolExecutor

    memory = np.empty(size, np.uint8)
    parts = np.array_split(memory, threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_touch_pages, parts))


def _touch_pages(part: np.ndarray) -> None:
    """Write one byte to each page of an array."""
    part[::4096] = 1


def _replace_missing_code(values: np.ndarray) -> np.ndarray:
    """Replace -9, the missing genotype of pgenlib, with -127 or NaN."""
    missing = -127 if values.dtype == np.int8 else np.nan
    return np.where(values == -9, values.dtype.type(missing), values)


def _check_equal_genotypes(
    one: Callable[[], np.ndarray], other: Callable[[], np.ndarray]
) -> None:
    """Raise if two readers return different genotypes."""
    assert np.array_equal(one(), other(), equal_nan=True), "the readers disagree"


def _median_milliseconds(sides: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median milliseconds of each library."""
    seconds = time_alternately(sides, rounds=ROUNDS)
    return {name: 1e3 * median(taken) for name, taken in seconds.items()}


def _row_label(file: BedFile, kind: Kind, threads: int) -> str:
    """Return the label of a table row: dtype, order and number of threads."""
    plural = "s" if threads > 1 else ""
    return f"{file} {kind[0]} {kind[1]}, {threads} thread{plural}"


def _format_time(milliseconds: float | None) -> str:
    """Format a time."""
    return "" if milliseconds is None else f"{milliseconds:.1f}"


def _format_ratio(above: float | None, below: float) -> str:
    """Format a ratio."""
    return "" if above is None else f"**{above / below:.2f}**"
