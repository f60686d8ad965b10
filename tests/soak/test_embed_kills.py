"""A million sequences through the whole loop under three hundred kills.

Two processes compute a part each, and both are killed together. A kill waits until so many
shards are published: the numbers are drawn from the first 93 % of the job, so that work is
left even if the test is slow to see it. Then it waits a random part of the time of two
shards. Each tenth kill, but for the last ones, comes at any time since the start of the
processes instead. On Ray one worker is killed.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import embed_job
import seqloom as sl

SCRIPT = Path(embed_job.__file__)
RECORDS, SHARD, KILLS = 1_000_000, 500, 300
SHARDS = RECORDS // SHARD
STARTING = 1.5  # seconds of the start of a process in which it may be killed


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("million") / "short.fa"
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 40, RECORDS)
    letters = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8), lengths.sum())
    text, ends = letters.tobytes(), np.cumsum(lengths).tolist()
    with path.open("wb") as file:
        for n, (first, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            file.write(b">s%d\n%s\n" % (n, text[first:stop]))
    sl.io.SequenceIndex(path)
    return path


def start(fasta, out, *part, **environment):
    return subprocess.Popen(
        [sys.executable, SCRIPT, fasta, out, str(SHARD), *part],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def start_parts(fasta, out):
    return [start(fasta, out, f"{number}/2") for number in (1, 2)]


def start_as_torchrun(fasta, out):
    return [start(fasta, out, RANK=rank, WORLD_SIZE="2") for rank in "01"]


@pytest.fixture(scope="module")
def whole(fasta):
    """A job that was not stopped: its sums, its seconds, and its memory over time."""
    out, sizes = fasta.parent / "whole", []
    with start(fasta, out) as process:
        is_over = threading.Event()

        def sample():
            while not is_over.wait(0.1):
                done = len(list(out.glob("*.done"))) if out.exists() else 0
                sizes.append((done, embed_job.resident(process.pid)))

        thread = threading.Thread(target=sample)
        thread.start()
        said = process.communicate()[0]
        is_over.set()
        thread.join()
    assert process.returncode == 0
    return sums_of(out), float(said.split()[2]), sizes


def sums_of(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).glob("*.safetensors")
    }


def test_memory_is_flat(whole, capsys):
    sizes = [size for done, size in whole[2] if done >= SHARDS // 5 and size]
    middle = len(sizes) // 2
    early, late = np.median(sizes[:middle]), np.median(sizes[middle:])
    with capsys.disabled():
        spread = f"least {min(sizes) / 1e6:.0f}, most {max(sizes) / 1e6:.0f}"
        line = f"first half {early / 1e6:.1f} MB, second {late / 1e6:.1f} MB ({spread})"
        print(f"\nresident memory after warm-up: {line}")  # noqa: T201
    assert late <= 1.05 * early


def wait(processes, is_so):
    """Wait until something is so, or all processes have ended."""
    while not is_so() and any(process.poll() is None for process in processes):
        time.sleep(0.003)


class Kills:
    """The kills of one job, and what each left."""

    def __init__(self, launch, out, *, seconds, rng):
        self.launch, self.out, self.rng = launch, out, rng
        self.step = seconds / SHARDS
        self.goals = np.sort(rng.integers(0, 93 * SHARDS // 100, KILLS))
        self.published, self.left = [], dict.fromkeys(("part", "unmarked"), 0)

    def run(self):
        """Kill the job again and again while it works."""
        for number, goal in enumerate(self.goals):
            processes = self.launch()
            if number % 10 or goal > 0.85 * SHARDS:
                self.wait_for_work(processes, goal)
            else:
                time.sleep(self.rng.uniform(0, STARTING))
            for process in processes:
                process.kill()
                process.communicate()
            # The part of one may be finished; at least one was at work.
            assert -signal.SIGKILL in {process.returncode for process in processes}
            self.look()

    def wait_for_work(self, processes, goal):
        """Wait until so many shards are published, and one more."""
        marker, before = self.out / f"shard-{goal:06d}.done", self.count()
        wait(processes, lambda: marker.exists() and self.count() > before)
        time.sleep(self.rng.uniform(0, 2 * self.step))

    def count(self):
        """Count what is published."""
        return sum(name.endswith(".done") for name in self.names())

    def names(self):
        """List the files of the folder."""
        return [entry.name for entry in os.scandir(self.out)] if self.out.exists() else []

    def look(self):
        """Count what is published, and the kinds of what a kill left."""
        names = self.names()
        shards = {name[:-12] for name in names if name.endswith(".safetensors")}
        done = {name[:-5] for name in names if name.endswith(".done")}
        assert done <= shards
        self.published.append(len(done))
        self.left["part"] += any(name.endswith(".part") for name in names)
        self.left["unmarked"] += shards != done

    def tell(self):
        """Say when the kills came, and what they left."""
        new = np.diff([0, *self.published])
        quarters = [int(self.published[KILLS * n // 4 - 1]) for n in (1, 2, 3, 4)]
        return (
            f"{KILLS} kills; {self.published[-1]:,} of {SHARDS:,} shards were published "
            f"meanwhile (after each quarter of the kills: {quarters}), some of them before "
            f"{(new > 0).sum()} of the kills. Left by kills: a part {self.left['part']} "
            f"times, a shard without its marker {self.left['unmarked']}"
        )


def check_every_record_once(out, expected):
    assert sums_of(out) == expected
    found = sl.infer.load(out)
    seen = np.zeros(RECORDS, np.uint8)
    np.add.at(seen, found.ordinals, 1)
    assert (seen == 1).all()
    assert found.ids == [f"s{n}" for n in range(RECORDS)]


@pytest.mark.parametrize("launch", [start_parts, start_as_torchrun])
def test_a_million_sequences_under_three_hundred_kills_are_those_of_one_run(
    fasta, whole, tmp_path, capsys, launch
):
    expected, seconds, _ = whole
    out = tmp_path / "e"
    kills = Kills(
        lambda: launch(fasta, out), out, seconds=seconds, rng=np.random.default_rng(0)
    )
    kills.run()
    with capsys.disabled():
        line = f"{launch.__name__}: {kills.tell()}. Without kills: {seconds:.0f} s"
        print(f"\n{line}")  # noqa: T201
    assert kills.published[-1] > 0.9 * SHARDS
    for process in launch(fasta, out):
        process.communicate()
        assert process.returncode == 0
    check_every_record_once(out, expected)


def test_a_million_sequences_on_ray_with_a_killed_worker_are_those_of_one_run(
    fasta, whole, tmp_path
):
    pytest.importorskip("ray")
    script, out = SCRIPT.with_name("embed_on_ray.py"), tmp_path / "e"
    command = [sys.executable, script, fasta, out, str(SHARD), "0.001"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {"killed": 1, "shards": SHARDS, "done": RECORDS, "records": RECORDS}
    check_every_record_once(out, whole[0])


OPENED = """
import sys, embed_job, seqloom
from seqloom.infer.embedding import _job
opened = []
def hear(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".safetensors"):
        opened.append(arguments[0])
def tell(*arguments, **options):
    print(len(opened), flush=True)
    raise SystemExit
_job.PackedStream = tell
sys.addaudithook(hear)
embed_job.run(*sys.argv[1:4])
"""


def test_a_resumed_job_begins_its_first_shard_before_it_reads_a_finished_one(
    fasta, whole, tmp_path
):
    del whole  # is there
    out = tmp_path / "e"
    shutil.copytree(fasta.parent / "whole", out)
    for number in range(SHARDS // 2, SHARDS):
        for path in out.glob(f"shard-{number:06d}.*"):
            path.unlink()
    (out / "complete.json").unlink()
    path = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    opened = subprocess.run(
        [sys.executable, "-c", OPENED, fasta, out, str(SHARD)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    ).stdout
    assert int(opened) == 0
