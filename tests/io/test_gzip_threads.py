"""Gzip decompressed by several threads, from offsets in the index."""

import functools
import gzip
import itertools
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import seqloom as sl
from seqloom.errors import FormatError
from seqloom.io import build_index, open_sequences

# The compressed text exceeds 8 MiB; all threads decompress larger files.
READS, LENGTH = 1200, 8000
# An index stores a hash of each part of this size; opening a file compares four parts.
INDEXED_CHUNK_BYTES = 256 << 10


def fastq(count=READS):
    """Return reads whose compression ratio is as low as that of real reads."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (count, LENGTH))]
    qualities = rng.integers(35, 74, (count, LENGTH)).astype(np.uint8)
    rows = zip(letters, qualities, strict=True)
    return b"".join(
        b"@r%d\n%b\n+\n%b\n" % (number, row.tobytes(), quality.tobytes())
        for number, (row, quality) in enumerate(rows)
    )


FASTQ_TEXT = fastq()


@functools.cache
def members(*borders, level=1):
    """Compress parts of the text with the standard library, each as a gzip member."""
    edges = [0, *sorted(borders), len(FASTQ_TEXT)]
    parts = itertools.pairwise(edges)
    return b"".join(gzip.compress(FASTQ_TEXT[a:b], level) for a, b in parts)


def indexed(path, packed):
    """Write a file and build its index."""
    path.write_bytes(packed)
    build_index(path)
    return path


def change(path, packed):
    """Write other bytes and keep the file's modification time."""
    before = path.stat()
    path.write_bytes(packed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def text_of(path, threads):
    """Write the records of a file as FASTQ, and return the error."""
    rows = []
    try:
        with open_sequences(path, num_threads=threads) as reader:
            for record in reader:
                quality = record.quality
                rows += [
                    b"@",
                    record.header,
                    b"\n",
                    record.sequence,
                    b"\n+\n",
                    quality,
                    b"\n",
                ]
    except FormatError as error:
        return b"".join(rows), str(error)
    return b"".join(rows), None


@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    borders=st.lists(st.integers(0, len(FASTQ_TEXT)), max_size=6),
    level=st.sampled_from([0, 1, 6]),
    threads=st.integers(2, 5),
)
def test_gzip_members_of_any_size_are_decompressed_correctly(
    tmp_path, borders, level, threads
):
    path = indexed(tmp_path / "r.fq.gz", members(*borders, level=level))
    assert text_of(path, threads) == (FASTQ_TEXT, None)


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_gzip_bit_gives_equal_errors_with_any_thread_count(tmp_path, place, bit):
    packed = bytearray(members(len(FASTQ_TEXT) // 3))
    path = indexed(tmp_path / "r.fq.gz", packed)
    packed[int(place * len(packed))] ^= 1 << bit
    change(path, packed)
    assert text_of(path, 3) == text_of(path, 1)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "tail",
    [b"", b"garbage", gzip.compress(b"@x\nA\n+\nI\n", mtime=0)],
    ids=["nothing", "garbage", "a member"],
)
@pytest.mark.parametrize("cut", [0, 1, 9, 100_000])
def test_a_truncated_or_extended_gzip_is_read_as_if_without_index(tmp_path, cut, tail):
    packed = members(len(FASTQ_TEXT) // 2)
    path = indexed(tmp_path / "r.fq.gz", packed)
    change(path, packed[: len(packed) - cut] + tail)
    with_index = text_of(path, 3)
    (tmp_path / "r.fq.gz.sli").unlink()
    assert with_index == text_of(path, 3)


def test_a_wrong_gzip_checksum_is_an_error(tmp_path):
    packed = bytearray(members())
    path = indexed(tmp_path / "r.fq.gz", packed)
    wrong = zlib.crc32(FASTQ_TEXT) ^ 1
    change(path, packed[:-8] + wrong.to_bytes(4, "little") + packed[-4:])
    assert text_of(path, 3)[1] == text_of(path, 1)[1]


def test_a_second_epoch_of_a_gzip_stream_equals_the_first(tmp_path):
    path = tmp_path / "r.fq.gz"
    path.write_bytes(members(len(FASTQ_TEXT) // 3, len(FASTQ_TEXT) // 2))
    epochs = [text_of(path, 3) for _ in range(3)]
    assert epochs == [(FASTQ_TEXT, None)] * 3


def test_a_second_epoch_detects_corruption_after_the_first_epoch(tmp_path):
    packed = bytearray(members())
    path = tmp_path / "r.fq.gz"
    path.write_bytes(packed)
    text_of(path, 3)
    packed[len(packed) // 2] ^= 8
    change(path, packed)
    assert text_of(path, 3) == text_of(path, 1)


def test_a_stream_resumes_within_a_gzip_that_has_no_index(tmp_path):
    path = tmp_path / "r.fq.gz"
    path.write_bytes(members())
    stream = sl.data.SequenceStream(path, num_threads=2)
    list(stream.batches(100))
    stream.load_state_dict({**stream.state_dict(), "position": READS // 2})
    assert [item["id"] for item in stream] == [f"r{n}" for n in range(READS // 2, READS)]


INTERRUPT_SCRIPT = """
import os, signal, sys, threading
from seqloom.io import open_sequences
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        with open_sequences(sys.argv[1], num_threads=3) as reader:
            for _ in reader.batches(1000):
                pass
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_stops_reading_a_gzip_file(tmp_path):
    path = indexed(tmp_path / "r.fq.gz", members())
    command = [sys.executable, "-c", INTERRUPT_SCRIPT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), (signal.SIGINT, done.stderr)


@pytest.mark.parametrize("start", [1, READS // 2, READS - 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_stream_resumes_within_a_gzip_file(tmp_path, start, threads):
    path = indexed(tmp_path / "r.fq.gz", members(len(FASTQ_TEXT) // 3))
    stream = sl.data.SequenceStream(path, num_threads=threads)
    stream.load_state_dict({**stream.state_dict(), "position": start})
    assert [item["id"] for item in stream] == [f"r{n}" for n in range(start, READS)]


@pytest.mark.parametrize("count", [2, 5])
def test_shards_of_a_gzip_contain_each_record_once(tmp_path, count):
    path = indexed(tmp_path / "r.fq.gz", members())
    stream = sl.data.SequenceStream(path)
    shards = [stream.shard(index, count) for index in range(count)]
    found = [item["id"] for shard in shards for item in shard]
    assert found == [f"r{n}" for n in range(READS)]


def test_a_resumed_stream_detects_corruption_that_its_index_missed(tmp_path):
    packed = bytearray(members())
    assert len(packed) > 8 * INDEXED_CHUNK_BYTES
    path = indexed(tmp_path / "r.fq.gz", packed)
    packed[3 * INDEXED_CHUNK_BYTES // 2] ^= 4  # opening does not check the second part
    change(path, packed)
    stream = sl.data.SequenceStream(path)
    stream.load_state_dict({**stream.state_dict(), "position": 5})
    with pytest.raises(FormatError, match="does not match its index"):
        list(stream)


def test_a_stream_resumes_if_the_modification_time_has_changed(tmp_path):
    path = Path(indexed(tmp_path / "r.fq.gz", members()))
    os.utime(path)
    stream = sl.data.SequenceStream(path)
    stream.load_state_dict({**stream.state_dict(), "position": READS - 2})
    assert [item["id"] for item in stream] == [f"r{READS - 2}", f"r{READS - 1}"]
