"""An embedding job of a million sequences survives three hundred kills.

Two processes compute half of the job each, and both are killed together. Each kill waits
until a random number of shards is published. The number of shards is at most 93 % of
all shards, so that work remains even if the test reacts late. The kill then waits for a
random time, at most the time of two shards. Every tenth kill, except the last kills,
happens at a random time after the start. In the test with Ray, one worker is
killed.
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

EMBED_SCRIPT = Path(embed_job.__file__)
RECORDS, SHARD, KILLS = 1_000_000, 500, 300
SHARD_COUNT = RECORDS // SHARD
EARLY_KILL_SECONDS = 1.5  # every tenth kill happens within this time after the start


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    path = tmp_path_factory.mktemp("million") / "short.fa"
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 40, RECORDS)
    residues = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8), lengths.sum())
    text, ends = residues.tobytes(), np.cumsum(lengths).tolist()
    with path.open("wb") as file:
        for n, (first, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            file.write(b">s%d\n%s\n" % (n, text[first:stop]))
    sl.io.SequenceIndex(path)
    return path


def start(fasta, out, *part, **environment):
    return subprocess.Popen(
        [sys.executable, EMBED_SCRIPT, fasta, out, str(SHARD), *part],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def start_parts(fasta, out):
    return [start(fasta, out, f"{number}/2") for number in (1, 2)]


def start_as_torchrun(fasta, out):
    return [start(fasta, out, RANK=rank, WORLD_SIZE="2") for rank in "01"]


@pytest.fixture(scope="module")
def uninterrupted(fasta):
    """Return checksums, seconds and (shards, memory) samples of a job without kills."""
    out, sizes = fasta.parent / "uninterrupted", []
    with start(fasta, out) as process:
        is_over = threading.Event()

        def sample():
            while not is_over.wait(0.1):
                done = len(list(out.glob("*.done"))) if out.exists() else 0
                sizes.append((done, embed_job.resident(process.pid)))

        thread = threading.Thread(target=sample)
        thread.start()
        output = process.communicate()[0]
        is_over.set()
        thread.join()
    assert process.returncode == 0
    return checksums_of(out), float(output.split()[2]), sizes


def checksums_of(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(folder).glob("*.safetensors")
    }


def test_the_memory_of_a_job_of_a_million_sequences_is_constant(uninterrupted, capsys):
    sizes = [size for done, size in uninterrupted[2] if done >= SHARD_COUNT // 5 and size]
    middle = len(sizes) // 2
    early, late = np.median(sizes[:middle]), np.median(sizes[middle:])
    with capsys.disabled():
        spread = f"minimum {min(sizes) / 1e6:.0f}, maximum {max(sizes) / 1e6:.0f}"
        line = f"first half {early / 1e6:.1f} MB, second {late / 1e6:.1f} MB ({spread})"
        print(f"\nresident memory after warm-up: {line}")  # noqa: T201
    assert late <= 1.05 * early


def wait_until(processes, is_so):
    """Wait until `is_so()` is true or all processes have ended."""
    while not is_so() and any(process.poll() is None for process in processes):
        time.sleep(0.003)


class Kills:
    """Kills one job repeatedly, and counts the files that remain after each kill."""

    def __init__(self, launch, out, *, seconds, rng):
        self.launch, self.out, self.rng = launch, out, rng
        self.step = seconds / SHARD_COUNT
        self.goals = np.sort(rng.integers(0, 93 * SHARD_COUNT // 100, KILLS))
        self.published, self.left = [], dict.fromkeys(("part", "unmarked"), 0)

    def run(self):
        """Start and kill the job `KILLS` times."""
        for number, goal in enumerate(self.goals):
            processes = self.launch()
            if number % 10 or goal > 0.85 * SHARD_COUNT:
                self.wait_for_work(processes, goal)
            else:
                time.sleep(self.rng.uniform(0, EARLY_KILL_SECONDS))
            for process in processes:
                process.kill()
                process.communicate()
            # One process may have finished, but at least one was still running.
            assert -signal.SIGKILL in {process.returncode for process in processes}
            self.count_files()

    def wait_for_work(self, processes, goal):
        """Wait until shard `goal` and another shard are published, then wait randomly."""
        marker, before = self.out / f"shard-{goal:06d}.done", self.count()
        wait_until(processes, lambda: marker.exists() and self.count() > before)
        time.sleep(self.rng.uniform(0, 2 * self.step))

    def count(self):
        """Return the number of published shards."""
        return sum(name.endswith(".done") for name in self.names())

    def names(self):
        """Return the names of the files in the output folder."""
        return [entry.name for entry in os.scandir(self.out)] if self.out.exists() else []

    def count_files(self):
        """Count published shards, and incomplete files that the kill did not clean up."""
        names = self.names()
        shards = {name[:-12] for name in names if name.endswith(".safetensors")}
        done = {name[:-5] for name in names if name.endswith(".done")}
        assert done <= shards
        self.published.append(len(done))
        self.left["part"] += any(name.endswith(".part") for name in names)
        self.left["unmarked"] += shards != done

    def describe(self):
        """Return a sentence on the progress at each kill, and on the incomplete files."""
        new = np.diff([0, *self.published])
        quarters = [int(self.published[KILLS * n // 4 - 1]) for n in (1, 2, 3, 4)]
        return (
            f"{KILLS} kills; {self.published[-1]:,} of {SHARD_COUNT:,} shards were "
            f"published meanwhile (after each quarter of the kills: {quarters}), "
            f"some of them before {(new > 0).sum()} of the kills. "
            f"Found after kills: an incomplete file {self.left['part']} times, "
            f"a shard without marker {self.left['unmarked']} times"
        )


def check_every_record_once(out, expected):
    assert checksums_of(out) == expected
    embeddings = sl.infer.load(out)
    seen = np.zeros(RECORDS, np.uint8)
    np.add.at(seen, embeddings.ordinals, 1)
    assert (seen == 1).all()
    assert embeddings.ids == [f"s{n}" for n in range(RECORDS)]


@pytest.mark.parametrize("launch", [start_parts, start_as_torchrun])
def test_three_hundred_kills_do_not_change_the_embeddings(
    fasta, uninterrupted, tmp_path, capsys, launch
):
    expected, seconds, _ = uninterrupted
    out = tmp_path / "e"
    kills = Kills(
        lambda: launch(fasta, out), out, seconds=seconds, rng=np.random.default_rng(0)
    )
    kills.run()
    with capsys.disabled():
        line = f"{launch.__name__}: {kills.describe()}. Without kills: {seconds:.0f} s"
        print(f"\n{line}")  # noqa: T201
    assert kills.published[-1] > 0.9 * SHARD_COUNT
    for process in launch(fasta, out):
        process.communicate()
        assert process.returncode == 0
    check_every_record_once(out, expected)


def test_a_killed_ray_worker_does_not_change_the_embeddings(fasta, uninterrupted, tmp_path):
    pytest.importorskip("ray")
    script, out = EMBED_SCRIPT.with_name("embed_on_ray.py"), tmp_path / "e"
    command = [sys.executable, script, fasta, out, str(SHARD), "0.001"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary == {
        "killed": 1,
        "shards": SHARD_COUNT,
        "done": RECORDS,
        "records": RECORDS,
    }
    check_every_record_once(out, uninterrupted[0])


OPENED_SHARDS_SCRIPT = """
import sys, embed_job, seqloom
from seqloom.infer.embedding import _job
opened = []
def record_open(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".safetensors"):
        opened.append(arguments[0])
def print_and_exit(*arguments, **options):
    print(len(opened), flush=True)
    raise SystemExit
_job.PackedStream = print_and_exit
sys.addaudithook(record_open)
embed_job.run(*sys.argv[1:4])
"""


def test_a_resumed_job_does_not_read_finished_shards_before_it_starts(
    fasta, uninterrupted, tmp_path
):
    del uninterrupted  # the fixture has created its output
    out = tmp_path / "e"
    shutil.copytree(fasta.parent / "uninterrupted", out)
    for number in range(SHARD_COUNT // 2, SHARD_COUNT):
        for path in out.glob(f"shard-{number:06d}.*"):
            path.unlink()
    (out / "complete.json").unlink()
    path = os.pathsep.join([str(EMBED_SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    opened = subprocess.run(
        [sys.executable, "-c", OPENED_SHARDS_SCRIPT, fasta, out, str(SHARD)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    ).stdout
    assert int(opened) == 0
