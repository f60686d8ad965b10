"""Tests of embedding jobs in several processes: devices=, torchrun, and SLURM arrays."""

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


EMBED_ARGUMENTS = ("p.fa", "--model", "small", "--shard-size", "5", "--out")


def test_embedding_by_several_processes_writes_the_files_of_one_process(folder):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port")
    ways = {
        "one": type_command(*EMBED_ARGUMENTS, "one"),
        "two": type_command(*EMBED_ARGUMENTS, "two", "--devices", "2"),
        "run": type_command(*EMBED_ARGUMENTS, "run", launcher=(*torchrun, "0")),
    }
    for name, done in ways.items():
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("seqloom ") == 1, name  # only one process prints
        assert sums_of(name) == sums_of("one"), name
    assert "embeddings of 60 records: two" in ways["two"].stdout


def embed_on_two(load, out):
    return sl.infer.embed(load, "p.fa", out=out, devices=["numpy", "numpy"], shard_size=5)


def test_embed_reports_a_killed_process_and_can_be_continued(folder, monkeypatch):
    monkeypatch.setenv("KILL_ONCE", str(folder / "killed"))
    named = r"process [01] \(numpy\) was killed by SIGKILL before its part was finished"
    with pytest.raises(sl.errors.WorkerError, match=named):
        embed_on_two(embed_job.load_and_die_once, "e")
    assert len(sums_of("e")) == 6  # number of shards of the other process
    summary = embed_on_two(embed_job.load_and_die_once, "e")
    assert (summary.computed, summary.missing) == (6, 0)
    assert len(sums_of("e")) == summary.shards == 12


def test_an_error_in_embedding_processes_names_all_processes(folder):
    with pytest.raises(sl.errors.BackendError, match="no such device") as caught:
        embed_on_two(embed_job.refuse, "e")
    assert len(caught.value.__notes__) == 2


@pytest.mark.parametrize(
    ("model", "devices", "message"),
    [
        (embed_job.load_model, [], "devices must be names of backends"),
        (embed_job.load_model, "numpy", "devices must be names of backends"),
        (3, ["numpy"], "must be a function with backend="),
    ],
)
def test_invalid_devices_of_embed_are_an_error(folder, model, devices, message):
    with pytest.raises(sl.errors.ArgumentError, match=message):
        sl.infer.embed(model, "p.fa", out="e", devices=devices)


def test_a_signal_ends_all_processes_of_an_embedding_job(folder):
    text = Path("p.fa").read_text()
    Path("long.fa").write_text(text * 500)
    words = ["long.fa", *EMBED_ARGUMENTS[1:], "e", "--devices", "2"]
    command = [sys.executable, "-m", "seqloom", "embed", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(Path("e").glob("*.done")) and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGTERM)
        said = process.communicate()[1]
    assert process.returncode == 143, said
    assert "Traceback" not in said
    assert not Path("e/complete.json").exists()
    assert not list(Path("e").glob("*.part"))


def test_the_option_devices_under_torchrun_is_an_error(folder, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = type_command(*EMBED_ARGUMENTS, "e", "--devices", "2")
    assert (done.returncode, "use only one" in done.stderr) == (2, True)


def embed_part(out, **options):
    return sl.infer.embed(
        embed_job.embed_tokens,
        "p.fa",
        out=out,
        shard_size=5,
        identity="table",
        **options,
    )


def set_environment(monkeypatch, text):
    for word in text.split():
        name, _, value = word.partition("=")
        monkeypatch.setenv(name.replace("TASK", "SLURM_ARRAY_TASK"), value)


ARRAY_JOB_VARIABLES = "TASK_ID={} TASK_MIN=2 TASK_MAX=8 TASK_STEP=3 TASK_COUNT=3"


@pytest.mark.parametrize(
    ("environments", "first"),
    [
        ([ARRAY_JOB_VARIABLES.format(number) for number in (2, 5, 8)], [0, 3, 6, 9]),
        ([f"RANK={number} WORLD_SIZE=3" for number in range(3)], [0, 3, 6, 9]),
        (
            [
                f"{ARRAY_JOB_VARIABLES.format(task)} RANK={rank} WORLD_SIZE=2"
                for task in (2, 5, 8)
                for rank in (0, 1)
            ],
            [0, 6],
        ),
    ],
    ids=["SLURM", "torchrun", "torchrun in SLURM"],
)
def test_each_task_of_a_scheduler_embeds_one_part_of_the_records(
    folder, monkeypatch, environments, first
):
    shards, summaries = [], []
    for number, environment in enumerate(environments):
        with monkeypatch.context() as patch:
            set_environment(patch, environment)
            embed_part(f"alone-{number}")
            shards.append({int(name[6:12]) for name in sums_of(f"alone-{number}")})
            summaries.append(embed_part("e"))
    assert shards[0] == {*first}
    assert sorted(number for part in shards for number in part) == [*range(12)]
    embed_part("one")
    assert sums_of("e") == sums_of("one")
    last = summaries[-1]
    assert (last.computed, last.missing, last.notes) == (len(first), 0, ())
    assert Path("e/complete.json").read_bytes() == Path("one/complete.json").read_bytes()


def test_a_note_explains_missing_shards_of_other_array_tasks(folder, monkeypatch):
    set_environment(monkeypatch, ARRAY_JOB_VARIABLES.format(5))
    (note,) = embed_part("e").notes
    assert "part 2/3 of the shards, set by SLURM_ARRAY_TASK_ID; 8 of 12" in note
    assert embed_part("e", part="1/1").missing == 0


def test_devices_divide_the_embedding_shards_of_a_slurm_task(folder, monkeypatch):
    set_environment(monkeypatch, ARRAY_JOB_VARIABLES.format(5))
    devices = ["numpy", "numpy"]
    summary = sl.infer.embed(
        embed_job.load_model, "p.fa", out="e", devices=devices, shard_size=5
    )
    assert {int(name[6:12]) for name in sums_of("e")} == {1, 4, 7, 10}
    assert (summary.computed, summary.missing) == (4, 8)


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", (1, 2)])
def test_an_invalid_value_of_the_option_part_is_an_error(folder, part):
    with pytest.raises(sl.errors.ArgumentError, match='part must be "i/n"'):
        embed_part("e", part=part)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ("TASK_ID=7 TASK_MIN=3 TASK_MAX=7 TASK_STEP=1 TASK_COUNT=2", "2 tasks from 3 to 7"),
        ("TASK_ID=1 TASK_MIN=1 TASK_MAX=2 TASK_STEP=1", "TASK_COUNT must be a number"),
        ("RANK=x WORLD_SIZE=2", "variable RANK must be a number"),
        ("RANK=2 WORLD_SIZE=2", "RANK=2 must be below WORLD_SIZE=2"),
        ("RANK=0 WORLD_SIZE=two", "variable WORLD_SIZE must be a number"),
    ],
)
def test_an_invalid_array_task_in_the_environment_is_an_error(
    folder, monkeypatch, environment, message
):
    set_environment(monkeypatch, environment)
    with pytest.raises(sl.errors.ArgumentError, match=message):
        embed_part("e")
    assert not Path("e").exists()
