"""An embedding job of ten thousand shards finishes after ten kills."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import embed_job
import seqloom as sl

RECORDS, SHARD, KILLS = 200_000, 20, 10
SHARD_COUNT = RECORDS // SHARD


@pytest.fixture(scope="module")
def sequences():
    """Return a random protein sequence for each record."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(5, 40, RECORDS)
    text = "".join(rng.choice([*"ACDEFGHIKLMNPQRSTVWY"], lengths.sum()))
    ends = np.cumsum(lengths).tolist()
    return [text[first:stop] for first, stop in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.fixture(scope="module")
def job(sequences, tmp_path_factory):
    """Run the job with kills; return its folder and the memory samples of the last run."""
    folder = tmp_path_factory.mktemp("shards")
    path, out = folder / "short.fa", folder / "out"
    path.write_text("".join(f">s{n}\n{row}\n" for n, row in enumerate(sequences)))
    command = [sys.executable, Path(embed_job.__file__), path, out, str(SHARD)]
    for kill in range(1, KILLS + 1):
        with subprocess.Popen(command) as process:
            wait_until(
                process,
                lambda kill=kill: is_published(out, SHARD_COUNT // 2 * kill // KILLS),
            )
            process.kill()
    sizes = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            sizes.append(embed_job.resident(process.pid))
            time.sleep(0.1)
    assert process.returncode == 0
    return out, [size for size in sizes if size]


def wait_until(process, is_so):
    """Wait until `is_so()` is true or the process has ended."""
    while process.poll() is None and not is_so():
        time.sleep(0.01)


def is_published(out, number):
    """Return whether the first `number` shards are published."""
    return (out / f"shard-{number - 1:06d}.done").exists()


def test_each_record_has_one_embedding_with_the_expected_values(job, sequences):
    embeddings = sl.infer.load(job[0])
    assert len(list(job[0].glob("*.done"))) == SHARD_COUNT
    assert np.array_equal(np.sort(embeddings.ordinals), np.arange(RECORDS))
    assert embeddings.ids == [f"s{n}" for n in range(RECORDS)]
    for row in range(0, RECORDS, 1997):
        expected = embed_job.expected_mean(sequences[row])
        np.testing.assert_allclose(embeddings[f"s{row}"], expected, atol=1e-5)


def test_memory_is_constant_over_the_last_five_thousand_shards(job, capsys):
    sizes = job[1][len(job[1]) // 5 :]
    early, late = np.array_split(sizes, 2)
    with capsys.disabled():
        line = f"{np.median(early) / 1e6:.1f} MB, then {np.median(late) / 1e6:.1f} MB"
        print(f"\nresident memory after warm-up: {line}")  # noqa: T201
    assert np.median(late) <= 1.05 * np.median(early)
