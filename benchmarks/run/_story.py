"""Times both runtimes in turn, compares their outputs, and writes the tables."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import seqloom as sl
from benchmarks._measure import HOME, interleave
from benchmarks._page import machine, publish, table
from benchmarks._reads import write_reads
from benchmarks.run._command import run_command, time_start
from benchmarks.run._networks import BATCH, NETWORKS, inputs_of, make
from benchmarks.run._sides import SIDES
from benchmarks.run._web import tell_web
from benchmarks.tensor._sides import environment
from seqloom.cli._run import PROGRAM
from seqloom.export import Input
from seqloom.infer._forward import Forward

THREADS = (1, 2)
ROUNDS, SECONDS = 15, 0.05  # each round works so long
EQUAL = 1e-4  # the greatest difference of outputs
READS, READ = 100_000, 150  # and the letters of each
MOST_BINARY = 6e6
_SIDE = "from benchmarks.run._sides import main; main()"
WINDOWS = 20_000  # that the module of the browser scores


def main() -> None:
    """Measures arrays, a file, the start, and the sizes."""
    parts = [_tell_arrays(), _tell_file(), _tell_start(), _tell_size(), _tell_web()]
    publish(
        "run", "\n\n".join([*parts, machine("onnx", "onnxruntime", "numpy", "seqloom")])
    )


def _tell_arrays() -> str:
    """A table: each network from encoded arrays."""
    rows = [_measure(name, threads) for name in NETWORKS for threads in THREADS]
    head = "", "threads", "ONNX Runtime", "seqloom", "ratio", "memory", "ONNX Runtime's"
    text = (
        f"Batches of {BATCH} records from encoded arrays, the same model as an exported "
        "folder and as an ONNX file. The ratio is our time by theirs; memory is what "
        f"opening it and one batch add. Outputs differ by at most {EQUAL:g}. Median of "
        f"{ROUNDS} rounds, both sides in turn, each in a process of its own."
    )
    return f"{text}\n\n{table(head, rows)}"


def _measure(name: str, threads: int) -> tuple[str, ...]:
    """Times one network."""
    with TemporaryDirectory() as folder:
        length = write_models(name, Path(folder))
        peaks, seconds = _time_sides(name, length, threads=threads, folder=folder)
        _compare(name, length, Path(folder))
    ours, theirs = seconds["seqloom"], seconds["ONNX Runtime"]
    row = (
        name,
        str(threads),
        f"{theirs * 1e3:.2f} ms",
        f"{ours * 1e3:.2f} ms",
        f"**{ours / theirs:.2f}**",
        *(f"{peaks[side] / 1e6:.1f} MB" for side in SIDES),
    )
    print(*row, flush=True)
    return row


def write_models(name: str, folder: Path, length: int | None = None) -> int:
    """Exports a network in both forms; returns the length that it is measured at."""
    trained, whole = make(name)
    arrays = inputs_of(name, length or whole)
    # All records have one length: neither side reads a mask.
    inputs = {it: Input(("batch", *x.shape[1:]), str(x.dtype)) for it, x in arrays.items()}
    given = None if trained.encoder is not None else inputs
    sl.export.save(trained, folder / "model.seqloom", inputs=given)
    sl.export.onnx(trained.model, folder / "model.onnx", inputs=inputs)
    return whole


def _time_sides(
    name: str, length: int, *, threads: int, folder: str
) -> tuple[dict[str, int], dict[str, float]]:
    """Gives the memory and the median seconds of each side."""
    workers = {
        side: _start(side, name, str(length), str(threads), folder) for side in SIDES
    }
    try:
        peaks = {side: _read(worker) for side, worker in workers.items()}
        calls = {side: _count_calls(_ask(worker, 3)) for side, worker in workers.items()}
        rounds = [
            {side: _ask(worker, calls[side]) for side, worker in workers.items()}
            for _ in range(ROUNDS)
        ]
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()
    return peaks, {side: median(each[side] for each in rounds) for side in SIDES}


def _count_calls(seconds: float) -> int:
    """Says how many calls make a round."""
    return max(1, round(SECONDS / max(seconds, 1e-6)))


def _start(*arguments: str) -> Any:
    """Starts the process of a side."""
    return subprocess.Popen(
        [sys.executable, "-c", _SIDE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HOME,
        env=environment(int(arguments[3])),
    )


def _ask(worker: Any, calls: int) -> float:
    """Lets a process work; gives the seconds of a call."""
    worker.stdin.write(f"{calls}\n")
    worker.stdin.flush()
    return _read(worker)


def _read(worker: Any) -> Any:
    """Reads what a process says."""
    return json.loads(worker.stdout.readline())


def _compare(name: str, length: int, folder: Path) -> None:
    """Checks both sides' outputs against Python's."""
    trained, _ = make(name)
    forward = Forward.of(trained.model)
    arrays = inputs_of(name, length)
    expected = np.asarray(forward(trained.model, arrays, encoder=trained.encoder))
    ours, theirs = (np.load(folder / f"{side}.npy") for side in SIDES)
    if name == "transformer":  # Python's attention sums in another order
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(ours, expected)
    np.testing.assert_allclose(theirs, expected, rtol=EQUAL, atol=EQUAL)


def _tell_file() -> str:
    """A table: from a FASTQ file to a table of scores."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        reads = write_reads(folder, READS)
        write_models("dilated residual", folder, READ)
        rows = [_measure_file(folder, reads[kind], kind) for kind in ("plain", "gzip")]
    head = "file", "Python loop", "seqloom-run", "ratio"
    text = (
        f"{READS:,} reads of {READ} bases, from a FASTQ file to a table of scores by the "
        "dilated residual network with 2 threads; the loop reads by dnaio, encodes by "
        "NumPy and scores by ONNX Runtime. Whole processes."
    )
    return f"{text}\n\n{table(head, rows)}"


