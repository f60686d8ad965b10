"""Run each library in new processes, with empty and with filled caches."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._measure import full_or_quick, run_module
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.tensor._networks import CPU_NETWORKS

# Number of rounds per library. Torch has only one round, because it takes up to a
# minute to compile.
ROUNDS_BY_LIBRARY = {"numpy compiled": 3, "torch.compile": 1, "jax.jit": 1}
NETWORKS = full_or_quick(CPU_NETWORKS, ("MLP",))
CHAIN_AND_MODEL_SIZES = {"chain": (1250, 5000), "optimizer": (1000, 4000)}
ROUNDS = 3
CallSeconds = dict[str, float]
NOTES = """
The table has the additional seconds of the first call of a compiled training step,
compared with a later call. Each process is new, with empty caches, one thread and dropout
0.1. The columns "again" are from a second process, which uses the cached files; seqloom
caches no files. The floor is the time to trace the step with symbolic values.
"""


def main() -> None:
    """Measure the first calls, and write both tables."""
    with _cache_compiled_sources():
        rows = [
            _network_row(
                network, {side: _measure_calls(side, network) for side in ROUNDS_BY_LIBRARY}
            )
            for network in NETWORKS
        ]
    head = [
        *("seconds added by the first call", "floor: trace", "plan"),
        *(
            "seqloom",
            "torch.compile",
            "torch again",
            "jax.jit",
            "jax again",
        ),
    ]
    rounds = ", ".join(f"{rounds} ({side})" for side, rounds in ROUNDS_BY_LIBRARY.items())
    story = f"Times are medians; rounds: {rounds}."
    text = [
        markdown_table(head, rows),
        _growth_table(),
        story,
        describe_machine("numpy", "torch", "jax", "seqloom"),
    ]
    publish_section("compile", "\n\n".join(text), notes=NOTES, hidden="grows")


@contextmanager
def _cache_compiled_sources() -> Generator[None]:
    """Let Python cache compiled sources, as after an installation."""
    before = dict(os.environ)
    with TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        for side in ROUNDS_BY_LIBRARY:
            run_module("benchmarks.first_call._worker", side, "MLP", f"{folder}/caches")
        yield
    os.environ.clear()
    os.environ.update(before)


def _measure_calls(side: str, network: str) -> tuple[list[CallSeconds], list[CallSeconds]]:
    """Return the results of a library with empty and then with filled caches."""
    cold: list[CallSeconds] = []
    warm: list[CallSeconds] = []
    for _ in range(ROUNDS_BY_LIBRARY[side]):
        with TemporaryDirectory() as folder:
            for found in (cold, warm):
                found.append(
                    run_module("benchmarks.first_call._worker", side, network, folder)
                )
    return cold, warm


def _network_row(
    network: str, calls: dict[str, tuple[list[CallSeconds], list[CallSeconds]]]
) -> list[str]:
    """Return the table row of one network."""
    ours = [*calls["numpy compiled"][0], *calls["numpy compiled"][1]]
    row = [
        _median_seconds(ours, "trace"),
        _median_seconds(ours, "plan"),
        _added_seconds(ours),
    ]
    others = [pair for side, pair in calls.items() if side != "numpy compiled"]
    row += [_added_seconds(each) for pair in others for each in pair]
    return [network, *(f"{each:.3f}" for each in row)]


def _median_seconds(calls: Sequence[CallSeconds], name: str) -> float:
    """Return the median of one measurement over all rounds."""
    return median([each[name] for each in calls])


def _added_seconds(calls: Sequence[CallSeconds]) -> float:
    """Return by how many seconds the first call is longer than a later call (median)."""
    return median([each["first"] - each["later"] for each in calls])


def _growth_table() -> str:
    """Return a table of sizes and seconds.

    If the time grows linearly, four times the size takes four times as long.
    """
    named = {
        "chain": "a chain of `x * a + b`, rounds: compiling and the first call",
        "optimizer": "AdamW's first step, parameters",
    }
    rows = [[named[kind], *_time_both_sizes(kind)] for kind in CHAIN_AND_MODEL_SIZES]
    return markdown_table(("grows", "of", "s", "of", "s", "ratio (floor: 4)"), rows)


def _time_both_sizes(kind: str) -> list[str]:
    """Return the shortest seconds for both sizes in new processes, and their ratio."""
    seconds: dict[int, list[float]] = {size: [] for size in CHAIN_AND_MODEL_SIZES[kind]}
    for _ in range(ROUNDS):
        for size, found in seconds.items():
            found.append(run_module("benchmarks.first_call._growth", kind, str(size)))
    (few, short), (many, long) = ((size, min(found)) for size, found in seconds.items())
    return [f"{few:,}", f"{short:.3f}", f"{many:,}", f"{long:.3f}", f"{long / short:.1f}"]
