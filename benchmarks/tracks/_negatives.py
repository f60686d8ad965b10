"""Time negatives with the G+C content of peaks: seqloom and tangermeme."""

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

import seqloom as sl
from benchmarks._measure import full_or_quick, time_call
from benchmarks.variants._reading import find_python

COLUMNS = ("negatives", "seqloom, s", "tangermeme, s", "seqloom / tangermeme")
SCRIPT = Path(__file__).with_name("_tangermeme_negatives.py")
PEAKS, WIDTH = full_or_quick(10_000, 500), 2114
GENOME_MEGABASES = full_or_quick(100, 8)
ROUNDS = full_or_quick(7, 1)
CHROMOSOMES = 4
# The G+C content is constant in segments of this length.
SEGMENT_BASES = 2500
MAX_DIFFERENCE = 0.02  # of the mean G+C content, the width of a bin


def negative_rows(folder: Path) -> list[list[str]]:
    """Return a row for each number of threads."""
    genome, peaks = write_genome(folder / "genome.fa"), write_peaks(folder / "peaks.bed")
    return [_time_negatives(genome, peaks, threads) for threads in (1, 2)]


def _time_negatives(genome: Path, peaks: Path, threads: int) -> list[str]:
    """Time both packages alternately, and check their negatives."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    regions = list[sl.data.Regions]()
    python = find_python("tangermeme")
    own, others = list[float](), list[float]()
    sl.data.negatives(peaks, genome)  # builds the index
    for number in range(ROUNDS):
        choose = partial(sl.data.negatives, peaks, genome, seed=number)
        own.append(time_call(lambda choose=choose: regions.append(choose())))
        if python:
            seconds, gc = _run_tangermeme(python, genome, peaks, threads=threads)
            others.append(seconds)
            assert abs(np.mean(regions[-1]["gc"]) - gc) < MAX_DIFFERENCE
    assert not any(it.report["missing"] for it in regions)
    print("negatives", threads, own, others, flush=True)
    label = f"{PEAKS:,} peaks, {threads} thread{'s' * (threads > 1)}"
    if not others:
        return [label, f"{median(own):.2f}", "missing", ""]
    ratio = f"**{median(own) / median(others):.2f}**"
    return [label, f"{median(own):.2f}", f"{median(others):.2f}", ratio]


def _run_tangermeme(
    python: str, genome: Path, peaks: Path, *, threads: int
) -> tuple[float, float]:
    """Return the seconds of tangermeme, and the mean G+C content of its negatives."""
    command = [python, str(SCRIPT), str(peaks), str(genome), str(WIDTH), str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout.splitlines()[-1])
    return result["seconds"], result["gc"]


def chromosome_bases() -> int:
    """Return the number of bases of each chromosome, without an incomplete line."""
    return GENOME_MEGABASES * 1_000_000 // CHROMOSOMES // 60 * 60


def write_genome(path: Path) -> Path:
    """Write random chromosomes as FASTA."""
    draw, size = np.random.default_rng(0), chromosome_bases()
    with path.open("wb") as file:
        for number in range(CHROMOSOMES):
            file.write(b">chr%d\n" % (number + 1))
            lines = np.full((size // 60, 61), ord("\n"), np.uint8)
            lines[:, :60] = _random_bases(draw, size).reshape(-1, 60)
            file.write(lines.tobytes())
    return path


def _random_bases(draw: np.random.Generator, size: int) -> NDArray[np.uint8]:
    """Return random bases with a G+C content that varies along the sequence."""
    shares = draw.normal(0.42, 0.07, size // SEGMENT_BASES + 1).clip(0.2, 0.75)
    is_strong = draw.random(size, np.float32) < np.repeat(shares, SEGMENT_BASES)[:size]
    codes = 2 * is_strong + (draw.random(size, np.float32) < 0.5)
    return np.frombuffer(b"ATGC", np.uint8)[codes]


def write_peaks(path: Path) -> Path:
    """Write random intervals as BED."""
    draw, size = np.random.default_rng(1), chromosome_bases()
    starts = draw.integers(WIDTH, size - 2 * WIDTH, PEAKS)
    numbers = draw.integers(1, CHROMOSOMES + 1, PEAKS)
    pairs = zip(numbers.tolist(), starts.tolist(), strict=True)
    path.write_text("".join(f"chr{it}\t{at}\t{at + WIDTH}\n" for it, at in pairs))
    return path
