"""Compares training steps of seqloom and PyTorch on a GPU, and times the data loader."""

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks._page import markdown_table
from benchmarks.gpu._device import peak_memory_increase, reset_peak_memory
from benchmarks.gpu._results import Result, Results
from benchmarks.tensor._networks import MeasurementSetup

STEP, WAIT = "training step", "training wait share"
SYNCHRONISATION_RESULT = "training synchronisation"
OURS, TORCH = "ours on torch", "torch eager"
# Network -> samples per batch and sequence length, on a GPU and in a tiny run.
ROWS_AND_LENGTHS = {
    "SequenceCNN": (4096, 200),
    "encoder": (64, 256),
    "dilated": (256, 2114),
}
TINY_ROWS_AND_LENGTHS = {"SequenceCNN": (8, 40), "encoder": (1, 16), "dilated": (2, 64)}
# The network that is compiled first, on a GPU and in a tiny run.
FIRST_COMPILED_NETWORKS = ("dilated", "SequenceCNN")
NETWORK_WITH_LOADER = "SequenceCNN"  # Steps are short, so the GPU waits longest for data.
# Largest relative difference between the losses of two libraries.
TOLERANCES = {"bfloat16": 2e-2, "float32": 1e-3}
# Maximum seconds of each measurement, on a GPU and in a tiny run.
EAGER_SECONDS, COMPILED_SECONDS, WAIT_SECONDS = (8.0, 2.0), (70.0, 20.0), (18.0, 2.0)
# Number of rounds on a GPU and in a tiny run; seconds per round; steps to warm up.
ROUNDS, ROUND_SECONDS, WARM_UP_STEPS = (5, 2), 0.2, 3

Sides = dict[str, dict[str, Any]]  # library -> measurements by name


def run_benchmark(results: Results) -> None:
    """Run all measurements of training, the most important first."""
    from benchmarks.gpu._training_loops import measure_compiled, measure_waits

    _turn_tf32_off()
    compiled_first = FIRST_COMPILED_NETWORKS[results.is_tiny]
    eager = "eager steps", _measure_eager, EAGER_SECONDS
    compiled = "compiled steps", measure_compiled, COMPILED_SECONDS
    items = [
        *((*eager, name, "bfloat16") for name in ROWS_AND_LENGTHS),
        (*compiled, compiled_first, "bfloat16"),
        ("wait share", measure_waits, WAIT_SECONDS, NETWORK_WITH_LOADER, "bfloat16"),
        *((*eager, name, "float32") for name in ROWS_AND_LENGTHS),
    ]
    if not results.is_tiny:  # one compiled network shows that the code works
        rest = [name for name in ROWS_AND_LENGTHS if name != compiled_first]
        items += [(*compiled, name, "bfloat16") for name in rest]
    for item, measure, seconds, name, dtype in items:
        results.attempt(
            f"training, {item} of {name} in {dtype}",
            partial(measure, results, _make_setup(results, name, dtype)),
            seconds=seconds[results.is_tiny],
        )


def _turn_tf32_off() -> None:
    """Compute float32 products without TF32 in all libraries."""
    import torch

    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def _make_setup(results: Results, name: str, dtype: str) -> MeasurementSetup:
    rows, length = (TINY_ROWS_AND_LENGTHS if results.is_tiny else ROWS_AND_LENGTHS)[name]
    return MeasurementSetup(
        name=name, device=results.device, dtype=dtype, rows=rows, length=length
    )


