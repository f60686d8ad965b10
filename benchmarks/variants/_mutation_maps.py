"""Time mutation maps of seqloom and of tangermeme on the same network."""

import json
import os
import subprocess
from pathlib import Path
from statistics import median

import numpy as np

import seqloom as sl
from benchmarks._measure import full_or_quick, time_call
from benchmarks.variants._networks import make_bpnet, save_arrays
from benchmarks.variants._reading import find_python

MAP_COLUMNS = (
    "mutation maps of 1,000 bases",
    "seqloom, s",
    "tangermeme fast=True, s",
    "tangermeme fast=False, s",
    "seqloom / fast=True",
    "seqloom / fast=False",
)
SCRIPT = Path(__file__).with_name("_tangermeme_maps.py")
SEQUENCE_COUNT, LENGTH = full_or_quick(2, 1), 1000
ROUNDS = full_or_quick(3, 1)
TOLERANCE = 2e-6  # rounding errors of float32 scores of about 1


def map_rows(folder: Path) -> list[list[str]]:
    """Return a row for each number of threads."""
    return [_time_maps(folder, threads) for threads in (1, 2)]


def _time_maps(folder: Path, threads: int) -> list[str]:
    """Time all programs alternately; check that their effects are equal."""
    trained = make_bpnet(threads)
    codes = np.random.default_rng(1).integers(4, size=(SEQUENCE_COUNT, LENGTH))
    sequences = ["".join("ACGT"[code] for code in row) for row in codes.tolist()]
    save_arrays(folder / "network.npz", trained.model)
    one_hot = np.eye(4, dtype="float32")[codes].transpose(0, 2, 1)
    np.save(folder / "sequences.npy", one_hot)
    effects = list[np.ndarray]()

    def explain() -> None:
        found = sl.infer.explain(
            trained, sequences, method="mutations", num_threads=threads
        )
        effects.append(np.stack([np.asarray(it) for it in found.weights]))

    python = find_python("tangermeme")
    modes = ("fast", "slow") if python else ()
    seconds: dict[str, list[float]] = {name: [] for name in ("seqloom", *modes)}
    sl.infer.explain(trained, [sequences[0][:200]], method="mutations")  # first call
    for number in range(ROUNDS):
        seconds["seqloom"].append(time_call(explain))
        for mode in modes[: 1 if number else None]:  # the slow mode runs once
            seconds[mode].append(_run_tangermeme(str(python), folder, threads, mode=mode))
    for mode in modes:
        _check_effects(effects[0], np.load(folder / f"{mode}.npy").transpose(0, 2, 1))
    return _table_row(threads, {name: median(each) for name, each in seconds.items()})


def _run_tangermeme(python: str, folder: Path, threads: int, *, mode: str) -> float:
    """Run tangermeme in its own environment; return the seconds of all maps."""
    done = subprocess.run(
        [python, str(SCRIPT), str(folder), str(threads), mode],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
    )
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def _check_effects(own: np.ndarray, other: np.ndarray) -> None:
    """Raise unless both programs found the same effects ``(sequences, l, 4)``."""
    np.testing.assert_allclose(own, other, rtol=0, atol=TOLERANCE)


def _table_row(threads: int, seconds: dict[str, float]) -> list[str]:
    own = seconds.pop("seqloom")
    print("maps", threads, own, seconds, flush=True)
    label = f"{SEQUENCE_COUNT} maps, {threads} thread{'s' * (threads > 1)}"
    times = [
        f"{seconds[it]:.1f}" if it in seconds else "missing" for it in ("fast", "slow")
    ]
    ratios = [f"**{own / each:.2f}**" for each in seconds.values()] or ["", ""]
    return [label, f"{own:.1f}", *times, *ratios]
