"""Run RiboDetector, and `seqloom-run` with its exported network."""

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

import numpy as np

import seqloom as sl
from benchmarks.ribodetector._read_pairs import READ_LENGTH
from seqloom.cli._export import PROGRAM

_RIBODETECTOR_COMMAND = "from ribodetector.detect_cpu import main; main()"
_CLASS_NAMES = ("other", "ribosomal")
# If the two logits differ by more than this limit, rounding cannot change the
# prediction.
CLOSE_LOGIT_DIFFERENCE = 1e-4

Pair = tuple[Path, Path]


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """Seconds and processor seconds of a process and its children."""

    seconds: float
    processor: float


def find_network() -> Path | None:
    """Return the ONNX file of the package ribodetector; None if it is not installed."""
    spec = find_spec("ribodetector")
    if spec is None or spec.submodule_search_locations is None:
        return None
    return Path(spec.submodule_search_locations[0], "data", "model_len70_101.onnx")


def export_network(network: Path, folder: Path) -> Path:
    """Export the network as a model of read pairs."""
    encoder = sl.encode.OneHot(
        "dna",
        channels="last",
        unknown="zeros",
        case="mask",
        rna_as_dna=True,
        symbols="zeros",
    )
    net = sl.models.from_onnx(network, encoder=encoder, length=READ_LENGTH, pair="sum")
    path = folder / "ribosomal.seqloom"
    sl.export.save(net, path, task=sl.models.Classify(_CLASS_NAMES))
    return path


def run_ribodetector(pair: Pair, folder: Path, *, chunk: int | None) -> ProcessTimes:
    """Run RiboDetector with its default number of threads."""
    outputs = [
        "-o",
        *_output_files(folder, "other"),
        "-r",
        *_output_files(folder, "ribosomal"),
    ]
    files = ["-i", *map(str, pair), *outputs, "--log", str(folder / "log")]
    options = [] if chunk is None else ["--chunk_size", str(chunk)]
    command = [
        sys.executable,
        "-c",
        _RIBODETECTOR_COMMAND,
        "-l",
        str(READ_LENGTH),
        *files,
        *options,
    ]
    return _time_command(command)


def run_seqloom(model: Path, pair: Pair, out: Path) -> ProcessTimes:
    """Run `seqloom-run` with its default number of threads."""
    options = ["--out", str(out), "--overwrite", "--quiet"]
    return _time_command([str(PROGRAM), "predict", str(model), *map(str, pair), *options])


def _output_files(folder: Path, name: str) -> list[str]:
    """Return the output files of RiboDetector."""
    return [str(folder / f"{name}_{mate}.fq") for mate in (1, 2)]


def _time_command(command: list[str]) -> ProcessTimes:
    """Run a command and return the time that it used."""
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return ProcessTimes(seconds, user + system)


def compare_predictions(folder: Path, table: Path, count: int) -> tuple[int, int]:
    """Compare all predictions; return the numbers of close and of ribosomal pairs."""
    theirs = _read_ids(folder / "ribosomal_1.fq")
    scores = sl.infer.Scores.read_tsv(table)
    names = [_remove_mate_number(name) for name in scores.ids]
    assert len({*names}) == count == len(theirs) + len(_read_ids(folder / "other_1.fq"))
    with np.errstate(divide="ignore"):
        other, ribosomal = np.log(scores.to_numpy().astype(np.float64)).T
    is_close = np.abs(ribosomal - other) < CLOSE_LOGIT_DIFFERENCE
    is_theirs = np.array([name in theirs for name in names])
    assert not (((ribosomal > other) != is_theirs) & ~is_close).any()
    return int(is_close.sum()), len(theirs)


def _read_ids(path: Path) -> set[str]:
    """Read the names in a FASTQ file."""
    return {_remove_mate_number(line[1:]) for line in path.read_text().splitlines()[::4]}


def _remove_mate_number(name: str) -> str:
    """Return a name without the number of the mate."""
    return name.split(maxsplit=1)[0].removesuffix("/1").removesuffix("/2")
