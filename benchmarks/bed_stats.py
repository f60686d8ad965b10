"""Compute genotype statistics with seqloom, PLINK 1.9, and bed_reader with NumPy."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TypeAlias

import numpy as np

from benchmarks._measure import full_or_quick, time_alternately
from benchmarks._page import describe_machine, markdown_table, publish_section
from seqloom.io import genotype_stats

Work: TypeAlias = Callable[[], object]

FILE_SHAPES = full_or_quick(
    ((4_000, 50_000), (50_000, 4_000)), ((2_000, 10_000), (10_000, 2_000))
)
ROUNDS = 5
NOTES = """
Each program opens the file, reads its tables and counts genotypes, all from the page cache.
PLINK also writes two text tables but computes no mean or variance; the NumPy code computes
no p-values.
"""
TABLE_COLUMNS = (
    "statistics of all variants",
    "seconds",
    "genotypes/s",
    "time relative to seqloom",
)


def main(*sizes: int) -> None:
    """Create the files, check that all programs agree, then time them."""
    shapes = tuple(zip(sizes[::2], sizes[1::2], strict=True)) or FILE_SHAPES
    with tempfile.TemporaryDirectory() as folder:
        parts = [_measure_file(write_bed(Path(folder), shape), shape) for shape in shapes]
    text = "\n\n".join([*parts, describe_machine("numpy", "bed-reader", "seqloom")])
    publish_section("bed_stats", text, notes=NOTES)


def write_bed(folder: Path, shape: tuple[int, int]) -> Path:
    """Write variants in Hardy-Weinberg equilibrium; 1 % of the genotypes are missing."""
    rng, path = np.random.default_rng(0), folder / f"x{shape[0]}.bed"
    rates = rng.uniform(0, 1, shape[1])
    properties = {"chromosome": ["1"] * shape[1], "bp_position": np.arange(shape[1])}
    writer = import_module("bed_reader").create_bed
    with writer(path, *shape, properties=properties) as bed:
        for rate in rates:
            values = rng.binomial(2, rate, shape[0]).astype("int8")
            values[rng.random(shape[0]) < 0.01] = -127
            bed.write(values)
    return path


def count_with_numpy(path: Path) -> tuple[np.ndarray, ...]:
    """Count genotypes with bed_reader and NumPy, without p-values."""
    with import_module("bed_reader").open_bed(path) as bed:
        values = bed.read(dtype="int8")
    counts = [(values == code).sum(axis=0) for code in (-127, 0, 1, 2)]
    floats = np.where(values == -127, np.nan, values)
    return *counts, np.nanmean(floats, axis=0), np.nanvar(floats, axis=0)


def run_plink(path: Path) -> None:
    """Run PLINK, which writes two tables with frequencies and p-values."""
    out = path.with_suffix("")
    command = ["plink1.9", "--bfile", out, "--out", out, "--threads", "2"]
    words = [*command, "--freq", "--hardy", "--keep-allele-order", "--allow-no-sex"]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def _measure_file(path: Path, shape: tuple[int, int]) -> str:
    """Time all programs on one .bed file."""
    sides: dict[str, Work] = {
        "seqloom, 2 threads": partial(genotype_stats, path, num_threads=2),
        "seqloom, 1 thread": partial(genotype_stats, path, num_threads=1),
        "bed_reader and NumPy": partial(count_with_numpy, path),
    }
    if shutil.which("plink1.9"):
        sides["plink1.9 --freq --hardy"] = partial(run_plink, path)
    _check_equal_counts(path)
    rounds = time_alternately(sides, rounds=ROUNDS)
    times = {name: median(seconds) for name, seconds in rounds.items()}
    first, size = next(iter(times.values())), shape[0] * shape[1]
    rows = [
        (name, f"{t:.3f}", f"{size / t / 1e9:.2f} G", f"{t / first:.1f}")
        for name, t in times.items()
    ]
    text = markdown_table(TABLE_COLUMNS, rows)
    return f"{shape[0]:,} individuals, {shape[1]:,} variants:\n\n{text}"


def _check_equal_counts(path: Path) -> None:
    """Raise if seqloom and NumPy disagree."""
    ours = genotype_stats(path)
    missing, two, het, one, mean, variance = count_with_numpy(path)
    assert np.array_equal(ours.missing, missing)
    assert np.array_equal([ours.hom_a2, ours.het, ours.hom_a1], [two, het, one])
    assert np.allclose(ours.mean, mean)
    assert np.allclose(ours.variance, variance)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
