"""Script that trains or resumes in a folder, alone or as one of several processes.

The arguments are FOLDER BACKEND WHAT PLACE [WORLD]. With WORLD, the script forks this
number of processes, as torchrun does, but imports torch only once. Without WORLD,
torchrun may have started the script.
"""

import os
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path

import seqloom as sl

DEMO_FILES = Path(sl.__file__).parent / "_demo"
folder, backend, what, *rest = sys.argv[1:]
place, world = [*rest, "", "1"][:2]


def fork_ranks(count):
    """Fork processes that continue the script, with the variables that torchrun sets."""
    import_module("torch.distributed")

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ["WORLD_SIZE"] = str(count)
    for number in range(count):
        if not os.fork():
            os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(number)
            return
    statuses = [os.wait()[1] for _ in range(count)]
    sys.exit(any(statuses))


if len(rest) == 2 and world != "1":
    fork_ranks(int(world))
rank = int(os.environ.get("RANK", "0"))


read_batch = sl.data.Dataset.batch


def faulty_batch(self, indices, **options):
    """Raise an error in process 1 if the script's argument is "fault"."""
    if what == "fault" and rank == 1 and len(indices) > 20:
        raise OSError("the disk of process 1 is gone")
    return read_batch(self, indices, **options)


sl.data.Dataset.batch = faulty_batch


class Watch:
    """A callback that stops or kills the process after a step."""

    def on_batch(self, step):
        here = f"{step.epoch}.{step.batch}"
        if what == "kill" and here == place:
            os.kill(os.getppid() if "RANK" in os.environ else os.getpid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "stop" and here == place:
            os.kill(os.getppid(), signal.SIGTERM)


def part(name, size):
    data = sl.data.SequenceDataset(
        DEMO_FILES / f"{name}.fa.gz",
        labels=DEMO_FILES / f"{name}.tsv",
        encoder=sl.encode.OneHot("dna"),
    )
    return sl.data.Subset(data, range(size))


config = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(8, 8), dropout=0.0)
run = sl.train.fit(
    config,
    part("train", 163),
    part("test", 50),
    epochs=2,
    batch_size=27,
    out=sl.train.RunFolder(folder, checkpoint_every="epoch" if what == "stop" else 1),
    backend=backend,
    resume=True,
    callbacks=[Watch()],
    progress=False,
)
