"""Tests of embedding jobs as Ray tasks, on a local cluster."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import embed_job
import seqloom as sl

RAY_SCRIPT = Path(embed_job.__file__).with_name("embed_on_ray.py")


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


def test_ray_tasks_write_the_files_of_one_process_after_a_kill(fasta, tmp_path):
    pytest.importorskip("ray")
    one = tmp_path / "one"
    sl.infer.embed(embed_job.embed_tokens, fasta, out=one, shard_size=5, identity="table")
    command = [sys.executable, RAY_SCRIPT, fasta, tmp_path / "e"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and "Traceback" not in done.stderr:
        pytest.skip(f"Ray's cluster failed and ended the job, exit code {done.returncode}")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {"killed": 1, "shards": 40, "done": 200, "records": 200}
    assert sums_of(tmp_path / "e") == sums_of(one)


def test_embedding_on_ray_without_devices_is_an_error(fasta, tmp_path):
    with pytest.raises(sl.errors.ArgumentError, match="also pass devices="):
        sl.infer.embed(embed_job.embed_tokens, fasta, out=tmp_path / "e", engine="ray")


def test_embedding_without_ray_names_the_missing_package(fasta, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(sl.errors.MissingExtraError, match="pip install ray"):
        sl.infer.embed(
            embed_job.load_model, fasta, out=tmp_path / "e", devices=["numpy"], engine="ray"
        )


def test_embed_imports_ray_only_on_request():
    code = "import sys, seqloom.infer, seqloom.cli._embed; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert done.stdout.split() == [b"False"]
