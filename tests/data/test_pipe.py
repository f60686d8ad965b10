import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from seqloom.data import DataLoader, SequenceDataset, SequenceStream, guess_alphabet
from seqloom.encode import OneHot
from seqloom.errors import AlphabetError, FileError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("read", [SequenceDataset, guess_alphabet])
def test_a_dataset_rejects_a_pipe_without_waiting_for_data(tmp_path, read):
    os.mkfifo(tmp_path / "a.fa")
    with pytest.raises(FileError, match=r"a\.fa: a pipe can only be read once; save it"):
        read(tmp_path / "a.fa")


def write_in_thread(path, text):
    """Write text to a pipe in a thread."""
    thread = threading.Thread(target=lambda: path.write_text(text), daemon=True)
    thread.start()
    return thread


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("workers", [0, 2])
def test_an_invalid_character_in_a_pipe_is_an_error_with_its_position(tmp_path, workers):
    path = tmp_path / "a.fa"
    os.mkfifo(path)
    thread = write_in_thread(path, ">x\nACGT\n>y\nACJT\n")
    loader = DataLoader(SequenceStream(path, encoder=OneHot("dna")), 1, num_workers=workers)
    words = r"a\.fa: record 1 \(y\), residue 2: found 'J', expected "
    with pytest.raises(AlphabetError, match=words):
        list(loader)
    thread.join()


READ_TWICE_SCRIPT = """
from seqloom.data import SequenceStream
stream = SequenceStream("-")
print([item["id"] for item in stream])
list(stream)
"""


def test_a_dataset_can_read_standard_input_once():
    command = [sys.executable, "-c", READ_TWICE_SCRIPT]
    done = subprocess.run(
        command, check=False, input=">x\nACGT\n", capture_output=True, text=True
    )
    assert done.stdout == "['x']\n"
    assert "standard input can be read once only" in done.stderr


SLOW_READER_SCRIPT = """
import sys
from seqloom.data import DataLoader, SequenceStream
from seqloom.encode import OneHot
for batch in DataLoader(SequenceStream("-", encoder=OneHot("dna")), 4, num_workers=2):
    print(len(batch["id"]), flush=True)
"""


def test_ctrl_c_ends_a_stream_that_waits_for_a_pipe():
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", SLOW_READER_SCRIPT], **pipes) as process:
        process.stdin.write(b">x\nACGT\n" * 20_000)
        process.stdin.flush()
        assert process.stdout.readline() == b"4\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(10) == -signal.SIGINT
        finally:
            process.kill()
