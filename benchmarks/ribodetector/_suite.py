"""Time both commands in turns, compare their predictions, and write the table."""

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._measure import full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.ribodetector._commands import (
    CLOSE_LOGIT_DIFFERENCE,
    ProcessTimes,
    compare_predictions,
    export_network,
    find_network,
    run_ribodetector,
    run_seqloom,
)
from benchmarks.ribodetector._read_pairs import READ_LENGTH, write_pairs

PAIR_COUNT = int(os.environ.get("SEQLOOM_PAIRS", full_or_quick("50000", "8000")))
ROUNDS = 3
CHUNK_SIZES = (
    16,
    64,
    256,
)  # Chunk sizes in units of 1,024 reads; the fastest chunk size is measured.
TRIAL_PAIR_COUNT = 16_384  # Number of read pairs in trial runs.
REQUIRED_SPEEDS = {"default": 3.0, "best chunk": 2.0}
NOTES = f"""
The input is {PAIR_COUNT:,} pairs of reads of {READ_LENGTH} bases, half of them ribosomal.
Times are medians of {ROUNDS} runs of the whole process, with its default number of threads.
The published command writes ribosomal and other reads to separate files; `seqloom-run`
writes a table of scores.
"""
TABLE_COLUMNS = ("", "seconds", "CPU-seconds", "reads/s", "speed of seqloom-run")


def main() -> None:
    """Measure RiboDetector and the exported model on the same read pairs."""
    network = find_network()
    if network is None:
        print("ribodetector: skipped, `uv pip install --no-deps ribodetector` first")
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        model, pair = export_network(network, folder), write_pairs(folder, PAIR_COUNT)
        chunk = _choose_chunk_size(folder)
        costs = [
            _run_both_commands(model, pair, folder, chunk=chunk) for _ in range(ROUNDS)
        ]
        close, ribosomal = compare_predictions(folder, folder / "scores.tsv", PAIR_COUNT)
    text = f"{_command_table(costs, chunk)}\n\n{_compare_decisions(close, ribosomal)}"
    publish_section("ribodetector", text, notes=NOTES)


def _choose_chunk_size(folder: Path) -> int:
    """Return the chunk size with which RiboDetector is fastest."""
    trial = folder / "trial"
    trial.mkdir()
    pair = write_pairs(trial, min(PAIR_COUNT, TRIAL_PAIR_COUNT))
    seconds = {it: run_ribodetector(pair, trial, chunk=it).seconds for it in CHUNK_SIZES}
    print("chunks", seconds, flush=True)
    return min(seconds, key=seconds.__getitem__)


def _run_both_commands(
    model: Path, pair: tuple[Path, Path], folder: Path, *, chunk: int
) -> dict[str, ProcessTimes]:
    """Run both commands once."""
    found = {
        "default": run_ribodetector(pair, folder, chunk=None),
        "best chunk": run_ribodetector(pair, folder, chunk=chunk),
        "ours": run_seqloom(model, pair, folder / "scores.tsv"),
    }
    print(
        {side: (cost.seconds, cost.processor) for side, cost in found.items()}, flush=True
    )
    return found


def _command_table(costs: list[dict[str, ProcessTimes]], chunk: int) -> str:
    """Return a table row for each command, with medians over the rounds."""
    labels = {
        "default": "ribodetector_cpu",
        "best chunk": f"ribodetector_cpu --chunk_size {chunk}",
        "ours": "seqloom-run",
    }
    seconds = {side: median(it[side].seconds for it in costs) for side in labels}
    rows = [
        (
            label,
            f"{seconds[side]:.1f}",
            f"{median(it[side].processor for it in costs):.1f}",
            f"{2 * PAIR_COUNT / seconds[side]:,.0f}",
            _relative_speed(seconds, side),
        )
        for side, label in labels.items()
    ]
    return markdown_table(TABLE_COLUMNS, rows)


def _relative_speed(seconds: dict[str, float], side: str) -> str:
    """Return the speed relative to RiboDetector, and the required speed."""
    if side == "ours":
        return ""
    speed = seconds[side] / seconds["ours"]
    return f"**{speed:.1f}x** (required {REQUIRED_SPEEDS[side]:.0f}x)"


def _compare_decisions(close: int, ribosomal: int) -> str:
    """Return a sentence on how many predictions of both commands agree."""
    return (
        f"Both programs find {ribosomal:,} ribosomal pairs. The programs classify {close} "
        "pairs differently; only pairs with logits closer than "
        f"{CLOSE_LOGIT_DIFFERENCE:g} may differ.\n\n"
        f"{describe_machine('ribodetector', 'onnxruntime', 'seqloom')}"
    )
