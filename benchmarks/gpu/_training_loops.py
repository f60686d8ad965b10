"""Compiled training steps, each side in its own process, and the loader's wait share."""

import json
import os
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.gpu._results import Results
from benchmarks.gpu._training import (
    FIRST_STEPS,
    ROUND_SECONDS,
    ROUNDS,
    WAIT,
    write_step,
)
from benchmarks.tensor._crew import Failed, Late, Member, begin
from benchmarks.tensor._networks import Setup

PAIRS = (
    ("ours on torch compiled", "torch.compile"),
    ("ours on jax compiled", "jax.jit"),
)
# Seconds that are left to the items that follow the compiled steps.
RESERVE = {True: 8.0, False: 35.0}
COMPILE_SECONDS = 70.0
THREADS = (4, 8, 16)
# Records of the file, and seconds that each number of threads is measured.
RECORDS, PASS_SECONDS, TINY_RECORDS = 400_000, 3.0, 200

Found = dict[str, dict[str, Any]]


def measure_compiled(results: Results, setup: Setup) -> None:
    """Compiles all sides at the same time, then times them in turns."""
    sides = [side for pair in PAIRS for side in pair]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        crew = {
            side: stack.enter_context(begin(side, setup, **_variables(results, path)))
            for side in sides
            for path in [Path(folder, side)]
        }
        found = _compile(results, crew)
        _time(results, crew, found)
    for pair in PAIRS:
        write_step(results, setup, found, mode="compiled", pair=pair)


def _variables(results: Results, cache: Path) -> dict[str, str]:
    """The environment of a side: JAX leaves memory to the others."""
    found = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if results.is_tiny:
        return found
    # Nothing that was compiled earlier is used.
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
    }
    return found | caches


def _compile(results: Results, crew: dict[str, Member]) -> Found:
    """Has all sides make their first steps; those that fail or are late are left out."""
    found: Found = {}
    deadline = results.seconds_left() - RESERVE[results.is_tiny]
    end = time.monotonic() + min(deadline, COMPILE_SECONDS)
    for member in crew.values():
        member.send("first", FIRST_STEPS)
    for side, member in crew.items():
        try:
            member.answer(max(1.0, end - time.monotonic()))  # it is ready
        except Failed as failure:
            found[side] = {"skipped": str(failure)}
            continue
        try:
            answer = json.loads(member.answer(max(1.0, end - time.monotonic())))
        except Late as failure:
            found[side] = {"skipped": str(failure)}
            continue
        except Failed as failure:
            found[side] = {"failed": str(failure)}
            continue
        found[side] = {"losses": answer["losses"], "compile_seconds": answer["seconds"]}
    return found


def _time(results: Results, crew: dict[str, Member], found: Found) -> None:
    """Times the sides in turns."""
    ready = {side: crew[side] for side in crew if "losses" in found[side]}
    steps = {side: 1 if results.is_tiny else _count_steps(ready[side]) for side in ready}
    rounds = [
        {side: ready[side].ask("burst", steps[side]) for side in ready}
        for _ in range(ROUNDS[results.is_tiny])
    ]
    for side, member in ready.items():
        found[side]["seconds"] = [each[side] for each in rounds]
        if (peak := member.ask("peak", 2)) is not None:
            found[side]["peak_bytes"] = peak


def _count_steps(member: Member) -> int:
    """The number of steps that make a round long enough for the clock."""
    member.ask("burst", 3)
    return max(3, round(ROUND_SECONDS / member.ask("burst", 3)))


def measure_waits(results: Results, setup: Setup) -> None:
    """Trains from a FASTA file, with each number of threads."""
    from benchmarks.tensor._sides import SIDES

    with TemporaryDirectory() as folder:
        records = TINY_RECORDS if results.is_tiny else RECORDS
        data = _write_and_open(Path(folder), records, setup.network.length)
        side = SIDES["ours on torch"](setup)
        _train(side, _load(data, setup, 0), seconds=0.0)  # plans of kernels are made here
        for threads in THREADS:
            seconds = 0.0 if results.is_tiny else PASS_SECONDS
            found = _train(side, _load(data, setup, threads), seconds=seconds)
            sizes = {"rows": setup.network.rows, "length": setup.network.length}
            fields = {"network": setup.name, "dtype": setup.dtype, "threads": threads}
            results.add(WAIT, **fields, **sizes, cores=os.cpu_count(), **found)


def _write_and_open(folder: Path, records: int, length: int) -> Any:
    """A dataset of random DNA in three classes, which are read from a table."""
    import seqloom as sl

    rng = np.random.default_rng(0)
    bases = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (records, length))]
    with (folder / "random.fa").open("wb") as file:
        file.writelines(b">r%d\n%b\n" % (n, row.tobytes()) for n, row in enumerate(bases))
    lines = (f"r{n}\tclass{n % 3}\n" for n in range(records))
    (folder / "classes.tsv").write_text("id\tlabel\n" + "".join(lines))
    return sl.data.SequenceDataset(
        folder / "random.fa", labels=folder / "classes.tsv", encoder=sl.encode.OneHot("dna")
    )


def _load(data: Any, setup: Setup, threads: int) -> Any:
    import seqloom as sl

    return sl.data.DataLoader(
        data, setup.network.rows, shuffle=True, drop_last=True, num_workers=threads
    )


def _train(side: Any, loader: Any, *, seconds: float) -> dict[str, Any]:
    """Makes whole passes until the time is over; returns where it went."""
    from seqloom.infer.monitor._clock import Clock

    clock, samples = Clock(), 0
    while not samples or clock.wall < seconds:
        batches = iter(loader)
        while (batch := _wait_for(batches, clock)) is not None:
            with clock.spending("host"):
                arrays = {"x": batch["inputs"], "label": batch["label"]}
                tensors = side.prepare(arrays)
            side.step(tensors)  # reads its loss, as `fit` does
            samples += len(batch["label"])
    return {
        "share": clock.shares["input"],
        "copy_share": clock.shares["host"],
        "samples": samples,
        "samples_per_second": samples / clock.wall,
    }


def _wait_for(batches: Any, clock: Any) -> Any:
    """The next batch, whose wait is counted; None at the end of a pass."""
    with clock.spending("input"):
        return next(batches, None)
