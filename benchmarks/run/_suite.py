"""Measure speed, start-up time and size of `seqloom-run`, and write the tables."""

import gzip
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import seqloom as sl
from benchmarks._measure import REPOSITORY_ROOT, full_or_quick, time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks._reads import write_reads
from benchmarks.run._arrays import NOTES, measure_arrays, write_models
from benchmarks.run._command import run_command, time_first_score
from benchmarks.run._networks import NETWORKS_FOR_READS, READ_LENGTH, make_network
from benchmarks.run._web import measure_web
from seqloom.cli._export import PROGRAM

READ_COUNT = full_or_quick(100_000, 20_000)
MAX_PROGRAM_BYTES = 6e6
FILE_NOTES = f"""
The second table has the time of whole processes that score {READ_COUNT:,} reads of
{READ_LENGTH} bases from FASTQ with 2 threads. The Python loop uses dnaio, NumPy and ONNX
Runtime.
"""
WEBASSEMBLY_RECORDS = 20_000  # Number of records that the WebAssembly module scores.

# The size and the start-up time of the program are only in the CSV file.
SHOWN_ROWS, HIDDEN = r"\| 2 \||gzip", "^WebAssembly|^`seqloom-run` has|^From the start"


def main() -> None:
    """Run all measurements and write the tables."""
    parts = [
        measure_arrays(),
        _measure_files(),
        _describe_start_time(),
        _describe_program_size(),
        _measure_web(),
    ]
    text = "\n\n".join(
        [*parts, describe_machine("onnx", "onnxruntime", "numpy", "seqloom")]
    )
    publish_section(
        "run", text, notes=f"{NOTES} {FILE_NOTES}", shown=SHOWN_ROWS, hidden=HIDDEN
    )


def _measure_files() -> str:
    """Return a table of the times to score a FASTQ file."""
    with TemporaryDirectory() as name:
        reads = write_reads(Path(name), READ_COUNT)
        rows = [
            _measure_file(network, reads[kind], kind)
            for network in NETWORKS_FOR_READS
            for kind in ("plain", "gzip")
        ]
    head = "network", "file", "Python loop", "seqloom-run", "ratio"
    return markdown_table(head, rows)


def _measure_file(network: str, reads: Path, kind: str) -> tuple[str, ...]:
    """Return the table row of one network and FASTQ file."""
    with TemporaryDirectory() as name:
        write_models(network, Path(name), of_reads=True)
        seconds = _time_file(Path(name), reads)
    ratio = seconds["loop"] / seconds["ours"]
    row = (
        network,
        kind,
        f"{seconds['loop']:.2f} s",
        f"{seconds['ours']:.2f} s",
        f"**{ratio:.1f}x**",
    )
    print(*row, flush=True)
    return row


def _time_file(folder: Path, reads: Path) -> dict[str, float]:
    """Return the median seconds of both programs; compare their scores."""
    loop = [
        sys.executable,
        "-m",
        "benchmarks.run._python_program",
        str(folder / "model.onnx"),
    ]
    theirs, ours = folder / "loop.tsv", folder / "ours.tsv"
    sides = {
        "loop": lambda: subprocess.run(
            [*loop, str(reads), str(theirs), "2"], check=True, cwd=REPOSITORY_ROOT
        ),
        "ours": lambda: run_command(folder / "model.seqloom", reads, ours, threads=2),
    }
    seconds = {
        side: median(each) for side, each in time_alternately(sides, rounds=3).items()
    }
    one, other = (_read_scores(path) for path in (theirs, ours))
    assert one[0] == other[0]
    np.testing.assert_allclose(one[1], other[1], rtol=1e-3, atol=1e-3)
    return seconds


def _read_scores(path: Path) -> tuple[list[str], Any]:
    """Read the record names, up to the first space, and the scores."""
    scores = sl.infer.Scores.read_tsv(path)
    return [name.split()[0] for name in scores.ids], scores.to_numpy()


def _describe_start_time() -> str:
    """Describe the time from process start to the first score."""
    with TemporaryDirectory() as folder:
        write_models("SequenceCNN", Path(folder))
        ours, theirs = time_first_score(Path(folder))
    return (
        f"From the start of the process to the first score of the demo's network: "
        f"{ours * 1e3:.1f} ms (limit: 20). Python with ONNX Runtime and one encoded "
        f"record: {theirs * 1e3:.0f} ms."
    )


def _describe_program_size() -> str:
    """Describe the size of the program."""
    binary = PROGRAM.read_bytes()
    packed = len(gzip.compress(binary))
    return (
        f"`seqloom-run` has {len(binary) / 1e6:.2f} MB (limit: "
        f"{MAX_PROGRAM_BYTES / 1e6:.0f}), {packed / 1e6:.2f} MB with gzip."
    )


def _measure_web() -> str:
    """Describe the speed and size of the WebAssembly module with the demo's network."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        trained, length = make_network("SequenceCNN")
        sl.export.save(trained, folder / "model.seqloom.zip")
        rows = np.random.default_rng(0).choice(list(b"ACGT"), (WEBASSEMBLY_RECORDS, length))
        letters = (row.tobytes().decode() for row in rows.astype(np.uint8))
        reads = folder / "windows.fa"
        reads.write_text("".join(f">{at}\n{row}\n" for at, row in enumerate(letters)))
        return measure_web(folder, reads, WEBASSEMBLY_RECORDS)
