"""Killed writers of PLINK files never leave a mixture of old and new files."""

import os
import signal
import time

import numpy as np
import pytest

from seqloom.io import create_bed, open_bed, to_bed

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
KILL_COUNT = 300


def write(path, number, writer):
    """Write a .bed, .bim and .fam file that all contain `number`."""
    shape = 40 + number % 7, 50 + number % 11
    values = np.full(shape, number % 3, np.int8)
    properties = {"iid": [f"{number}"] * shape[0], "sid": [f"{number}"] * shape[1]}
    if writer == "to_bed":
        to_bed(path, values, properties=properties)
        return
    with create_bed(path, *shape, properties=properties) as bed:
        for line in values.T:
            bed.write(line)


def check(path):
    """Fail unless all three files are from one write; return the write's number."""
    bed = open_bed(path)
    number = int(bed.iid[0])
    assert bed.shape == (40 + number % 7, 50 + number % 11)
    assert {*bed.iid.tolist(), *bed.sid.tolist()} == {str(number)}
    assert (bed.read(dtype="int8") == number % 3).all()
    return number


def start_writer(path, number, writer):
    """Start a process that writes PLINK files repeatedly until the test kills it."""
    process = os.fork()
    if process:
        return process
    try:
        while True:
            number += 1
            write(path, number, writer)
    finally:
        os._exit(1)


@pytest.mark.parametrize("writer", ["to_bed", "create_bed"])
def test_killed_writers_leave_matching_files_and_the_next_writer_cleans_up(
    tmp_path, writer
):
    path, rng, number = tmp_path / "x.bed", np.random.default_rng(0), 0
    write(path, number, writer)
    for _ in range(KILL_COUNT):
        process = start_writer(path, number, writer)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert os.waitpid(process, 0)[1] == signal.SIGKILL
        later = check(path)
        assert later >= number
        number = later
    write(path, number, writer)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.bed", "x.bim", "x.fam"]
    assert number > KILL_COUNT / 4