def _measure_eager(results: Results, setup: MeasurementSetup) -> None:
    """Time eager steps of seqloom and PyTorch alternately, and compare their losses."""
    from benchmarks._measure import time_alternately
    from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY
    from benchmarks.tensor._networks import draw_batch

    learners, sides = dict[str, Any](), Sides()
    arrays = draw_batch(setup.network)
    for name in (TORCH, OURS):
        start = reset_peak_memory(setup.device)
        learner = BUILDER_OF_LIBRARY[name](setup)
        batch = learner.prepare_batch(arrays)
        losses = [learner.step(batch) for _ in range(WARM_UP_STEPS)]
        peak = peak_memory_increase(start, setup.device)
        sides[name] = {"losses": losses, "seconds": [], "peak_bytes": peak}
        learners[name] = learner, batch
    steps = 1 if results.is_tiny else _count_steps(*learners[TORCH])
    works = {
        name: partial(_run_steps, learner, batch, steps)
        for name, (learner, batch) in learners.items()
    }
    for name, seconds in time_alternately(works, rounds=ROUNDS[results.is_tiny]).items():
        sides[name]["seconds"] = [total / steps for total in seconds]
    write_step(results, setup, sides, mode="eager", pair=(OURS, TORCH))
    _find_synchronisation(results, setup, learners)


def _run_steps(learner: Any, batch: Any, steps: int) -> None:
    """Run training steps without reading the losses, then wait for the GPU."""
    for _ in range(steps):
        learner.start_step(batch)
    learner.wait_for_device()


def _count_steps(learner: Any, batch: Any) -> int:
    """Return the number of steps that take about `ROUND_SECONDS`."""
    _run_steps(learner, batch, 3)
    start = perf_counter()
    _run_steps(learner, batch, 3)
    return max(3, round(3 * ROUND_SECONDS / (perf_counter() - start)))


def write_step(
    results: Results,
    setup: MeasurementSetup,
    sides: Sides,
    *,
    mode: str,
    pair: tuple[str, str],
) -> None:
    """Write the measurements of two libraries, and whether their losses agree."""
    rows = setup.network.rows
    ours, theirs = (sides[name] for name in pair)
    for side in (ours, theirs):
        if seconds := side.get("seconds"):
            side["samples_per_second"] = rows / median(seconds)
            side["spread"] = (max(seconds) - min(seconds)) / median(seconds)
    fields: dict[str, Any] = {
        "network": setup.name,
        "dtype": setup.dtype,
        "mode": mode,
        "rows": rows,
        "length": setup.network.length,
        "sides": {name: sides[name] for name in pair},
    }
    for key in ("failed", "skipped"):
        causes = [f"{name}: {sides[name][key]}" for name in pair if key in sides[name]]
        if causes:
            results.add(STEP, **fields, **{key: "; ".join(causes)})
            return
    difference = _compare_losses(ours["losses"], theirs["losses"])
    fields["ratio"] = median(ours["seconds"]) / median(theirs["seconds"])
    fields |= {"difference": difference, "tolerance": TOLERANCES[setup.dtype]}
    # `not <`, so that a NaN fails too
    if not difference < TOLERANCES[setup.dtype]:
        fields["failed"] = "the losses of the first steps differ"
    results.add(STEP, **fields)


