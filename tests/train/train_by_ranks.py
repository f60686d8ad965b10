"""Trains in a folder, going on where it can; alone or as one of torchrun's processes."""

import os
import signal
import sys
from pathlib import Path

sys.modules["matplotlib"] = None  # pyright: ignore[reportArgumentType] - drawing takes longer

import seqloom as sl  # noqa: E402 - after the line above

DEMO = Path(sl.__file__).parent / "_demo"
folder, backend, what, *place = sys.argv[1:]
rank = int(os.environ.get("RANK", "0"))


class Faulty(sl.data.SequenceDataset):
    """Cannot be read any more in one process."""

    def batch(self, indices, **options):
        if what == "fault" and rank == 1 and len(indices) > 20:
            raise OSError("the disk of process 1 is gone")
        return super().batch(indices, **options)


class Watch:
    """Stops or kills in a step."""

    def on_batch(self, step):
        here = f"{step.epoch}.{step.batch}"
        if what == "kill" and here == place[0]:
            os.kill(os.getppid() if "RANK" in os.environ else os.getpid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "stop" and here == place[0]:
            os.kill(os.getppid(), signal.SIGTERM)


def part(name, size):
    data = Faulty(
        DEMO / f"{name}.fa.gz", labels=DEMO / f"{name}.tsv", encoder=sl.encode.OneHot("dna")
    )
    return sl.data.Subset(data, range(size))


config = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(8, 8), dropout=0.0)
run = sl.train.fit(
    config,
    part("train", 163),
    part("test", 50),
    epochs=2,
    batch_size=27,
    out=folder,
    backend=backend,
    resume=True,
    checkpoint_every="epoch" if what == "stop" else 1,
    callbacks=[Watch()],
    progress=False,
)
