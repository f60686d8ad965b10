"""Ctrl-C, during a read that takes long."""

import signal
import subprocess
import sys
import time

import pytest

INDIVIDUALS, VARIANTS = 100_000, 8_000_000
READ = """
import sys
import numpy as np
from seqloom.io import open_bed
bed = open_bed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), skip_format_check=True)
print("ready", flush=True)
bed.read(np.s_[5, :], dtype="int8", num_threads=int(sys.argv[4]))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_long_read_within_a_second(tmp_path, threads):
    # 200 GB that take no room on the disk: a byte of each line is read.
    with (tmp_path / "x.bed").open("wb") as file:
        file.write(b"\x6c\x1b\1")
        file.truncate(3 + INDIVIDUALS // 4 * VARIANTS)
    numbers = [str(each) for each in (INDIVIDUALS, VARIANTS, threads)]
    command = [sys.executable, "-c", READ, tmp_path / "x.bed", *numbers]
    with subprocess.Popen(command, stdout=-1, stderr=-1) as process:
        process.stdout.readline()
        time.sleep(0.5)
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert time.monotonic() - before < 1
    assert b"KeyboardInterrupt" in said
