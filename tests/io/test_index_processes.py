"""An index can be pickled, and used in forked and spawned processes."""

import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from seqloom.errors import FormatError
from seqloom.io import SequenceIndex


@pytest.fixture
def path(tmp_path):
    rows = [f"@r{n}\n{'ACGT' * (n % 40)}\n+\n{'IIII' * (n % 40)}\n" for n in range(4000)]
    (tmp_path / "r.fq").write_text("".join(rows))
    return tmp_path / "r.fq"


def fetch(index, seed, answers):
    rows = np.random.default_rng(seed).integers(0, 4000, (30, 64))
    good = all(index.fetch_many(r, num_threads=2).ids == [f"r{x}" for x in r] for r in rows)
    answers.put(good and index["r77"].id == "r77")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_processes_can_share_a_sequence_index(path):
    context = multiprocessing.get_context("fork")
    index = SequenceIndex(path, num_threads=2)
    index.fetch_many(np.arange(2000))
    answers = context.Queue()
    workers = [
        context.Process(target=fetch, args=(index, seed, answers)) for seed in range(8)
    ]
    for worker in workers:
        worker.start()
    assert all(answers.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()


def test_a_pickled_index_works_in_another_process(path):
    read = "import pickle, sys; print(pickle.load(sys.stdin.buffer)['r77'].id)"
    data = pickle.dumps(SequenceIndex(path))
    said = subprocess.run(
        [sys.executable, "-c", read], input=data, capture_output=True, check=True
    )
    assert said.stdout.strip() == b"r77"


def test_a_pickled_index_contains_no_records(path):
    index = SequenceIndex(path)
    data = pickle.dumps(index)
    assert len(data) < 1000
    assert pickle.loads(data)["r3"] == index["r3"]  # noqa: S301 - our own bytes


def test_a_pickled_index_in_memory_works_after_unpickling(path, tmp_path):
    index = SequenceIndex(path, index=tmp_path / "r.fq" / "x.sli")
    again = pickle.loads(pickle.dumps(index))  # noqa: S301 - our own bytes
    assert again["r3"] == index["r3"]
    assert not (tmp_path / "r.fq.sli").exists()


def test_a_pickled_index_rejects_a_changed_sequence_file(path):
    again = pickle.loads(pickle.dumps(SequenceIndex(path)))  # noqa: S301 - our own bytes
    path.write_text("@x\nAC\n+\nII\n")
    with pytest.raises(FormatError, match="changed since the index was opened"):
        again[0]


def test_a_sequence_file_truncated_during_reading_is_an_error(path):
    index = SequenceIndex(path)
    os.truncate(path, 5000)
    with pytest.raises(FormatError, match="does not match its index"):
        index.fetch_many(np.arange(4000))
    assert index[0].id == "r0"
