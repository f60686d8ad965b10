"""Several processes for one job: those of devices=, and those of torchrun."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import embed_job
import seqloom as sl


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sl.models.ESM2Config(layers=2, width=16, heads=4).init("numpy").save("small")
    texts = ("MKTAYIAKQRMALWMRLLPLLALLALW"[n % 11 : 15 + n % 9] for n in range(60))
    Path("p.fa").write_text("".join(f">s{n}\n{text}\n" for n, text in enumerate(texts)))
    return tmp_path


def sums_of(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).glob("*.safetensors")
    }


def type_command(*words, launcher=()):
    return subprocess.run(
        [sys.executable, *launcher, "-m", "seqloom.cli", "embed", *words],
        check=False,
        capture_output=True,
        text=True,
    )


COMMAND = ("p.fa", "--model", "small", "--shard-size", "5", "--out")


def test_processes_of_an_option_and_of_torchrun_write_what_one_writes(folder):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port")
    ways = {
        "one": type_command(*COMMAND, "one"),
        "two": type_command(*COMMAND, "two", "--devices", "2"),
        "run": type_command(*COMMAND, "run", launcher=(*torchrun, "0")),
    }
    for name, done in ways.items():
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(f"embeddings of 60 records: {name}") == 1, name
        assert sums_of(name) == sums_of("one"), name


def embed_on_two(load, out):
    return sl.infer.embed(load, "p.fa", out=out, devices=["numpy", "numpy"], shard_size=5)


def test_the_shards_of_a_process_that_dies_are_taken_over_and_it_is_named(
    folder, monkeypatch
):
    monkeypatch.setenv("KILL_ONCE", str(folder / "killed"))
    summary = embed_on_two(embed_job.load_and_die_once, "e")
    (note,) = summary.notes
    assert "was killed by SIGKILL; the others took over its shards" in note
    assert len(sums_of("e")) == summary.shards == 12
    assert not list(Path("e").glob("*.claim"))


def test_where_no_process_comes_to_the_end_the_error_is_that_of_the_first(folder):
    with pytest.raises(sl.errors.BackendError, match="no such device") as caught:
        embed_on_two(embed_job.refuse, "e")
    assert len(caught.value.__notes__) == 2


@pytest.mark.parametrize(
    ("model", "devices", "message"),
    [
        (embed_job.load_model, [], "devices must be names of backends"),
        (embed_job.load_model, "numpy", "devices must be names of backends"),
        (3, ["numpy"], "must be a function with a parameter backend"),
    ],
)
def test_devices_and_loaders_that_are_none_are_refused(folder, model, devices, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        sl.infer.embed(model, "p.fa", out="e", devices=devices)


def test_a_signal_ends_all_processes_which_give_their_claims_back(folder):
    text = Path("p.fa").read_text()
    Path("long.fa").write_text(text * 500)
    words = ["long.fa", *COMMAND[1:], "e", "--devices", "2"]
    command = [sys.executable, "-m", "seqloom", "embed", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(Path("e").glob("*.done")) and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGTERM)
        said = process.communicate()[1]
    assert process.returncode == 143, said
    assert "Traceback" not in said
    assert not list(Path("e").glob("*.claim"))
    assert not Path("e/complete.json").exists()


def test_devices_under_torchrun_are_refused(folder, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = type_command(*COMMAND, "e", "--devices", "2")
    assert (done.returncode, "give one of the two" in done.stderr) == (2, True)
