"""Times all sides in turn, compares what they give, and writes the tables."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import HOME, pick
from benchmarks._page import machine, publish, table
from benchmarks.infer import _engines
from benchmarks.infer._inputs import INPUTS, write_network
from benchmarks.infer._sides import (
    EXACT,
    FUNCTIONS,
    ONE,
    OURS,
    OURS_INT8,
    PRODUCTS,
    SIDES,
)
from benchmarks.infer._whole import tell_loops
from benchmarks.tensor._sides import environment


class Case(NamedTuple):
    """A network and some records."""

    size: str
    source: str
    proteins: int
    rounds: int


CASES = pick(
    (
        Case("8M", "UniProt-like mix", 32, 3),
        Case("8M", "QUERY.fasta", 32, 3),
        Case("35M", "UniProt-like mix", 16, 3),
        Case("150M", "UniProt-like mix", 8, 2),
    ),
    (Case("8M", "UniProt-like mix", 8, 2),),
)
EQUAL = 2e-5  # the greatest difference of states in float32
BOTH = f"{PRODUCTS}, exp and erf"
RATIOS = (OURS, OURS_INT8)
HEAD = (
    "",
    "tokens/s",
    *(f"{side} / it" for side in RATIOS),
    "greatest difference",
    "least cosine",
)


def main() -> None:
    """Measure each network and input on one thread."""
    cases = [*map(_measure_case, CASES), tell_loops()]
    publish("infer", "\n\n".join([*cases, _notes()]))


def _measure_case(case: Case) -> str:
    """One network and input: a table."""
    records = INPUTS[case.source](case.proteins)
    if not records:
        return f"{case.source} was not there: SEQLOOM_DATA names no folder with it."
    with TemporaryDirectory() as folder:
        write_network(case.size, Path(folder))
        _engines.export(Path(folder))
        seconds = _times(case, folder)
        states = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    tokens = sum(map(len, records))
    title = f"**{case.size}, {case.source}**: {len(records)} proteins, {tokens:,} tokens."
    text = f"{title}\n\n{table(HEAD, [*_rows(tokens, seconds, states)])}"
    print(text, flush=True)
    return text


def _times(case: Case, folder: str) -> dict[str, float]:
    """Return the median processor seconds of each side."""
    arguments = case.size, case.source, str(case.proteins), folder
    workers = {side: _start(side, *arguments) for side in SIDES}
    try:
        for worker in workers.values():
            _read(worker)
        rounds = [
            {side: _ask(worker) for side, worker in workers.items()}
            for _ in range(case.rounds)
        ]
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()
    return {side: median(each[side] for each in rounds) for side in SIDES}


def _start(*arguments: str) -> Any:
    """Start the process of a side."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.infer._worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # bars of progress
        text=True,
        cwd=HOME,
        env=environment(1),
    )


def _ask(worker: Any) -> float:
    """Let a process work once; gives the processor seconds."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    return _read(worker)


def _read(worker: Any) -> Any:
    return json.loads(worker.stdout.readline())


def _rows(
    tokens: int, seconds: dict[str, float], states: dict[str, Any]
) -> Iterator[list[str]]:
    """Yield a row for each side, the floors last."""
    both = seconds[PRODUCTS] + seconds.pop(FUNCTIONS)
    for side, taken in {**seconds, BOTH: both}.items():
        ratios = [f"**{taken / seconds[each]:.2f}**" for each in RATIOS]
        agreement = _compare(side, states) if side in states else ("", "")
        yield [side, f"{tokens / taken:,.0f}", *ratios, *agreement]


def _compare(side: str, states: dict[str, Any]) -> tuple[str, str]:
    """How far a side's states are from Hugging Face's, one at a time."""
    found, expected = states[side], states[ONE]
    worst = float(abs(found - expected).max())
    assert worst <= EQUAL or side not in EXACT, f"{side} differs by {worst}"
    products = (found * expected).sum(-1)
    norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(expected, axis=-1)
    return f"{worst:.0e}", f"{float((products / norms).min()):.4f}"


def _notes() -> str:
    """Say what was measured."""
    return f"{' '.join(NOTES.split())}\n\n{machine(*PACKAGES)}"


PACKAGES = ("numpy", "torch", "transformers", "onnxruntime", "openvino", "seqloom")
NOTES = """
Tokens for each second of processor time of one thread: medians of rounds in which the
sides take turns, each in a process of its own that sleeps meanwhile. The ratios are
the other side's time by that of seqloom on NumPy, in float32 and with weights of 8 bits:
above 1, seqloom is faster. Weights are random. All sides compute the last hidden states
of the same proteins; their greatest difference to those of Hugging Face, one at a time,
and the least cosine are shown.
Hugging Face is EsmModel with SDPA: 16 proteins at a time in the order of the file or
sorted by length, sorted with at most 4,096 padded tokens, and one at a time. ONNX Runtime
and OpenVINO run torch's export of it, one protein at a time. seqloom packs proteins in
the order of the file, at most 4,096 tokens. The floors are the products of the network at
the rate of square products of 1,024, by whichever of seqloom, NumPy and torch multiplies
fastest; and with them as many exponentials and gelus as there are, by seqloom's kernels
on numbers in the second-level cache. ONNX Runtime knows no cap of the instruction set.
Rows of bfloat16 are measured on processors with AVX512-BF16, without a cap; seqloom
computes them with torch.
"""
