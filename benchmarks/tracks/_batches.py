"""Time batches of sequences and tracks: seqloom, GenVarLoader, gReLU and pyBigWig."""

import json
import os
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl
from benchmarks._measure import full_or_quick, peak_memory_increase
from benchmarks.tracks._negatives import CHROMOSOMES, chromosome_bases, write_genome
from benchmarks.variants._reading import find_python

COLUMNS = (
    "batches of sequences and tracks",
    "program",
    "first epoch, s",
    "second epoch, s",
    "seqloom / program, first",
    "seqloom / program, second",
)
SCRIPT = Path(__file__).with_name("_rivals.py")
REGIONS = full_or_quick(50_000, 400)
MEMORY_REGIONS, MEMORY_BATCHES = full_or_quick((5000, 500_000), (100, 1000)), 100
TRACK_COUNTS = full_or_quick((1, 4, 16), (1, 2))
WIDTH, TARGET_WIDTH, BATCH_SIZE, THREADS = 2114, 1000, 64, 2
# gReLU reads all targets into memory, 64 bits for each base.
GRELU_MAX_TRACKS = full_or_quick(4, 2)
PROGRAMS = ("genvarloader", "grelu", "pyBigWig")


def batch_rows(folder: Path) -> list[list[str]]:
    """Return a row for each program and number of tracks."""
    _write_files(folder)
    rows = list[list[str]]()
    for count in TRACK_COUNTS:
        own = _time_seqloom(folder, count)
        label = f"{count} track{'s' * (count > 1)}"
        rows.append([label, "seqloom", *(f"{it:.1f}" for it in own["seconds"]), "", ""])
        for program in PROGRAMS:
            if program == "grelu" and count > GRELU_MAX_TRACKS:
                continue
            rows.append([label, *_compare(folder, program, count, own=own)])
    return rows


def batch_memory(folder: Path) -> str:
    """Return the memory of batches for few and for many regions."""
    lines = (folder / "regions.bed").read_text().splitlines(keepends=True)
    found = list[str]()
    for count in MEMORY_REGIONS:
        repeated = lines * (count // len(lines) + 1)
        (folder / "repeated.bed").write_text("".join(repeated[:count]))
        data = open_dataset(folder, max(TRACK_COUNTS), regions="repeated.bed")
        data.batch(range(BATCH_SIZE))  # reads the index of each file
        size = peak_memory_increase(partial(_read_batches, data))
        found.append(f"{size / 1e6:.0f} MB for {count:,} regions")
    return (
        f"Reading {MEMORY_BATCHES} batches of {max(TRACK_COUNTS)} tracks increases the "
        f"memory by {' and by '.join(found)}."
    )


def _read_batches(data: Any) -> None:
    draw = np.random.default_rng(0)
    for _ in range(MEMORY_BATCHES):
        data.batch(draw.integers(0, len(data), BATCH_SIZE))


def open_dataset(folder: Path, count: int, regions: str = "regions.bed") -> Any:
    """Open the regions with some tracks."""
    return sl.data.IntervalDataset(
        folder / "genome.fa",
        folder / regions,
        encoder=sl.encode.OneHot("dna"),
        width=WIDTH,
        target_width=TARGET_WIDTH,
        tracks=[folder / f"{number}.bw" for number in range(count)],
        missing=0,
    )


def _time_seqloom(folder: Path, count: int) -> dict[str, Any]:
    """Return the seconds of both epochs, with the cache in the first, and the sum."""
    shutil.rmtree(folder / "cache", ignore_errors=True)
    open_dataset(folder, count)  # builds the index
    seconds, total = list[float](), 0.0
    start = time.perf_counter()
    data = sl.data.cached(open_dataset(folder, count), folder / "cache")
    for epoch in range(2):
        loader = sl.data.DataLoader(
            data, batch_size=BATCH_SIZE, shuffle=True, seed=epoch, num_workers=0
        )
        total = sum(float(batch["tracks"].sum(dtype="float64")) for batch in loader)
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
    print("batches, seqloom", count, seconds, flush=True)
    return {"seconds": seconds, "total": total}


def _compare(folder: Path, program: str, count: int, *, own: dict[str, Any]) -> list[str]:
    """Run a program in its own environment; check that its tracks have the same sum."""
    python = find_python(program)
    if python is None:
        return [program, "missing", "", "", ""]
    done = subprocess.run(
        [python, str(SCRIPT), program, str(folder), str(count)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "NUMBA_NUM_THREADS": str(THREADS)},
    )
    found = json.loads(done.stdout.splitlines()[-1])
    print("batches", program, count, found["seconds"], flush=True)
    np.testing.assert_allclose(found["total"], own["total"], rtol=1e-6)
    ratios = map(
        lambda one, other: f"**{one / other:.2f}**", own["seconds"], found["seconds"]
    )
    return [program, *(f"{it:.1f}" for it in found["seconds"]), *ratios]


def _write_files(folder: Path) -> None:
    """Write a random genome, regions, and cut sites that are dense in the regions."""
    write_genome(folder / "genome.fa")
    size, draw = chromosome_bases(), np.random.default_rng(0)
    names = [f"chr{number + 1}" for number in range(CHROMOSOMES)]
    sizes = "".join(f"{name}\t{size}\n" for name in names)
    (folder / "genome.fa.sizes").write_text(sizes)  # gReLU reads this file
    rate = np.full((CHROMOSOMES, size // 10), 0.01, np.float32)
    with (folder / "regions.bed").open("w") as file:
        for number, name in enumerate(names):
            places = draw.choice(
                (size - 6000) // 1000, REGIONS // CHROMOSOMES, replace=False
            )
            for start in (np.sort(places) * 1000 + 3000).tolist():
                file.write(f"{name}\t{start}\t{start + 500}\n")
                rate[number, start // 10 - 30 : start // 10 + 80] = 0.3
    for number in range(max(TRACK_COUNTS)):
        lengths = dict.fromkeys(names, size)
        with sl.io.TrackWriter(folder / f"{number}.bw", lengths) as writer:
            for name, rates in zip(names, rate, strict=True):
                counts = draw.poisson(np.repeat(rates, 10)).astype(np.float32)
                counts[counts == 0] = np.nan
                writer.write_values(name, 0, counts)