def _measure_file(folder: Path, reads: Path, kind: str) -> tuple[str, ...]:
    """Times both programs on one file."""
    loop = [sys.executable, "-m", "benchmarks.run._whole", str(folder / "model.onnx")]
    theirs, ours = folder / "loop.tsv", folder / "ours.tsv"
    sides = {
        "loop": lambda: subprocess.run(
            [*loop, str(reads), str(theirs), "2"], check=True, cwd=HOME
        ),
        "ours": lambda: run_command(folder / "model.seqloom", reads, ours, threads=2),
    }
    seconds = {side: median(each) for side, each in interleave(sides, rounds=3).items()}
    one, other = (_read_scores(path) for path in (theirs, ours))
    assert one[0] == other[0]
    np.testing.assert_allclose(one[1], other[1], rtol=1e-3, atol=1e-3)
    ratio = seconds["loop"] / seconds["ours"]
    return (
        kind,
        f"{seconds['loop']:.2f} s",
        f"{seconds['ours']:.2f} s",
        f"**{ratio:.1f}x**",
    )


def _read_scores(path: Path) -> tuple[list[str], Any]:
    """Reads a table: names, up to the first space, and numbers."""
    scores = sl.infer.Scores.read_tsv(path)
    return [name.split()[0] for name in scores.ids], scores.to_numpy()


def _tell_start() -> str:
    """Says how long a process takes to its first score."""
    with TemporaryDirectory() as folder:
        write_models("SequenceCNN", Path(folder))
        ours, theirs = time_start(Path(folder))
    return (
        f"From the start of the process to the first score of the demo's network: "
        f"{ours * 1e3:.1f} ms (at most 20 asked); Python with ONNX Runtime, its file and "
        f"one encoded record: {theirs * 1e3:.0f} ms."
    )


def _tell_size() -> str:
    """Says how large the program is."""
    binary = PROGRAM.read_bytes()
    packed = len(gzip.compress(binary))
    return (
        f"The command `seqloom-run` has {len(binary) / 1e6:.2f} MB (at most "
        f"{MOST_BINARY / 1e6:.0f} asked), {packed / 1e6:.2f} MB by gzip."
    )


def _tell_web() -> str:
    """Says how quick and how large the module of the browser is, at the demo's network."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        trained, length = make("SequenceCNN")
        sl.export.save(trained, folder / "model.seqloom.zip")
        rows = np.random.default_rng(0).choice(list(b"ACGT"), (WINDOWS, length))
        letters = (row.tobytes().decode() for row in rows.astype(np.uint8))
        reads = folder / "windows.fa"
        reads.write_text("".join(f">{at}\n{row}\n" for at, row in enumerate(letters)))
        return tell_web(folder, reads, WINDOWS)
