"""Time all libraries alternately, compare their results, and write the tables."""

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
    OURS,
    OURS_INT8,
    PRODUCTS,
    REFERENCE,
    SIDES,
)
from benchmarks.infer._whole import measure_loops
from benchmarks.tensor._sides import environment


class Case(NamedTuple):
    """A network and a set of proteins."""

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
EQUAL = 2e-5  # Maximum accepted difference of float32 hidden states.
BOTH = f"{PRODUCTS}, exp and erf"
RATIOS = (OURS, OURS_INT8)
HEAD = (
    "",
    "tokens/s",
    *(f"{side} / it" for side in RATIOS),
    "greatest difference",
    "least cosine",
)
MIX = "UniProt-like mix"
# Libraries and options whose results are only in the CSV files.
MINOR = ("Hugging Face, file order", "Hugging Face, sorted", "seqloom, torch, int8")
PACKAGES = ("numpy", "torch", "transformers", "onnxruntime", "openvino", "seqloom")
# The page shows the first lower bound; the table of each case is only in the CSV file.
SHOWN, HIDDEN = r"^\| (?!.*(sorted|exp and erf))", "cosine|FASTA to shards|^`embed` on"
NOTES = """
Each library computes the last hidden states of ESM-2 with random weights on one thread.
The table has median tokens per second of processor time for proteins with the lengths of
UniProt. The CSV files also have other batch orders and proteins, differences from Hugging
Face, and `sl.infer.embed`. Hugging Face runs EsmModel with SDPA attention.
ONNX Runtime and OpenVINO run the exported EsmModel, one protein at a time; ONNX Runtime
cannot be limited to AVX2.
seqloom packs 4,096 tokens per batch in file order. The floor is the matrix products of the
network.
"""


def main() -> None:
    """Measure each network and input on one thread."""
    cases = {title: rows for case in CASES for title, rows in _measure_case(case).items()}
    details = [table((name, *HEAD[1:]), rows) for name, rows in cases.items()]
    text = "\n\n".join([summarise(cases), *details, measure_loops(), machine(*PACKAGES)])
    publish("infer", text, notes=NOTES, shown=SHOWN, hidden=HIDDEN)


def summarise(cases: dict[str, list[list[str]]]) -> str:
    """Return a table of the tokens per second of the main libraries."""
    main = {name.split(",")[0]: rows for name, rows in cases.items() if MIX in name}
    speeds = [{row[0]: row[1] for row in rows} for rows in main.values()]
    sides = dict.fromkeys(it for column in speeds for it in column if it not in MINOR)
    rows = [(side, *(column.get(side, "") for column in speeds)) for side in sides]
    return table(("tokens/s", *main), rows)


def _measure_case(case: Case) -> dict[str, list[list[str]]]:
    """Return the title and the rows of a table; empty if the input file is missing."""
    records = INPUTS[case.source](case.proteins)
    if not records:
        print(f"{case.source} is not in the folder of SEQLOOM_DATA.")
        return {}
    with TemporaryDirectory() as folder:
        write_network(case.size, Path(folder))
        _engines.export(Path(folder))
        seconds = _times(case, folder)
        states = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    rows = [*_rows(sum(map(len, records)), seconds, states)]
    title = f"{case.size}, {case.source}"
    print(f"{title}\n\n{table(HEAD, rows)}", flush=True)
    return {title: rows}


def _times(case: Case, folder: str) -> dict[str, float]:
    """Return the median processor seconds of each library."""
    arguments = case.size, case.source, str(case.proteins), folder
    workers = {side: _start(side, *arguments) for side in SIDES}
    try:
        for worker in workers.values():
            _read(worker)
        rounds = [
            {side: _request(worker) for side, worker in workers.items()}
            for _ in range(case.rounds)
        ]
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()
    return {side: median(each[side] for each in rounds) for side in SIDES}


def _start(*arguments: str) -> Any:
    """Start a process that runs one library."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.infer._worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Hides progress bars.
        text=True,
        cwd=HOME,
        env=environment(1),
    )


def _request(worker: Any) -> float:
    """Let a process compute all states once; return its processor seconds."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    return _read(worker)


def _read(worker: Any) -> Any:
    return json.loads(worker.stdout.readline())


def _rows(
    tokens: int, seconds: dict[str, float], states: dict[str, Any]
) -> Iterator[list[str]]:
    """Yield a table row for each library, and finally for the lower bounds."""
    both = seconds[PRODUCTS] + seconds.pop(FUNCTIONS)
    for side, taken in {**seconds, BOTH: both}.items():
        ratios = [f"**{taken / seconds[each]:.2f}**" for each in RATIOS]
        agreement = _compare(side, states) if side in states else ("", "")
        yield [side, f"{tokens / taken:,.0f}", *ratios, *agreement]


def _compare(side: str, states: dict[str, Any]) -> tuple[str, str]:
    """Return the largest difference and least cosine, compared with Hugging Face."""
    found, expected = states[side], states[REFERENCE]
    worst = float(abs(found - expected).max())
    assert worst <= EQUAL or side not in EXACT, f"{side} differs by {worst}"
    products = (found * expected).sum(-1)
    norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(expected, axis=-1)
    return f"{worst:.0e}", f"{float((products / norms).min()):.4f}"
