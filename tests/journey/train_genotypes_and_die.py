"""Train or resume on genotypes in a folder, and kill the process at a given moment."""

import os
import signal
import sys
from pathlib import Path

import seqloom as sl

DEMO_GENOTYPES = Path(__file__).parents[2] / "python/seqloom/_demo/genotypes"
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
labels = sl.data.Labels(DEMO_GENOTYPES / "phenotype.txt", label_column="Y1")
data = sl.data.GenotypeDataset(
    DEMO_GENOTYPES / "example.bed", labels, DEMO_GENOTYPES / "covariates.txt"
)
train, valid, test = sl.data.split(data, (0.7, 0.1, 0.2), seed=0)
config = sl.models.GenotypeMLPConfig.for_data(train)
sl.train.fit(
    config,
    train,
    valid,
    test=test,
    epochs=5,
    out=folder,
    resume=True,
    backend=sl.train.Computation(num_threads=1),
    progress=Watch(),
)
