"""Ten thousand shards: a job that is killed ten times, and then runs to its end."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import embed_job
import seqloom as sl

RECORDS, SHARD, KILLS = 200_000, 20, 10
SHARDS = RECORDS // SHARD


@pytest.fixture(scope="module")
def letters():
    """The letters of each record."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 40, RECORDS)
    text = "".join(rng.choice([*"ACDEFGHIKLMNPQRSTVWY"], lengths.sum()))
    ends = np.cumsum(lengths).tolist()
    return [text[first:stop] for first, stop in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.fixture(scope="module")
def job(letters, tmp_path_factory):
    """The folder of the job, and the memory of its last process, by published shards."""
    folder = tmp_path_factory.mktemp("shards")
    path, out = folder / "short.fa", folder / "out"
    path.write_text("".join(f">s{n}\n{row}\n" for n, row in enumerate(letters)))
    command = [sys.executable, Path(embed_job.__file__), path, out, str(SHARD)]
    for kill in range(1, KILLS + 1):
        with subprocess.Popen(command) as process:
            wait(process, lambda kill=kill: published(out, SHARDS // 2 * kill // KILLS))
            process.kill()
    sizes = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            sizes.append(embed_job.resident(process.pid))
            time.sleep(0.1)
    assert process.returncode == 0
    return out, [size for size in sizes if size]


def wait(process, is_so):
    """Wait until something is so, or a process has ended."""
    while process.poll() is None and not is_so():
        time.sleep(0.01)


def published(out, number):
    """Whether a shard is published."""
    return (out / f"shard-{number - 1:06d}.done").exists()


def test_each_record_is_in_one_shard_and_as_by_hand(job, letters):
    found = sl.infer.load(job[0])
    assert len(list(job[0].glob("*.done"))) == SHARDS
    assert np.array_equal(np.sort(found.ordinals), np.arange(RECORDS))
    assert found.ids == [f"s{n}" for n in range(RECORDS)]
    for row in range(0, RECORDS, 1997):
        expected = embed_job.expected_mean(letters[row])
        np.testing.assert_allclose(found[f"s{row}"], expected, atol=1e-5)


def test_memory_is_flat_over_the_last_five_thousand(job, capsys):
    sizes = job[1][len(job[1]) // 5 :]
    early, late = np.array_split(sizes, 2)
    with capsys.disabled():
        line = f"{np.median(early) / 1e6:.1f} MB, then {np.median(late) / 1e6:.1f} MB"
        print(f"\nresident memory after warm-up: {line}")  # noqa: T201
    assert np.median(late) <= 1.05 * np.median(early)
