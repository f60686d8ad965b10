"""Ctrl-C, while nobody writes into the pipe that is read."""

import os
import signal
import subprocess
import sys
import time

import pytest

BEGINNINGS = {
    "nothing": b"",
    "a part of a record": b"@a\nACGT\n",
    "many records": b"@a\nACGT\n+\nIIII\n" * 20_000,
    "a part of gzip": bytes.fromhex("1f8b0800000000000003"),
}
READ = """
import sys, seqloom as sl
print("ready", flush=True)
for batch in sl.io.open_sequences(sys.argv[1], num_threads=2).batches(10):
    pass
"""


def stopped(path, source):
    """Presses Ctrl-C once the process waits; gives its code and how long it took."""
    process = subprocess.Popen(
        [sys.executable, "-c", READ, path], stdin=source, stdout=-1, stderr=-1
    )
    process.stdout.readline()
    time.sleep(0.3)
    before = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in said
    return process.returncode, time.monotonic() - before


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_ctrl_c_ends_the_waiting_for_standard_input_within_a_second(tmp_path, beginning):
    kept = tmp_path / "beginning"
    kept.write_bytes(BEGINNINGS[beginning])
    feed = ["sh", "-c", f"cat {kept}; exec sleep 30"]
    with subprocess.Popen(feed, stdout=-1) as feeder:
        code, seconds = stopped("-", feeder.stdout)
        feeder.kill()
    assert (code, seconds < 1) == (-signal.SIGINT, True)


@pytest.mark.parametrize("mode", [None, os.O_RDWR])
def test_ctrl_c_ends_the_waiting_for_a_named_pipe_within_a_second(tmp_path, mode):
    os.mkfifo(tmp_path / "pipe")
    held = None if mode is None else os.open(tmp_path / "pipe", mode)
    code, seconds = stopped(tmp_path / "pipe", subprocess.DEVNULL)
    if held is not None:
        os.close(held)
    assert (code, seconds < 1) == (-signal.SIGINT, True)
