"""Compares the speed of ESM-2 networks in seqloom and in Hugging Face on a GPU."""

import gc
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._measure import time_alternately
from benchmarks._page import markdown_table
from benchmarks.gpu._device import (
    MATRIX_ROWS_OF_DEVICE,
    find_published_speed,
    measure_product_speed,
    peak_memory_increase,
    reset_peak_memory,
)
from benchmarks.gpu._results import Result, Results
from benchmarks.infer._embedding_job import embed_proteins
from benchmarks.infer._inputs import NETWORK_SHAPES, sample_proteins, write_network

if TYPE_CHECKING:  # these modules import torch, which `benchmarks.gpu read` does not need
    from benchmarks.gpu._network_loaders import NetworkCase, Work

SEQLOOM_LABEL = "seqloom, packed"
MAX_BATCH_TOKENS = 16_384  # tokens per batch

# Network, dtype and expected seconds of each measurement, most important first.
NETWORKS_TO_MEASURE = (
    ("650M", "bfloat16", 70),
    ("150M", "bfloat16", 25),
    ("650M", "float16", 40),
    ("35M", "bfloat16", 15),
    ("8M", "bfloat16", 15),
    ("150M", "float32", 40),
)
TINY_NETWORKS = (("8M", "float32", 30),)
# Number of proteins for each library, for `embed`, and in a tiny run.
PROTEINS, LOOP_PROTEINS, TINY_PROTEINS = 1_000, 5_000, 4
ROUNDS, TINY_ROUNDS = 5, 2
# Minimum cosine between the mean hidden states of a protein in two libraries.
MIN_COSINE_OF_DTYPE = {"float32": 0.9999, "float16": 0.99, "bfloat16": 0.99}


class LoadedLibrary(NamedTuple):
    """A library that has loaded a network and embedded all proteins once.

    Args:
        work: Function that embeds all proteins.
        peak: Peak GPU memory in bytes, without the weights; None on a CPU.
        means: Mean hidden state of each protein, scaled to length 1.
    """

    work: "Work"
    peak: int | None
    means: Any


def run_benchmark(results: Results) -> None:
    """Measure one network after another until the time is over."""
    if not find_spec("transformers"):
        results.skip("all networks", "transformers, which writes them, is not installed")
        return
    for size, dtype, seconds in TINY_NETWORKS if results.is_tiny else NETWORKS_TO_MEASURE:
        measure = partial(_measure_network, results, size, dtype)
        results.attempt(f"{size}, {dtype}", measure, seconds=seconds)
        _free_memory(results.device)


def _measure_network(results: Results, size: str, dtype: str) -> None:
    """Measure one network in one dtype: all libraries alternately, then `embed`."""
    from benchmarks.gpu._network_loaders import NetworkCase

    with TemporaryDirectory() as folder:
        network = Path(folder, "network")
        write_network(size, network, device=results.device, dtype=dtype)
        records = sample_proteins(TINY_PROTEINS if results.is_tiny else PROTEINS)
        case = NetworkCase(size, results.device, dtype, network, records)
        sides = _start_libraries(results, case)
        if SEQLOOM_LABEL not in sides:  # `_start_libraries` has written the error
            return
        rate = measure_product_speed(case.device, dtype)
        _measure_libraries(results, case, sides, product_rate=rate)
        sides.clear()
        _free_memory(case.device)
        records = sample_proteins(TINY_PROTEINS if results.is_tiny else LOOP_PROTEINS)
        case = case._replace(records=records)
        _measure_embedding_job(results, case, product_rate=rate)


def _start_libraries(results: Results, case: "NetworkCase") -> dict[str, LoadedLibrary]:
    """Load and run each library once; write an error as a result."""
    from benchmarks.gpu._network_loaders import make_library_loaders

    lengths = [len(ids) for ids in case.records]
    sides: dict[str, LoadedLibrary] = {}

    def start_library(name: str, load: Callable[[], "Work"]) -> None:
        work = load()
        weights = reset_peak_memory(case.device)
        states = work()
        peak = peak_memory_increase(weights, case.device)
        sides[name] = LoadedLibrary(work, peak, _mean_states(states, lengths))

    for name, load in make_library_loaders(case).items():
        what = f"{case.size}, {case.dtype}, {name}"
        results.attempt(what, partial(start_library, name, load), seconds=0)
    return sides


