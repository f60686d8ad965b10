"""Train or resume in a folder, and kill the process at a given moment."""

import os
import signal
import sys
from pathlib import Path

import seqloom as sl

DEMO_FILES = Path(sl.__file__).parent / "_demo"
folder, death = sys.argv[1:]
wait = os.fsync
counted = 0


def die_at(moment):
    """Kill the process, as in a power failure, if `moment` is the requested moment."""
    if moment == death:
        os.kill(os.getpid(), signal.SIGKILL)


def count_and_wait(handle):
    """Count calls of `os.fsync`, and kill the process at the given call."""
    global counted  # noqa: PLW0603 - a script
    counted += 1
    die_at(f"sync {counted}")
    wait(handle)


class Watch(sl.train.Progress):
    """A callback that receives each step."""

    def on_start(self, plan):
        pass

    def on_batch(self, step):
        die_at(f"batch {step.epoch}.{step.batch}")

    def on_epoch(self, row):
        die_at(f"epoch {row['epoch']}")

    def on_end(self, run):
        pass


os.fsync = count_and_wait
encoder = sl.encode.OneHot("dna")
data = sl.data.SequenceDataset(
    DEMO_FILES / "train.fa.gz", labels=DEMO_FILES / "train.tsv", encoder=encoder
)
train, valid, _ = sl.data.split(data, (0.1, 0.1, 0.8), stratify=True, seed=0)
test = sl.data.SequenceDataset(
    DEMO_FILES / "test.fa.gz",
    labels=sl.data.Labels(DEMO_FILES / "test.tsv", classes=data.classes),
    encoder=encoder,
)
config = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(8, 8), dropout=0.3)
sl.train.fit(
    config,
    train,
    valid,
    test=test,
    epochs=4,
    lr=1e-2,
    out=folder,
    resume=True,
    backend=sl.train.Computation(num_threads=1),
    progress=Watch(),
)
