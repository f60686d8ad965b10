"""A job on a cluster of Ray on this machine, one process of which is killed.

    python embed_on_ray.py IN.fasta OUT [SHARD_SIZE [SECONDS_OF_A_BATCH]]

A process of its own, because Ray ends the process that called it when its cluster fails.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import ray

import embed_job
import seqloom as sl


def slow(batch):
    """A model that takes its time."""
    time.sleep(float(os.environ["EMBED_SECONDS"]))
    return embed_job.embed_tokens(batch)


def load_slow(backend):
    """Load the model; one process writes its number where it can be read."""
    with suppress(FileExistsError), Path(os.environ["EMBED_PID"]).open("x") as file:
        file.write(str(os.getpid()))
    return slow


def kill_a_worker(out, killed):
    """Kill a worker once it has published a shard."""
    process = out.with_name("pid")
    while not (process.exists() and list(out.glob("*.done"))):
        time.sleep(0.01)
    killed.append(int(process.read_text()))
    os.kill(killed[0], signal.SIGKILL)


def run(fasta, out, shard_size="5", seconds="0.1"):
    """Run the job; says what was killed, and what the job told."""
    killed, seen = [], []
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    os.environ["EMBED_SECONDS"] = seconds
    os.environ["EMBED_PID"] = str(out.absolute().with_name("pid"))
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    threading.Thread(target=kill_a_worker, args=(out, killed), daemon=True).start()
    summary = sl.infer.embed(
        load_slow,
        fasta,
        out=out,
        shard_size=int(shard_size),
        identity="table",
        devices=["numpy", "numpy"],
        engine="ray",
        num_threads=2,
        progress=seen.append,
    )
    last = seen[-1]
    return {
        "killed": len(killed),
        "shards": summary.shards,
        "done": last.done,
        "records": last.records,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])))
    ray.shutdown()
