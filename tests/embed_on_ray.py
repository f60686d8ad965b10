"""An embedding job on a local Ray cluster, during which one process is killed.

    python embed_on_ray.py IN.fasta OUT [SHARD_SIZE [SECONDS_OF_A_BATCH]]

Runs as a separate process, because Ray ends its caller if the cluster fails.
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
    """Embed tokens slowly: wait for EMBED_SECONDS in each batch."""
    time.sleep(float(os.environ["EMBED_SECONDS"]))
    return embed_job.embed_tokens(batch)


def load_slow(backend):
    """Return the model; one process writes its process id to a file."""
    with suppress(FileExistsError), Path(os.environ["EMBED_PID"]).open("x") as file:
        file.write(str(os.getpid()))
    return slow


def kill_a_worker(out, killed):
    """Kill a worker after it has published a shard."""
    process = out.with_name("pid")
    while not (process.exists() and list(out.glob("*.done"))):
        time.sleep(0.01)
    killed.append(int(process.read_text()))
    os.kill(killed[0], signal.SIGKILL)


def run(fasta, out, shard_size="5", seconds="0.1"):
    """Run the job; report the killed process and the job's messages."""
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
