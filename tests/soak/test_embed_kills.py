"""A million sequences through the whole loop under three hundred kills."""

import hashlib
import json
import os
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


def start(fasta, out):
    return subprocess.Popen(
        [sys.executable, SCRIPT, fasta, out, str(SHARD)],
        stdout=subprocess.PIPE,
        text=True,
    )


def resident(pid):
    """The memory of a process, in bytes; 0 once it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def whole(fasta):
    """A job that nobody stopped: its sums, its seconds, and its memory over time."""
    out, sizes = fasta.parent / "whole", []
    with start(fasta, out) as process:
        is_over = threading.Event()

        def sample():
            while not is_over.wait(0.1):
                done = len(list(out.glob("*.done"))) if out.exists() else 0
                sizes.append((done, resident(process.pid)))

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
    sizes = [size for done, size in whole[2] if done >= RECORDS // SHARD // 5 and size]
    middle = len(sizes) // 2
    early, late = np.median(sizes[:middle]), np.median(sizes[middle:])
    with capsys.disabled():
        spread = f"least {min(sizes) / 1e6:.0f}, most {max(sizes) / 1e6:.0f}"
        line = f"first half {early / 1e6:.1f} MB, second {late / 1e6:.1f} MB ({spread})"
        print(f"\nresident memory after warm-up: {line}")  # noqa: T201
    assert late <= 1.05 * early


def wait_for_claim(process, out):
    """Waits until a process has claimed a shard, or ended."""
    while process.poll() is None:
        for path in out.glob("*.claim"):
            try:
                values = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if values["pid"] == process.pid:
                return
        time.sleep(0.002)


def kill_many(fasta, out, *, seconds, rng):
    """Kills a job again and again while it works: how often, and whether it ended."""
    killed = 0
    while killed < KILLS:
        with start(fasta, out) as process:
            wait_for_claim(process, out)
            time.sleep(rng.uniform(0, 2 * seconds))
            process.kill()
        if process.returncode == 0:
            return killed, True
        assert process.returncode == -signal.SIGKILL
        killed += 1
    return killed, False


def finish(fasta, out):
    with start(fasta, out) as process:
        process.communicate()
    assert process.returncode == 0


def check_every_record_once(out, expected):
    assert sums_of(out) == expected
    found = sl.infer.load(out)
    seen = np.zeros(RECORDS, np.uint8)
    np.add.at(seen, found.ordinals, 1)
    assert (seen == 1).all()
    assert found.ids == [f"s{n}" for n in range(RECORDS)]


def test_a_million_sequences_under_three_hundred_kills_are_those_of_one_run(
    fasta, whole, tmp_path, capsys
):
    expected, seconds, _ = whole
    rng, killed, jobs = np.random.default_rng(0), 0, 0
    while killed < KILLS:
        out = tmp_path / f"e{jobs}"
        more, is_over = kill_many(fasta, out, seconds=seconds / KILLS, rng=rng)
        killed, jobs = killed + more, jobs + 1
        if not is_over:
            finish(fasta, out)
        check_every_record_once(out, expected)
    with capsys.disabled():
        print(f"\n{killed} kills in {jobs} jobs of {seconds:.1f} s")  # noqa: T201


STARTED = """
import time
begun = time.perf_counter()
import sys, seqloom, embed_job
from seqloom.infer.embedding import _claims
take = _claims.Claims.take
def tell(self, shard):
    taken = take(self, shard)
    print(time.perf_counter() - begun, flush=True)
    raise SystemExit
_claims.Claims.take = tell
embed_job.run(*sys.argv[1:4])
"""


def test_a_resumed_job_claims_its_first_shard_within_a_second(
    fasta, whole, tmp_path, capsys
):
    out = tmp_path / "e"
    with start(fasta, out) as process:
        while len(list(out.glob("*.done"))) < RECORDS // SHARD // 2:
            time.sleep(0.05)
        process.kill()
    command = [sys.executable, "-c", STARTED, fasta, out, str(SHARD)]
    path = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    times = []
    for _ in range(5):
        environment = {**os.environ, "PYTHONPATH": path}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            said = process.communicate()[0]
        times.append(float(said.split()[0]))
    with capsys.disabled():
        print(f"\nseconds to the first claim: {np.round(sorted(times), 2)}")  # noqa: T201
    assert np.median(times) < 1
