"""Times compiled training steps of each library, and the time spent waiting for data."""

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
    OURS,
    ROUND_SECONDS,
    ROUNDS,
    WAIT,
    WARM_UP_STEPS,
    Sides,
    write_step,
)
from benchmarks.tensor._networks import MeasurementSetup
from benchmarks.tensor._processes import (
    LibraryFailed,
    LibraryProcess,
    LibraryTimedOut,
    start_worker,
)

COMPARED_LIBRARIES = (
    ("ours on torch compiled", "torch.compile"),
    ("ours on jax compiled", "jax.jit"),
)
COMPILE_SECONDS = 70.0
# Seconds reserved for measurements after compilation, on a GPU and in a tiny run.
RESERVED_SECONDS = (35.0, 8.0)
LOADER_THREAD_COUNTS = (4, 8, 16)
# Number of records in the file, and seconds per number of threads.
RECORDS, TINY_RECORDS, PASS_SECONDS = 400_000, 200, 3.0


def measure_compiled(results: Results, setup: MeasurementSetup) -> None:
    """Compile with all libraries at the same time, then time them alternately."""
    names = [name for pair in COMPARED_LIBRARIES for name in pair]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        members = {
            name: stack.enter_context(
                start_worker(name, setup, **_make_variables(results, Path(folder, name)))
            )
            for name in names
        }
        sides = _compile_libraries(results, members)
        _time_compiled_libraries(results, members, sides)
    for pair in COMPARED_LIBRARIES:
        write_step(results, setup, sides, mode="compiled", pair=pair)


def _make_variables(results: Results, cache: Path) -> dict[str, str]:
    """Return the environment variables of the process of one library.

    The variables stop JAX from allocating all GPU memory, and set empty compilation
    caches.
    """
    variables = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if not results.is_tiny:
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
        variables["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    return variables


def _compile_libraries(results: Results, members: dict[str, LibraryProcess]) -> Sides:
    """Run the first steps with all libraries; record failures and timeouts."""
    seconds = min(
        results.seconds_left() - RESERVED_SECONDS[results.is_tiny], COMPILE_SECONDS
    )
    end = time.monotonic() + seconds
    for member in members.values():
        member.send_request("run_first_steps", WARM_UP_STEPS)
    sides: Sides = {}
    for name, member in members.items():
        is_ready = False
        try:
            member.read_reply(max(1.0, end - time.monotonic()))  # process has started
            is_ready = True
            answer = json.loads(member.read_reply(max(1.0, end - time.monotonic())))
        except LibraryTimedOut:
            sides[name] = {"skipped": f"its first steps took more than {seconds:.0f} s"}
        except LibraryFailed as failure:
            sides[name] = {"failed" if is_ready else "skipped": str(failure)}
        else:
            sides[name] = {
                "losses": answer["losses"],
                "compile_seconds": answer["seconds"],
            }
    return sides


def _time_compiled_libraries(
    results: Results, members: dict[str, LibraryProcess], sides: Sides
) -> None:
    """Time the compiled libraries alternately; record a library that fails."""
    is_tiny = results.is_tiny
    compiled = {name: members[name] for name in members if "losses" in sides[name]}
    steps = {
        name: 1 if is_tiny else _count_steps(sides[name], member)
        for name, member in compiled.items()
    }
    for _ in range(ROUNDS[is_tiny]):
        for name, member in compiled.items():
            seconds = _send_request(
                sides[name], member, "time_unsynchronised_steps", steps=steps[name]
            )
            if seconds is not None:
                sides[name].setdefault("seconds", []).append(seconds)
    for name, member in compiled.items():
        peak = _send_request(sides[name], member, "measure_device_memory", steps=2)
        if peak is not None:
            sides[name]["peak_bytes"] = peak


def _count_steps(side: dict[str, Any], member: LibraryProcess) -> int:
    """Return the number of steps that take about `ROUND_SECONDS`."""
    _send_request(side, member, "time_unsynchronised_steps", steps=3)
    seconds = _send_request(side, member, "time_unsynchronised_steps", steps=3)
    return 3 if seconds is None else max(3, round(ROUND_SECONDS / seconds))


def _send_request(
    side: dict[str, Any], member: LibraryProcess, method: str, *, steps: int
) -> Any:
    """Send a request to the process of a library; return None if it fails or has failed."""
    if "failed" in side:
        return None
    try:
        return member.request_result(method, steps)
    except LibraryFailed as failure:
        side["failed"] = str(failure)
        return None


def measure_waits(results: Results, setup: MeasurementSetup) -> None:
    """Measure training from a FASTA file with 4, 8 and 16 loader threads."""
    from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY

    with TemporaryDirectory() as folder:
        records = TINY_RECORDS if results.is_tiny else RECORDS
        data = _write_dataset(Path(folder), records, setup.network.length)
        learner = BUILDER_OF_LIBRARY[OURS](setup)
        _train_epochs(learner, _make_loader(data, setup, 0), seconds=0.0)  # warm-up
        for threads in LOADER_THREAD_COUNTS:
            seconds = 0.0 if results.is_tiny else PASS_SECONDS
            figures = _train_epochs(
                learner, _make_loader(data, setup, threads), seconds=seconds
            )
            sizes = {"rows": setup.network.rows, "length": setup.network.length}
            fields = {"network": setup.name, "dtype": setup.dtype, "threads": threads}
            results.add(WAIT, **fields, **sizes, cores=os.cpu_count(), **figures)


def _write_dataset(folder: Path, records: int, length: int) -> Any:
    """Write random DNA and a table of three classes, and return the dataset."""
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


def _make_loader(data: Any, setup: MeasurementSetup, threads: int) -> Any:
    import seqloom as sl

    return sl.data.DataLoader(
        data, setup.network.rows, shuffle=True, drop_last=True, num_workers=threads
    )


def _train_epochs(learner: Any, loader: Any, *, seconds: float) -> dict[str, Any]:
    """Train for complete epochs of at least `seconds`; return how the time was spent."""
    from seqloom.infer.monitor._clock import Clock

    clock, samples = Clock(), 0
    while not samples or clock.wall_seconds < seconds:
        batches = iter(loader)
        while (batch := _wait_for_batch(batches, clock)) is not None:
            with clock.spending("host"):
                arrays = {"x": batch["inputs"], "label": batch["label"]}
                tensors = learner.prepare_batch(arrays)
            learner.step(tensors)  # read the loss, as `fit` does
            samples += len(batch["label"])
    return {
        "share": clock.shares["input"],
        "copy_share": clock.shares["host"],
        "samples": samples,
        "samples_per_second": samples / clock.wall_seconds,
    }


def _wait_for_batch(batches: Any, clock: Any) -> Any:
    """Return the next batch, or None at the end of an epoch; add up the waiting time."""
    with clock.spending("input"):
        return next(batches, None)
