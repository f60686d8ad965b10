"""Embeddings by networks of ESM-2's shapes with random weights, in turns with rivals."""

import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._measure import interleave
from benchmarks._page import table
from benchmarks.gpu._card import SQUARE, find_peak, measure_rate, peak_since, start_peak
from benchmarks.gpu._results import Results
from benchmarks.gpu._sides import BUDGET, OURS, Case, make_sides
from benchmarks.infer._inputs import SHAPES, mix, write_network
from benchmarks.infer._whole import run_loop

# What is measured, the most important first; the seconds that it is expected to take.
CASES = (
    ("650M", "bfloat16", 70),
    ("150M", "bfloat16", 25),
    ("650M", "float16", 40),
    ("35M", "bfloat16", 15),
    ("8M", "bfloat16", 15),
    ("150M", "float32", 40),
)
TINY = (("8M", "float32", 30),)
PROTEINS, LOOP, FEW = 1_000, 5_000, 4
ROUNDS = 5
# Least cosine of a protein's mean states between two sides.
LEAST = {"float32": 0.9999, "float16": 0.99, "bfloat16": 0.99}


def run(results: Results) -> None:
    """Measures one case after another while there is time."""
    for size, dtype, seconds in TINY if results.is_tiny else CASES:
        what = f"{size}, {dtype}"
        if results.seconds_left() < seconds:
            results.skip(what, f"{results.seconds_left():.0f} s were left")
            continue
        with TemporaryDirectory() as folder:
            network = Path(folder, "network")
            records = mix(FEW if results.is_tiny else PROTEINS)
            try:
                write_network(size, network, device=results.device, dtype=dtype)
                _measure(results, Case(size, results.device, dtype, network, records))
            except Exception as problem:  # noqa: BLE001 - other cases may still work
                results.add(what, failed=repr(problem))


def _measure(results: Results, case: Case) -> None:
    """One network in one type: the sides in turns, then the whole loop."""
    sides = make_sides(case)
    peaks, cosines = _run_once(sides, case)
    rate = measure_rate(case.device, case.dtype)
    seconds = interleave(sides, rounds=2 if results.is_tiny else ROUNDS)
    del sides
    _free(case.device)
    common = {"size": case.size, "dtype": case.dtype, "product_rate": rate}
    for side, each in seconds.items():
        results.add(
            "inference",
            **common,
            **_count_work(case),
            side=side,
            seconds=each,
            peak=peaks[side],
            cosine=cosines[side],
            ok=cosines[side] >= LEAST[case.dtype],
        )
    case = case._replace(records=mix(FEW if results.is_tiny else LOOP))
    folder = case.folder.parent
    summary = run_loop(case.load_ours(), case.records, folder, max_tokens=BUDGET)
    results.add(
        "loop",
        **common,
        **_count_work(case),
        seconds=summary.seconds,
        shares=dict(summary.shares),
        verdict=summary.verdict,
    )
    _free(case.device)


def _free(device: str) -> None:
    """Gives the memory of networks that are no longer used back to the device."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def _run_once(
    sides: Mapping[str, Any], case: Case
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The peak memory of each side beyond its weights, and its agreement with ours."""
    lengths = [len(ids) for ids in case.records]
    peaks: dict[str, Any] = {}
    means: dict[str, Any] = {}
    for name, work in sides.items():
        start = start_peak(case.device)
        states = work()
        peaks[name] = peak_since(start, case.device)
        means[name] = _mean_states(states, lengths)
    cosines = {
        name: float((each * means[OURS]).sum(1).min()) for name, each in means.items()
    }
    return peaks, cosines


def _mean_states(states: Sequence[Any], lengths: Sequence[int]) -> Any:
    """The mean state of each protein, scaled to length 1."""
    import torch

    rows = torch.cat(list(states)).float()
    sizes = torch.tensor(lengths, device=rows.device)
    means: Any = torch.segment_reduce(rows, "mean", lengths=sizes)
    return torch.nn.functional.normalize(means).cpu().numpy()


def _count_work(case: Case) -> dict[str, float]:
    """Tokens without padding, and the operations of all products over them."""
    layers, width, _ = SHAPES[case.size]
    lengths = np.array([len(ids) for ids in case.records], float)
    linear = 2 * (4 + 8) * width**2 * lengths.sum()
    attention = 4 * width * (lengths**2).sum()
    return {"tokens": lengths.sum(), "operations": layers * (linear + attention)}


HEAD = (
    "network",
    "side",
    "tokens/s",
    "spread",
    "seqloom / it",
    "of the data sheet's rate",
    "of the product's rate",
    "peak beyond weights, MiB",
    "least cosine",
)
LOOPS = ("FASTA to shards", "tokens/s", "waiting for input", *HEAD[5:7], "verdict")


def tell(results: Sequence[dict[str, Any]], device: str) -> list[str]:
    """Tables of the sides and of the whole loop."""
    sides = [each for each in results if each["what"] == "inference"]
    loops = [each for each in results if each["what"] == "loop"]
    ours = {_name(it): median(it["seconds"]) for it in sides if it["side"] == OURS}
    rows = [_row(it, ours[_name(it)], device) for it in sides]
    tables = [table(HEAD, rows, texts=("side",))] if rows else []
    rows = [_loop_row(it, device) for it in loops]
    return tables + ([table(LOOPS, rows, texts=("verdict",))] if rows else [])


def _name(result: Mapping[str, Any]) -> str:
    return f"{result['size']}, {result['dtype']}"


def _row(it: Mapping[str, Any], ours: float, device: str) -> list[str]:
    seconds = median(it["seconds"])
    spread = (max(it["seconds"]) - min(it["seconds"])) / seconds
    return [
        _name(it),
        it["side"],
        f"{it['tokens'] / seconds:,.0f}",
        f"{spread:.1%}",
        f"**{seconds / ours:.2f}**",
        *_shares(it, seconds, device),
        "" if it["peak"] is None else f"{it['peak'] / 2**20:,.0f}",
        f"{it['cosine']:.4f}" + ("" if it["ok"] else " (too low)"),
    ]


def _loop_row(it: Mapping[str, Any], device: str) -> list[str]:
    seconds = it["seconds"]
    speed, waits = f"{it['tokens'] / seconds:,.0f}", f"{it['shares']['input']:.2%}"
    return [_name(it), speed, waits, *_shares(it, seconds, device), it["verdict"]]


def _shares(it: Mapping[str, Any], seconds: float, device: str) -> list[str]:
    """The operations a second, relative to the two rates of the device."""
    peak = find_peak(device) if it["dtype"] != "float32" else None
    rates = (peak, it["product_rate"])
    return [f"{it['operations'] / seconds / rate:.3f}" if rate else "" for rate in rates]


NOTES = f"""
Networks of ESM-2's shapes with random weights; {PROTEINS:,} proteins whose lengths are
distributed as those of UniProt. Tokens a second without padding, medians of {ROUNDS}
rounds in which the sides take turns in one process; the spread is that of the rounds. The
two shares divide the operations of the network's products by the dense bfloat16 rate of
the device's data sheet, and by that of a square product of {SQUARE["cuda"]:,} of random
numbers in the same type, measured just before. The least cosine is that of a protein's
mean state with seqloom's. Hugging Face pads 16 proteins at a time in file order, or sorted
ones within seqloom's budget of {BUDGET:,} tokens. The loop is `embed` from a FASTA file of
{LOOP:,} proteins to files on disk.
"""
