"""Jobs whose processes are tasks of Ray, on a cluster of this machine."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import embed_job
import seqloom as sl

SHARD = 5


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "p.fa"
    path.write_text("".join(f">s{n}\n{'MKTAYIAKQR'[n % 7 :]}\n" for n in range(200)))
    return path


def sums_of(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).glob("*.safetensors")
    }


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


def test_tasks_of_ray_of_which_one_is_killed_write_what_one_process_writes(
    fasta, tmp_path, monkeypatch
):
    ray = pytest.importorskip("ray")
    options: dict[str, Any] = {"shard_size": SHARD, "identity": "table"}
    sl.infer.embed(embed_job.embed_tokens, fasta, out=tmp_path / "one", **options)
    out, killed, seen = tmp_path / "e", [], []
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        thread = threading.Thread(target=kill_a_worker, args=(out, killed), daemon=True)
        thread.start()
        summary = sl.infer.embed(
            load_slow,
            fasta,
            out=out,
            devices=["numpy", "numpy"],
            engine="ray",
            num_threads=2,
            progress=seen.append,
            **options,
        )
    finally:
        ray.shutdown()
    assert killed
    assert sums_of(out) == sums_of(tmp_path / "one")
    assert summary.shards == 40
    assert seen[-1].done == seen[-1].records == 200


def test_ray_without_devices_is_refused(fasta, tmp_path):
    with pytest.raises(sl.errors.ArgumentError, match="give devices= too"):
        sl.infer.embed(embed_job.embed_tokens, fasta, out=tmp_path / "e", engine="ray")


def test_a_missing_ray_is_named_with_its_remedy(fasta, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(sl.errors.MissingExtraError, match=r"pip install .seqloom\[ray\]"):
        sl.infer.embed(
            embed_job.load_model, fasta, out=tmp_path / "e", devices=["numpy"], engine="ray"
        )


def test_ray_is_not_imported_unless_it_is_asked_for():
    code = "import sys, seqloom.infer, seqloom.cli._embed; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert done.stdout.split() == [b"False"]
