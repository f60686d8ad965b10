"""A record that exceeds the memory raises an error with the record's name."""

import subprocess
import sys
import zlib

import pytest

MEMORY_LIMIT_BYTES = 512 << 20
# A line of FITTING bytes fits into memory without read-ahead; a line of HUGE bytes cannot.
FITTING, HUGE = 256 << 20, 480 << 20
READ_SCRIPT = """
import sys, resource, seqloom as sl
from seqloom.errors import SeqloomError
limit = int(sys.argv[2]) or resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    with sl.io.open_sequences(sys.argv[1], num_threads=int(sys.argv[3])) as reader:
        for batch in reader.batches(1000):
            print(batch.sequences.lengths.tolist())
except MemoryError as error:
    print(type(error).__name__, error)
"""


def run(path, *, limit, threads=1):
    """Read a file in a process whose address space is limited to `limit` bytes."""
    command = [sys.executable, "-c", READ_SCRIPT, path, str(limit), str(threads)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pack(path, start, size):
    """Write a small gzip file with `start` and a line of `size` characters."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with path.open("wb") as file:
        file.write(packer.compress(start))
        for _ in range(size >> 20):
            file.write(packer.compress(b"A" * (1 << 20)))
        file.write(packer.compress(b"\n") + packer.flush())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("start", [b">first\nACGT\n>huge one\n", b"@huge one\n"])
def test_a_huge_line_in_a_small_gzip_is_an_error_that_names_the_record(
    tmp_path, start, threads
):
    pack(tmp_path / "a.gz", start, HUGE)
    assert (tmp_path / "a.gz").stat().st_size < 1_000_000
    output = output_of(run(tmp_path / "a.gz", limit=MEMORY_LIMIT_BYTES, threads=threads))
    assert "huge" in output
    assert "MemoryLimitError" in output or "longer than 67108864 residues" in output


@pytest.mark.parametrize("threads", [1, 2])
def test_a_line_of_half_the_memory_is_read_or_raises_an_error(tmp_path, threads):
    pack(tmp_path / "a.gz", b">huge one\n", FITTING)
    output = output_of(run(tmp_path / "a.gz", limit=MEMORY_LIMIT_BYTES, threads=threads))
    assert output == f"[{FITTING}]\n" or "MemoryLimitError" in output


def output_of(done):
    """Return the output of a process; fail if a signal ended the process."""
    assert done.returncode in {0, 1}, done
    return done.stdout + done.stderr


def test_a_fasta_record_of_250_million_bases_is_read_by_default(tmp_path):
    size = 250 << 20
    line = b"ACGTACGTAC" * 6 + b"\n"
    with (tmp_path / "a.fa").open("wb") as file:
        file.write(b">chr1\n")
        for _ in range(size // 60 // 1000):
            file.write(line * 1000)
    done = run(tmp_path / "a.fa", limit=0)
    assert done.stdout == f"[{size // 60 // 1000 * 60_000}]\n", done.stderr


def test_a_huge_header_is_an_error(tmp_path):
    pack(tmp_path / "a.gz", b">", 64 << 20)
    done = run(tmp_path / "a.gz", limit=MEMORY_LIMIT_BYTES)
    assert "FormatError" in done.stderr
    assert "the header is longer than 1048576 bytes" in done.stderr


COUNT_SCRIPT = """
import sys, resource, seqloom as sl
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
records = residues = 0
with sl.io.open_sequences(sys.argv[1], num_threads=int(sys.argv[3])) as reader:
    for batch in reader.batches(1000):
        records += len(batch)
        residues += int(batch.sequences.offsets[-1])
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(records, residues, peak >> 10)
"""


def count(path, *, threads=2):
    """Return the numbers of records and residues, and the peak memory in MiB."""
    command = [sys.executable, "-c", COUNT_SCRIPT, path, str(1 << 30), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return map(int, done.stdout.split())


@pytest.mark.parametrize(
    ("record", "number"), [(b">r\nA\n", 10_000_000), (b">r\n", 1_000_000)]
)
def test_reading_millions_of_tiny_records_uses_little_memory(tmp_path, record, number):
    (tmp_path / "a.fa").write_bytes(record * number)
    records, residues, memory = count(tmp_path / "a.fa")
    assert (records, residues) == (number, number * record.count(b"A"))
    assert memory < 256


@pytest.mark.parametrize("threads", [1, 2])
def test_reading_ten_gigabytes_from_a_small_gzip_uses_little_memory(tmp_path, threads):
    member = zlib.compressobj(9, zlib.DEFLATED, 31)
    text = (b">r\n" + b"A" * 10_000 + b"\n") * 1000
    packed = member.compress(text) + member.flush()
    (tmp_path / "a.fa.gz").write_bytes(packed * 1000)
    assert (tmp_path / "a.fa.gz").stat().st_size < 20_000_000
    records, residues, memory = count(tmp_path / "a.fa.gz", threads=threads)
    assert (records, residues) == (1_000_000, 10_000_000_000)
    assert memory < 256
