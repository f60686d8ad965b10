"""Killed writers of record files never leave an incomplete record."""

import os
import signal
import time

import numpy as np
import pytest

import seqloom as sl
from seqloom.record import JsonGz, Record, Safetensors

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
KILL_COUNT = 300


def save(path, number, recorder):
    """Save a record whose arrays and metadata all contain `number`."""
    size = 20_000 + number % 7
    arrays = {name: np.full(size, number, "i8") for name in "abc"}
    Record(arrays, metadata={"number": number}).save(path, recorder)


def check(path, recorder):
    """Fail unless the whole record is from one write; return the write's number."""
    record = sl.record.load(path, recorder).copy()
    number = record.metadata["number"]
    assert {array.size for array in record.values()} == {20_000 + number % 7}
    assert all((array == number).all() for array in record.values())
    return number


def start_writer(path, number, recorder):
    """Start a process that saves records repeatedly until the test kills it."""
    process = os.fork()
    if process:
        return process
    try:
        while True:
            number += 1
            save(path, number, recorder)
    finally:
        os._exit(1)


@pytest.mark.parametrize("recorder", [Safetensors(), JsonGz()], ids=str)
def test_killed_writers_leave_a_complete_record_and_the_next_writer_cleans_up(
    tmp_path, recorder
):
    path, rng, number = tmp_path / "x", np.random.default_rng(0), 0
    save(path, number, recorder)
    for _ in range(KILL_COUNT):
        process = start_writer(path, number, recorder)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert os.waitpid(process, 0)[1] == signal.SIGKILL
        later = check(path, recorder)
        assert later >= number
        number = later
    save(path, number, recorder)
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    assert number > KILL_COUNT / 8
