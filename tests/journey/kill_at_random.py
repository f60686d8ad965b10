"""Kill training runs repeatedly, resume them, and compare the results.

Each run is a process that is killed by SIGKILL. The process is killed at a random time,
or at a random call that writes, renames, links or deletes a file. The arguments are
KILLS SEED FOLDER. The program prints the number of kills, and the number that left a
checkpoint within an epoch.
"""

import functools
import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import seqloom as sl
from seqloom.train import _parts
from seqloom.train._checkpoints import STEPS_KEY

DEMO_FILES = Path(sl.__file__).parent / "_demo"
FILE_SYSTEM_CALLS = ("fsync", "replace", "rename", "link", "unlink", "open")
NO_KILL = 1 << 30


def part(first, last):
    data = sl.data.SequenceDataset(
        DEMO_FILES / "test.fa.gz",
        labels=DEMO_FILES / "test.tsv",
        encoder=sl.encode.OneHot("dna"),
    )
    return sl.data.Subset(data, range(first, last))


TRAIN, VALID = part(0, 70), part(70, 90)
NETWORK_CONFIG = sl.models.SequenceCNNConfig(
    channels=4, outputs=3, widths=(4,), kernel_size=3
)


def train(folder, keep, workers):
    """Train three epochs of nine steps, with a checkpoint after each step."""
    loader = functools.partial(sl.data.DataLoader, num_workers=workers)
    _parts.DataLoader = loader  # pyright: ignore[reportPrivateImportUsage]
    sl.train.fit(
        NETWORK_CONFIG,
        TRAIN,
        VALID,
        epochs=3,
        batch_size=8,
        out=sl.train.RunFolder(folder, checkpoint_every=1, keep=keep, report=False),
        resume=True,
        backend=sl.train.Computation(num_threads=1),
        progress=False,
    )


def die_at(number):
    """Kill this process at a call that changes files."""
    left = [number]

    def count(call, *args, **options):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **options)

    for name in FILE_SYSTEM_CALLS:
        setattr(os, name, functools.partial(count, getattr(os, name)))


def start(folder, *, keep=1, workers=0, call=NO_KILL):
    """Train in a new process."""
    if pid := os.fork():
        return pid
    try:
        if call != NO_KILL:
            die_at(call)
        train(folder, keep, workers)
        os._exit(0)
    finally:
        os._exit(1)


def end_of(pid):
    """Wait for a process; return whether it was killed."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in {0, -signal.SIGKILL}, code
    return code != 0


def is_within_epoch(folder):
    """Read the complete checkpoint if it exists."""
    last = folder / "checkpoint/last.safetensors"
    record = sl.record.load(last) if last.exists() else {}
    assert all(np.isfinite(np.asarray(array)).all() for array in record.values())
    return STEPS_KEY in record


def content_of(folder):
    """Return all content that must be equal: files and arrays of the checkpoint."""
    files = ("model.safetensors", "scores-valid.tsv", "config.json")
    record = sl.record.load(folder / "checkpoint/last.safetensors")
    arrays = {path: np.asarray(array).tobytes() for path, array in record.items()}
    return arrays, [(folder / name).read_bytes() for name in files]


def kill_once(folder, rng, seconds, keep):
    """Resume in a folder; kill the process at a random moment, unless it has finished."""
    options = {"keep": keep, "workers": rng.choice((0, 0, 1, 2))}
    if rng.random() < 0.5:
        return end_of(start(folder, **options, call=rng.randrange(60)))
    pid = start(folder, **options)
    time.sleep(rng.random() * seconds)
    os.kill(pid, signal.SIGKILL)
    return end_of(pid)


def main(kills, seed, home):
    rng = random.Random(seed)  # noqa: S311 - no secret
    begin = time.monotonic()
    assert not end_of(start(home / "whole"))
    seconds = time.monotonic() - begin
    expected, runs, done, within = content_of(home / "whole"), 0, 0, 0
    while done < kills:
        folder, keep = home / f"run{runs}", rng.choice((1, 2, 3))
        while kill_once(folder, rng, seconds, keep):
            done += 1
            within += is_within_epoch(folder)
        assert not end_of(start(folder, keep=keep))
        assert content_of(folder) == expected, folder
        assert len(list((folder / "checkpoint").iterdir())) <= keep + 2
        shutil.rmtree(folder)
        runs += 1
    said = f"{done} kills of {runs} runs, {within} within an epoch, all ends equal\n"
    sys.stdout.write(said)


if __name__ == "__main__":
    warnings.simplefilter("ignore", sl.errors.NoSkillWarning)
    warnings.simplefilter("ignore", sl.errors.SeenRecordsWarning)
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
