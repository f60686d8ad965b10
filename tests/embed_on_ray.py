"""A job on a cluster of Ray on this machine, one process of which is killed.

    python embed_on_ray.py IN.fasta OUT

A process of its own, because Ray ends the process that called it when its cluster fails.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import ray

import embed_job
import seqloom as sl


def slow(batch):
    """A model that takes its time."""
    time.sleep(0.1)
    return embed_job.embed_tokens(batch)


def load_slow(backend):
    return slow


def kill_a_worker(out, killed):
    """Kills the first process that has claimed a shard."""
    while not killed:
        for path in out.glob("*.claim"):
            try:
                killed.append(json.loads(path.read_bytes())["pid"])
            except (OSError, ValueError):
                continue
            os.kill(killed[0], signal.SIGKILL)
            return
        time.sleep(0.01)


def run(fasta, out):
    """Runs the job; says what was killed, and what the job told."""
    killed, seen = [], []
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    threading.Thread(target=kill_a_worker, args=(out, killed), daemon=True).start()
    summary = sl.infer.embed(
        load_slow,
        fasta,
        out=out,
        shard_size=5,
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
    sys.stdout.write(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
    ray.shutdown()