def _mean_states(states: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Return the mean hidden state of each protein, scaled to length 1."""
    import torch

    rows = torch.cat(list(states)).float()
    sizes = torch.tensor(lengths, device=rows.device)
    means: Any = torch.segment_reduce(rows, "mean", lengths=sizes)
    return torch.nn.functional.normalize(means).cpu().numpy()


def _measure_libraries(
    results: Results,
    case: "NetworkCase",
    sides: dict[str, LoadedLibrary],
    *,
    product_rate: float,
) -> None:
    """Time the libraries alternately; compare their hidden states with those of seqloom."""
    works = {name: side.work for name, side in sides.items()}
    rounds = TINY_ROUNDS if results.is_tiny else ROUNDS
    for name, seconds in time_alternately(works, rounds=rounds).items():
        side = sides[name]
        cosine = float((side.means * sides[SEQLOOM_LABEL].means).sum(1).min())
        results.add(
            "inference",
            size=case.size,
            dtype=case.dtype,
            product_rate=product_rate,
            **_count_tokens_and_operations(case),
            side=name,
            seconds=seconds,
            peak=side.peak,
            cosine=cosine,
            ok=cosine >= MIN_COSINE_OF_DTYPE[case.dtype],
        )


def _measure_embedding_job(
    results: Results, case: "NetworkCase", *, product_rate: float
) -> None:
    """Time `embed` from a FASTA file to files on disk."""
    folder = case.folder.parent
    summary = embed_proteins(
        case.load_seqloom(), case.records, folder, max_tokens=MAX_BATCH_TOKENS
    )
    results.add(
        "loop",
        size=case.size,
        dtype=case.dtype,
        product_rate=product_rate,
        **_count_tokens_and_operations(case),
        seconds=summary.seconds,
        shares=dict(summary.shares),
        verdict=summary.verdict,
    )


def _free_memory(device: str) -> None:
    """Free the GPU memory of networks that are no longer used."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def _count_tokens_and_operations(case: "NetworkCase") -> dict[str, float]:
    """Count the tokens without padding, and the operations of all matrix products."""
    layers, width, _ = NETWORK_SHAPES[case.size]
    lengths = np.array([len(ids) for ids in case.records], float)
    # Attention has four matrices; the feed-forward block has two matrices of four times
    # that size.
    linear = 2 * (4 + 8) * width**2 * lengths.sum()
    attention = 4 * width * (lengths**2).sum()
    return {"tokens": lengths.sum(), "operations": layers * (linear + attention)}


RATE_FRACTION_COLUMNS = ("of the data sheet's rate", "of the product's rate")
LIBRARY_COLUMNS = (
    "network",
    "side",
    "tokens/s",
    "spread",
    "time / seqloom's",
    *RATE_FRACTION_COLUMNS,
    "peak beyond weights, MiB",
    "least cosine",
)
EMBEDDING_JOB_COLUMNS = (
    "FASTA to shards",
    "tokens/s",
    "waiting for input",
    *RATE_FRACTION_COLUMNS,
    "verdict",
)


def make_tables(results: Sequence[Result], device_name: str) -> list[str]:
    """Return the tables of the libraries and of `embed`, with notes."""
    sides = [result for result in results if result["what"] == "inference"]
    loops = [result for result in results if result["what"] == "loop"]
    ours = {
        _describe_network(result): median(result["seconds"])
        for result in sides
        if result["side"] == SEQLOOM_LABEL
    }
    rows = [_library_row(it, ours[_describe_network(it)], device_name) for it in sides]
    tables = [markdown_table(LIBRARY_COLUMNS, rows, texts=("side",))] if rows else []
    if loops:
        rows = [_embedding_job_row(result, device_name) for result in loops]
        tables.append(markdown_table(EMBEDDING_JOB_COLUMNS, rows, texts=("verdict",)))
    return [*tables, " ".join(NOTES.split())] if tables else []


def _describe_network(result: Result) -> str:
    return f"{result['size']}, {result['dtype']}"


def _library_row(result: Result, our_seconds: float, device_name: str) -> list[str]:
    seconds = median(result["seconds"])
    spread = (max(result["seconds"]) - min(result["seconds"])) / seconds
    return [
        _describe_network(result),
        result["side"],
        f"{result['tokens'] / seconds:,.0f}",
        f"{spread:.1%}",
        f"**{seconds / our_seconds:.2f}**",
        *_rate_fractions(result, seconds, device_name),
        "" if result["peak"] is None else f"{result['peak'] / 2**20:,.0f}",
        f"{result['cosine']:.4f}" + ("" if result["ok"] else " (too low)"),
    ]


def _embedding_job_row(result: Result, device_name: str) -> list[str]:
    seconds = result["seconds"]
    return [
        _describe_network(result),
        f"{result['tokens'] / seconds:,.0f}",
        f"{result['shares']['input']:.2%}",
        *_rate_fractions(result, seconds, device_name),
        result["verdict"],
    ]


def _rate_fractions(result: Result, seconds: float, device_name: str) -> list[str]:
    """Divide the operations per second by the published and by the measured GPU rate."""
    is_half = result["dtype"] != "float32"
    published = find_published_speed(device_name) if is_half else None
    rates = (published, result["product_rate"])
    speed = result["operations"] / seconds
    return [f"{speed / rate:.3f}" if rate else "" for rate in rates]


NOTES = f"""
Networks of ESM-2's shapes with random weights; {PROTEINS:,} proteins whose lengths are
distributed as those of UniProt. Tokens a second do not count padding; they are medians of
{ROUNDS} rounds in which the sides take turns in one process. The spread is the range of
the rounds' times relative to their median. The ratio is a side's time relative to
seqloom's: above 1, seqloom is faster. The two shares divide the operations of the
network's matrix products by the dense bfloat16 rate in the device's data sheet, and by
the rate of a product of two square matrices of {MATRIX_ROWS_OF_DEVICE["cuda"]:,} rows of
random numbers in the same type, measured shortly before. The least cosine compares the mean
state of each protein with seqloom's. Hugging Face pads 16 proteins at a time in file
order, or sorted ones within seqloom's budget of {MAX_BATCH_TOKENS:,} tokens. The loop is
`embed` from a FASTA file of {LOOP_PROTEINS:,} proteins to files on disk.
"""
