"""Run each library in new processes, with empty and with filled caches."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._measure import pick, run_module
from benchmarks._page import machine, publish, table
from benchmarks.tensor._networks import ON_PROCESSORS

# Rounds per library; torch has only one, because it takes up to a minute to compile.
SIDES = {"numpy compiled": 3, "torch.compile": 1, "jax.jit": 1}
NETWORKS = pick(ON_PROCESSORS, ("MLP",))
SIZES = {"chain": (1250, 5000), "optimizer": (1000, 4000)}
ROUNDS = 3
Calls = dict[str, float]
NOTES = """
The table has the additional seconds of the first call of a compiled training step,
compared with a later call. Each process is new, with empty caches, one thread and dropout
0.1. The columns "again" are from a second process, which uses the cached files; seqloom
caches no files. The floor is the time to trace the step with symbolic values.
"""


def main() -> None:
    """Measure the first calls, and write both tables."""
    with _compiled_sources():
        rows = [
            _row(network, {side: _calls(side, network) for side in SIDES})
            for network in NETWORKS
        ]
    head = [
        *("added by the first call, s", "floor: trace", "plan"),
        *(
            "seqloom",
            "torch.compile",
            "torch again",
            "jax.jit",
            "jax again",
        ),
    ]
    rounds = ", ".join(f"{rounds} ({side})" for side, rounds in SIDES.items())
    story = f"Times are medians; rounds: {rounds}."
    text = [
        table(head, rows),
        _growth(),
        story,
        machine("numpy", "torch", "jax", "seqloom"),
    ]
    publish("compile", "\n\n".join(text), notes=NOTES, hidden="grows")


@contextmanager
def _compiled_sources() -> Generator[None]:
    """Let Python cache compiled sources, as after an installation."""
    before = dict(os.environ)
    with TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        for side in SIDES:
            run_module("benchmarks.first_call._worker", side, "MLP", f"{folder}/caches")
        yield
    os.environ.clear()
    os.environ.update(before)


def _calls(side: str, network: str) -> tuple[list[Calls], list[Calls]]:
    """Return the results of a library with empty and then with filled caches."""
    cold: list[Calls] = []
    warm: list[Calls] = []
    for _ in range(SIDES[side]):
        with TemporaryDirectory() as folder:
            for found in (cold, warm):
                found.append(
                    run_module("benchmarks.first_call._worker", side, network, folder)
                )
    return cold, warm


def _row(network: str, calls: dict[str, tuple[list[Calls], list[Calls]]]) -> list[str]:
    """Return the table row of one network."""
    ours = [*calls["numpy compiled"][0], *calls["numpy compiled"][1]]
    row = [_middle(ours, "trace"), _middle(ours, "plan"), _added(ours)]
    others = [pair for side, pair in calls.items() if side != "numpy compiled"]
    row += [_added(each) for pair in others for each in pair]
    return [network, *(f"{each:.3f}" for each in row)]


def _middle(calls: Sequence[Calls], name: str) -> float:
    """Return the median of one measurement over all rounds."""
    return median([each[name] for each in calls])


def _added(calls: Sequence[Calls]) -> float:
    """Return the median seconds that the first call adds to a later call."""
    return median([each["first"] - each["later"] for each in calls])


def _growth() -> str:
    """Return a table of sizes and seconds.

    A size that is four times as large should take four times as long.
    """
    named = {
        "chain": "a chain of `x * a + b`, rounds: compiling and the first call",
        "optimizer": "AdamW's first step, parameters",
    }
    rows = [[named[kind], *_sizes(kind)] for kind in SIZES]
    return table(("grows", "of", "s", "of", "s", "ratio (floor: 4)"), rows)


def _sizes(kind: str) -> list[str]:
    """Return the shortest seconds for both sizes in new processes, and their ratio."""
    seconds: dict[int, list[float]] = {size: [] for size in SIZES[kind]}
    for _ in range(ROUNDS):
        for size, found in seconds.items():
            found.append(run_module("benchmarks.first_call._growth", kind, str(size)))
    (few, short), (many, long) = ((size, min(found)) for size, found in seconds.items())
    return [f"{few:,}", f"{short:.3f}", f"{many:,}", f"{long:.3f}", f"{long / short:.1f}"]
