"""Ctrl-C while a pipe has no data."""

import os
import signal
import subprocess
import sys
import time

import pytest

from waiting import LONGEST_WAIT_S

FIRST_INPUT_BYTES = {
    "nothing": b"",
    "a part of a record": b"@a\nACGT\n",
    "many records": b"@a\nACGT\n+\nIIII\n" * 20_000,
    "a part of gzip": bytes.fromhex("1f8b0800000000000003"),
}
READ_SCRIPT = """
import sys, seqloom as sl
print("ready", flush=True)
for batch in sl.io.open_sequences(sys.argv[1], num_threads=2).batches(10):
    pass
"""


def interrupt(path, source):
    """Press Ctrl-C while the process waits for text; return its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", READ_SCRIPT, path], stdin=source, stdout=-1, stderr=-1
    )
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=LONGEST_WAIT_S)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in said
    return process.returncode


@pytest.mark.parametrize("beginning", FIRST_INPUT_BYTES)
def test_ctrl_c_stops_waiting_for_standard_input(tmp_path, beginning):
    kept = tmp_path / "beginning"
    kept.write_bytes(FIRST_INPUT_BYTES[beginning])
    feed = ["sh", "-c", f"cat {kept}; exec sleep infinity"]
    with subprocess.Popen(feed, stdout=-1) as feeder:
        code = interrupt("-", feeder.stdout)
        feeder.kill()
    assert code == -signal.SIGINT


@pytest.mark.parametrize("mode", [None, os.O_RDWR])
def test_ctrl_c_stops_waiting_for_a_named_pipe(tmp_path, mode):
    os.mkfifo(tmp_path / "pipe")
    held = None if mode is None else os.open(tmp_path / "pipe", mode)
    code = interrupt(tmp_path / "pipe", subprocess.DEVNULL)
    if held is not None:
        os.close(held)
    assert code == -signal.SIGINT