def _compare_losses(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the largest difference between losses, relative to the first loss."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / abs(theirs[0])


def _find_synchronisation(
    results: Results, setup: MeasurementSetup, learners: dict[str, Any]
) -> None:
    """Write for each library whether a training step waits for the GPU."""
    import torch

    if setup.device == "cpu":
        what = f"{SYNCHRONISATION_RESULT} of {setup.name} in {setup.dtype}"
        results.skip(what, "torch finds synchronisation on CUDA only")
        return
    fields: dict[str, Any] = {"network": setup.name, "dtype": setup.dtype}
    fields["is_detected"] = bool(_explain_wait(torch.ones(1, device=setup.device).item))
    for name, (learner, batch) in learners.items():
        message = _explain_wait(partial(learner.start_step, batch))
        fields[name] = {"synchronises": bool(message), "message": message}
    results.add(SYNCHRONISATION_RESULT, **fields)


def _explain_wait(work: Callable[[], object]) -> str:
    """Return the lines of code at which `work` waits for the GPU."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError as error:
        if "synchroniz" not in str(error):
            raise
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        places = " > ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
        return f"{str(error).partition(chr(10))[0]} ({places})"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return ""


STEP_COLUMNS = (
    "network",
    "type",
    "side",
    "samples/s",
    "spread",
    "peak memory",
    "seconds to compile",
    "time / ours",
    "difference of losses",
)
STEP_TEXT_COLUMNS = ("type", "side", "difference of losses")
WAIT_COLUMNS = (
    "network",
    "threads",
    "waiting for input",
    "copying to the device",
    "samples/s",
    "samples",
)
NOTES = f"""
Samples a second are medians of {ROUNDS[0]} rounds in which the sides take turns; the
spread is the range of the rounds' times relative to their median. The ratio is a side's
time relative to ours in the row above: above 1, seqloom is faster. Peak memory of eager
steps is what torch allocates, with the weights. That of compiled steps is what torch
reserves, or what JAX has in use, because each side runs in its own process. Compiled
steps of seqloom on a GPU use CUDA graphs (``mode="reduce-overhead"``); torch.compile has
its default mode. The losses are those of the first {WARM_UP_STEPS} steps; their greatest
difference is relative to the first loss.
"""


def make_tables(results: Sequence[Result]) -> list[str]:
    """Return the tables of training steps and of waiting times, with notes."""
    steps = [row for it in results if it["what"] == STEP for row in _step_rows(it)]
    waits = [_wait_row(it) for it in results if it["what"] == WAIT]
    lines = [_describe_wait(it) for it in results if it["what"] == SYNCHRONISATION_RESULT]
    texts: list[str] = []
    if steps:
        texts += [
            markdown_table(STEP_COLUMNS, steps, texts=STEP_TEXT_COLUMNS),
            " ".join(NOTES.split()),
        ]
    if waits:
        texts.append(markdown_table(WAIT_COLUMNS, waits))
    if lines:
        texts.append("\n".join(lines))
    return texts


def _step_rows(result: Result) -> list[list[str]]:
    """Return a table row for each of two libraries; seqloom comes first."""
    network = f"{result['network']}, {result['rows']:,} x {result['length']:,}"
    computation = f"{result['dtype']}, {result['mode']}"
    return [
        [
            network,
            computation,
            name,
            *_library_cells(side),
            *_comparison_cells(result, is_ours=not row),
        ]
        for row, (name, side) in enumerate(result["sides"].items())
    ]


def _library_cells(side: dict[str, Any]) -> list[str]:
    """Return speed, spread, memory and compile time of a library; "" if not measured."""
    if "samples_per_second" not in side:
        return ["none", "", "", ""]
    peak, compiling = side.get("peak_bytes"), side.get("compile_seconds")
    return [
        f"{side['samples_per_second']:,.0f}",
        f"{100 * side['spread']:.0f} %",
        f"{peak / 2**20:,.0f} MiB" if peak else "",
        f"{compiling:.1f}" if compiling else "",
    ]


def _comparison_cells(result: Result, *, is_ours: bool) -> list[str]:
    """Return two table cells: a ratio of times or a difference of losses, and ""."""
    if "ratio" not in result:
        return ["", ""]
    if not is_ours:
        return [f"**{1 / result['ratio']:.2f}**", ""]
    verdict = "too large" if "failed" in result else "within"
    return ["", f"{result['difference']:.1e}, {verdict} ({result['tolerance']:.0e})"]


def _wait_row(result: Result) -> list[str]:
    return [
        f"{result['network']}, {result['rows']:,} x {result['length']:,}",
        f"{result['threads']}",
        f"{100 * result['share']:.2f} %",
        f"{100 * result['copy_share']:.2f} %",
        f"{result['samples_per_second']:,.0f}",
        f"{result['samples']:,}",
    ]


def _describe_wait(result: Result) -> str:
    """Return a line that reports whether a step of each library waits for the GPU."""
    step = f"- A step of {result['network']} in {result['dtype']}"
    if not result["is_detected"]:
        return f"{step}: torch detects no wait for the GPU here, so none was searched for."
    sides = {name: it for name, it in result.items() if isinstance(it, dict)}
    answers = [
        f"{name}: {'yes, ' + side['message'] if side['synchronises'] else 'no'}"
        for name, side in sides.items()
    ]
    return f"{step} waits for the GPU: {'; '.join(answers)}."
