"""Run AdamW and Muon with one and with two threads, and write their tables."""

import os
from collections.abc import Iterator

from benchmarks._measure import run_module
from benchmarks._page import describe_machine, markdown_table, publish_section

LAYERS_BY_SIZE = {"7.4 M": 6, "50 M": 41}
ROUNDS, MUON_ROUNDS = 25, 9
TABLE_COLUMNS = ("ms", "seqloom", "torch", "seqloom / torch", "floor", "seqloom / floor")
NOTES = f"""
Each time is the shortest of {ROUNDS} eager steps (Muon: {MUON_ROUNDS}) with equal
gradients. Torch runs its fused AdamW. The floor of AdamW is its memory traffic, the floor
of Muon its matrix products in float32. Torch computes Muon in bfloat16.
"""


def main() -> None:
    """Measure both optimisers, and write the tables."""
    rows = [*_adamw_rows(), *_muon_rows()]
    publish_section(
        "optim",
        "\n\n".join(
            [
                markdown_table(TABLE_COLUMNS, rows),
                describe_machine("numpy", "torch", "seqloom"),
            ]
        ),
        notes=NOTES,
        shown=r"1 thread \|",
    )


def _adamw_rows() -> Iterator[list[str]]:
    for name, layers in LAYERS_BY_SIZE.items():
        for threads in (1, 2):
            yield _measure_optimizer(
                f"AdamW, {name} parameters", "adamw", layers, ROUNDS, threads
            )


def _muon_rows() -> Iterator[list[str]]:
    for threads in (1, 2):
        yield _measure_optimizer("Muon, 1280 x 320", "muon", MUON_ROUNDS, threads)


def _measure_optimizer(label: str, kind: str, *numbers: int) -> list[str]:
    """Measure one optimiser in a new process; the last argument is the thread count."""
    threads = numbers[-1]
    os.environ["OMP_NUM_THREADS"] = str(threads)
    found: dict[str, float] = run_module(
        "benchmarks.optim._worker", kind, *map(str, numbers)
    )
    ours, torchs, floor = (found[name] for name in ("ours", "torch", "floor"))
    print(label, threads, found, flush=True)
    return [
        f"{label}, {threads} thread{'s' * (threads > 1)}",
        f"{ours * 1e3:.1f}",
        f"{torchs * 1e3:.1f}",
        f"**{ours / torchs:.2f}**",
        f"{floor * 1e3:.1f}",
        f"{ours / floor:.2f}",
    ]
