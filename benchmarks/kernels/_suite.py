"""Time all kernels of each library in turn, and write the tables."""

from statistics import geometric_mean

import numpy as np

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.kernels._cases import KERNEL_FAMILIES, KernelCase, make_kernel_cases
from benchmarks.kernels._processes import KERNEL_LIBRARIES, KernelProcess

ROUNDS = full_or_quick(7, 3)
# Seconds per measurement, and maximum number of calls.
SECONDS, MOST = 0.01, 500
# Largest accepted difference, relative to the largest result. For random numbers, the
# tolerance covers the sampling error of mean and deviation.
TOLERANCES = {"float32": 1e-4, "float64": 1e-10, "random": 0.02}
# The page shows only the rows of the geometric means; other rows are in the CSV file.
MEANS, HIDDEN = r"^\| [a-z0-9 ]+ \| \*", r"microseconds, two threads|mean of the ratios"
NOTES = """
Each time is the shortest of all rounds, and includes the allocation of the result. The
floor is the slower of two torch operations: copying the same number of bytes, or a matrix
product with the same number of operations. Names of rows contain the sizes. For encoding,
torch does not check for invalid characters.
"""
LABEL_OF_THREAD_COUNT = {1: "one thread", 2: "two threads"}
TABLE_COLUMNS = (
    "minimum time, microseconds",
    *KERNEL_LIBRARIES,
    "floor",
    "seqloom / faster of torch",
)


def main() -> None:
    """Measure every kernel with one thread and with two threads."""
    rows = {threads: _measure_kernels(threads) for threads in LABEL_OF_THREAD_COUNT}
    tables = [
        markdown_table(
            (f"{TABLE_COLUMNS[0]}, {LABEL_OF_THREAD_COUNT[it]}", *TABLE_COLUMNS[1:]),
            rows[it],
        )
        for it in rows
    ]
    means = [
        [name, *(_mean_ratio(name, rows[threads]) for threads in LABEL_OF_THREAD_COUNT)]
        for name in dict.fromkeys(map(_kernel_name, rows[1]))
    ]
    head = ("geometric mean of the ratios", *LABEL_OF_THREAD_COUNT.values())
    text = [
        *tables,
        markdown_table(head, means),
        describe_machine("numpy", "torch", "seqloom"),
    ]
    publish_section("kernels", "\n\n".join(text), notes=NOTES, shown=MEANS, hidden=HIDDEN)


def _measure_kernels(threads: int) -> list[list[str]]:
    """Return one table row for each kernel."""
    sides = {name: KernelProcess(name, threads) for name in KERNEL_LIBRARIES}
    try:
        return [_kernel_row(case, sides) for case in make_kernel_cases()]
    finally:
        for side in sides.values():
            side.close()


def _kernel_row(case: KernelCase, sides: dict[str, KernelProcess]) -> list[str]:
    """Return a kernel's table row, with the shortest time of a call in each library."""
    taking = [
        each for each in sides.values() if case.is_fused or "compile" not in each.name
    ]
    _check_results(case, [each.set_case(case) for each in taking])
    times = max(1, min(MOST, int(SECONDS / sides["seqloom"].measure_call(1))))
    rounds = [[each.measure_call(times) for each in taking] for _ in range(ROUNDS)]
    least = [1e6 * min(each) for each in zip(*rounds, strict=True)]
    floor = 1e6 * sides["torch"].measure_lower_bound()
    ratio = least[0] / min(least[1:])
    print(f"{ratio:5.2f} {case.label}", *map(round, least), round(floor), flush=True)
    spoken = [f"{each:.0f}" for each in least] + ["none"] * (
        len(KERNEL_LIBRARIES) - len(least)
    )
    return [case.label, *spoken, f"{floor:.0f}", f"**{ratio:.2f}**"]


def _check_results(case: KernelCase, found: list[list[list[float]]]) -> None:
    """Raise if the libraries computed different results."""
    agreed = TOLERANCES["random" if case.is_random else case.dtype]
    first, *others = found
    for other in others:
        for one, two in zip(first, other, strict=True):
            apart = np.max(np.abs(np.subtract(one, two))) / (np.max(np.abs(two)) + 1e-30)
            assert apart < agreed, f"{case.label}: the sides differ by {apart:.1e}"


def _kernel_name(row: list[str]) -> str:
    """Return the kernel name of a table row; gradients and variants have the same name."""
    names = (name.replace("_", " ") for name in KERNEL_FAMILIES)
    return next(name for name in names if row[0].startswith(name))


def _mean_ratio(name: str, rows: list[list[str]]) -> str:
    """Return the geometric mean of a kernel's time ratios, including its variants."""
    ratios = [float(row[-1].strip("*")) for row in rows if _kernel_name(row) == name]
    return f"**{geometric_mean(ratios):.2f}**"
