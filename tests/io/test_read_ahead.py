"""Tests of read-ahead threads: their start and end, forks, and memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.io import build_index, open_sequences, write_sequences

RECORD_COUNT = 4_000
RECORD_LENGTH = 1_000
COMPRESSIONS = ("none", "gzip", "bgzip", "indexed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a few MB of FASTA with each compression."""
    folder = tmp_path_factory.mktemp("ahead")
    letters = "ACGTTGCAAC" * (RECORD_LENGTH // 10)
    records = [(f"r{number}", letters) for number in range(RECORD_COUNT)]
    for container in COMPRESSIONS[:3]:
        write_sequences(folder / container, records, format="fasta", compression=container)
    (folder / "indexed").write_bytes((folder / "gzip").read_bytes())
    build_index(folder / "indexed")
    return folder


def run(code: str, *arguments: object) -> str:
    """Run Python in a new process and return its output."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def count_threads() -> int:
    """Count the read-ahead threads of this process."""
    threads = Path("/proc/self/task").glob("*/comm")
    return sum(
        name.read_text().startswith(("seqloom-a", "seqloom-b", "seqloom-s"))
        for name in threads
    )


@pytest.mark.parametrize("container", COMPRESSIONS)
def test_reader_threads_stop_when_the_reader_is_closed(
    folder: Path, container: str
) -> None:
    before = count_threads()
    with open_sequences(folder / container, num_threads=3) as reader:
        batches = reader.batches(1_000)
        next(batches)
        next(batches)
    del batches, reader
    assert count_threads() == before


FORK_SCRIPT = """
import os, sys
from seqloom.io import open_sequences
reader = open_sequences(sys.argv[1], num_threads=2)
batches = reader.batches(1_000)
first = next(batches)
child = os.fork()
if child == 0:
    try:
        for _ in batches:
            pass
        print("no error", flush=True)
    except Exception as error:
        print(error, flush=True)
    del batches, reader
    os._exit(0)
os.waitpid(child, 0)
print(len(first) + sum(map(len, batches)))
"""


@pytest.mark.parametrize("container", COMPRESSIONS)
def test_reading_in_a_forked_process_is_an_error_only_in_the_child(
    folder: Path, container: str
) -> None:
    said, count = run(FORK_SCRIPT, folder / container).splitlines()
    assert "open it again in this process" in said
    assert int(count) == RECORD_COUNT


# Use /proc, because the peak memory of getrusage includes that of the parent process.
READ_COMPRESSED_SCRIPT = """
import sys
from pathlib import Path
from seqloom.io import open_sequences
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
with open_sequences(sys.argv[1], num_threads=2) as reader:
    batches = reader.batches(100)
    next(batches)
    start = peak()
    letters = sum(int(batch.sequences.offsets[-1]) for batch in batches)
print(letters, peak() - start)
"""


def test_a_highly_compressed_file_is_read_in_little_memory(tmp_path: Path) -> None:
    record = b">r\n" + b"A" * 10_000 + b"\n"
    path = tmp_path / "bomb.fa.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(100):
            file.write(record * 100)
    letters, kilobytes = map(int, run(READ_COMPRESSED_SCRIPT, path).split())
    assert letters == 10_000 * 9_900
    assert kilobytes < 32 << 10
