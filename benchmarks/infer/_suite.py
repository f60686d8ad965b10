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

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.infer import _engines
from benchmarks.infer._embedding_job import measure_backends
from benchmarks.infer._inputs import PROTEIN_SETS, write_network
from benchmarks.infer._libraries import (
    FLOAT32_LIBRARIES,
    FUNCTIONS,
    OURS,
    OURS_INT8,
    PREPARE_FUNCTION_OF_LIBRARY,
    PRODUCTS,
    REFERENCE_LIBRARY,
)
from benchmarks.tensor._libraries import thread_environment


class NetworkCase(NamedTuple):
    """A network and a set of proteins."""

    size: str
    source: str
    proteins: int
    rounds: int


NETWORK_CASES = full_or_quick(
    (
        NetworkCase("8M", "UniProt-like mix", 32, 3),
        NetworkCase("8M", "QUERY.fasta", 32, 3),
        NetworkCase("35M", "UniProt-like mix", 16, 3),
        NetworkCase("150M", "UniProt-like mix", 8, 2),
    ),
    (NetworkCase("8M", "UniProt-like mix", 8, 2),),
)
MAX_DIFFERENCE = 2e-5  # Maximum accepted difference of float32 hidden states.
LOWER_BOUND_LABEL = f"{PRODUCTS}, exp and erf"
RATIO_LIBRARIES = (OURS, OURS_INT8)
TABLE_COLUMNS = (
    "",
    "tokens/s",
    *(f"{side} / it" for side in RATIO_LIBRARIES),
    "greatest difference",
    "least cosine",
)
UNIPROT_LIKE_SET = "UniProt-like mix"
# Libraries and options whose results are only in the CSV files.
MINOR_LIBRARIES = (
    "Hugging Face, file order",
    "Hugging Face, sorted",
    "seqloom, torch, int8",
)
PACKAGES = ("numpy", "torch", "transformers", "onnxruntime", "openvino", "seqloom")
# The page shows the first lower bound; the table of each case is only in the CSV file.
SHOWN, HIDDEN = r"^\| (?!.*(sorted|exp and erf))", "cosine|FASTA to shards|^`embed` on"
NOTES = """
Each library computes the last hidden states of ESM-2 with random weights on one thread. The
table has median tokens per second of processor time for proteins with the lengths of
UniProt. The CSV files also have other batch orders and proteins, differences from Hugging
Face, and times of `sl.infer.embed`. Hugging Face runs EsmModel with SDPA attention. ONNX
Runtime and OpenVINO run the exported EsmModel, one protein at a time; ONNX Runtime cannot
be limited to AVX2. seqloom packs 4,096 tokens per batch in file order. The floor is the
matrix products of the network.
"""


def main() -> None:
    """Measure each network and input on one thread."""
    cases = {
        title: rows for case in NETWORK_CASES for title, rows in _measure_case(case).items()
    }
    details = [
        markdown_table((name, *TABLE_COLUMNS[1:]), rows) for name, rows in cases.items()
    ]
    text = "\n\n".join(
        [summary_table(cases), *details, measure_backends(), describe_machine(*PACKAGES)]
    )
    publish_section("infer", text, notes=NOTES, shown=SHOWN, hidden=HIDDEN)


def summary_table(cases: dict[str, list[list[str]]]) -> str:
    """Return a table of the tokens per second of the main libraries."""
    main = {
        name.split(",")[0]: rows for name, rows in cases.items() if UNIPROT_LIKE_SET in name
    }
    speeds = [{row[0]: row[1] for row in rows} for rows in main.values()]
    sides = dict.fromkeys(
        it for column in speeds for it in column if it not in MINOR_LIBRARIES
    )
    rows = [(side, *(column.get(side, "") for column in speeds)) for side in sides]
    return markdown_table(("tokens/s", *main), rows)


def _measure_case(case: NetworkCase) -> dict[str, list[list[str]]]:
    """Return the title and the rows of a table; empty if the input file is missing."""
    records = PROTEIN_SETS[case.source](case.proteins)
    if not records:
        print(f"{case.source} is not in the folder of SEQLOOM_DATA.")
        return {}
    with TemporaryDirectory() as folder:
        write_network(case.size, Path(folder))
        _engines.export_onnx(Path(folder))
        seconds = _time_libraries(case, folder)
        states = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    rows = [*_table_rows(sum(map(len, records)), seconds, states)]
    title = f"{case.size}, {case.source}"
    print(f"{title}\n\n{markdown_table(TABLE_COLUMNS, rows)}", flush=True)
    return {title: rows}


def _time_libraries(case: NetworkCase, folder: str) -> dict[str, float]:
    """Return the median processor seconds of each library."""
    arguments = case.size, case.source, str(case.proteins), folder
    workers = {
        side: _start_library(side, *arguments) for side in PREPARE_FUNCTION_OF_LIBRARY
    }
    try:
        for worker in workers.values():
            _read_line(worker)
        rounds = [
            {side: _compute_states_once(worker) for side, worker in workers.items()}
            for _ in range(case.rounds)
        ]
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()
    return {
        side: median(each[side] for each in rounds) for side in PREPARE_FUNCTION_OF_LIBRARY
    }


def _start_library(*arguments: str) -> Any:
    """Start a process that runs one library."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.infer._worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Hides progress bars.
        text=True,
        cwd=REPOSITORY_ROOT,
        env=thread_environment(1),
    )


def _compute_states_once(worker: Any) -> float:
    """Let a process compute all states once; return its processor seconds."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    return _read_line(worker)


def _read_line(worker: Any) -> Any:
    return json.loads(worker.stdout.readline())


def _table_rows(
    tokens: int, seconds: dict[str, float], states: dict[str, Any]
) -> Iterator[list[str]]:
    """Yield a table row for each library, and finally for the lower bounds."""
    both = seconds[PRODUCTS] + seconds.pop(FUNCTIONS)
    for side, taken in {**seconds, LOWER_BOUND_LABEL: both}.items():
        ratios = [f"**{taken / seconds[each]:.2f}**" for each in RATIO_LIBRARIES]
        agreement = _compare_states(side, states) if side in states else ("", "")
        yield [side, f"{tokens / taken:,.0f}", *ratios, *agreement]


def _compare_states(side: str, states: dict[str, Any]) -> tuple[str, str]:
    """Return the largest difference from Hugging Face, and the smallest cosine."""
    found, expected = states[side], states[REFERENCE_LIBRARY]
    worst = float(abs(found - expected).max())
    assert worst <= MAX_DIFFERENCE or side not in FLOAT32_LIBRARIES, (
        f"{side} differs by {worst}"
    )
    products = (found * expected).sum(-1)
    norms = np.linalg.norm(found, axis=-1) * np.linalg.norm(expected, axis=-1)
    return f"{worst:.0e}", f"{float((products / norms).min()):.4f}"
