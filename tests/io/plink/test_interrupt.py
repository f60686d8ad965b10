"""Ctrl-C during a long read."""

import signal
import subprocess
import sys
import time

import pytest

from waiting import LONGEST_WAIT_S

INDIVIDUALS, VARIANTS = 100_000, 8_000_000
READ_SCRIPT = """
import sys
import numpy as np
from seqloom.io import open_bed
bed = open_bed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), skip_format_check=True)
print("ready", flush=True)
bed.read(np.s_[5, :], dtype="int8", num_threads=int(sys.argv[4]))
print("read to the end", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_read_of_a_bed(tmp_path, threads):
    # A sparse file of 200 GB; one byte of each row is read.
    with (tmp_path / "x.bed").open("wb") as file:
        file.write(b"\x6c\x1b\1")
        file.truncate(3 + INDIVIDUALS // 4 * VARIANTS)
    numbers = [str(each) for each in (INDIVIDUALS, VARIANTS, threads)]
    command = [sys.executable, "-c", READ_SCRIPT, tmp_path / "x.bed", *numbers]
    with subprocess.Popen(command, stdout=-1, stderr=-1) as process:
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        written, said = process.communicate(timeout=LONGEST_WAIT_S)
    assert b"KeyboardInterrupt" in said
    assert not written
