"""Sources of text: paths, pipes, standard input, file objects."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
import zipfile
from typing import Any, cast

import pytest

from fastx import COMPRESSORS, read, rows
from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io import open_sequences

FASTA_BYTES = b">a one\nACGT\n>b\nGG\n"
EXPECTED_RECORDS = [(b"a one", b"ACGT", None), (b"b", b"GG", None)]
ALL_COMPRESSORS = {**COMPRESSORS, "bzip2": bz2.compress, "xz": lzma.compress}
STDIN_SCRIPT = """
import sys, seqloom as sl
with sl.io.open_sequences("-") as reader:
    print([(record.id, record.sequence) for record in reader], reader.compression)
"""
EXIT_EARLY_SCRIPT = """
import seqloom as sl, gzip, io, os
text = b"".join(b"@r%d\\nACGT\\n+\\nIIII\\n" % i for i in range(400_000))
reader = sl.io.open_sequences(io.BytesIO(gzip.compress(text, 1)), num_threads=2)
print(next(iter(reader)).id)
"""


class Broken(io.RawIOBase):
    """A file object that raises a custom exception."""

    def readable(self):
        return True

    def readinto(self, _):
        raise ZeroDivisionError("disk on fire")


class OnlyRead:
    """A file object with only a read method."""

    def __init__(self, content):
        self.read = io.BytesIO(content).read


class OnlyReadInto:
    """A file object with only a readinto method."""

    def __init__(self, content):
        self.readinto = io.BytesIO(content).readinto


@pytest.mark.parametrize("wrap", [io.BytesIO, OnlyRead, OnlyReadInto])
@pytest.mark.parametrize("pack", ALL_COMPRESSORS.values(), ids=ALL_COMPRESSORS)
def test_any_binary_file_object_can_be_read(wrap, pack):
    assert read(wrap(pack(FASTA_BYTES))) == EXPECTED_RECORDS


def test_a_file_object_is_read_from_its_position_and_stays_open():
    file = io.BytesIO(b"rubbish" + FASTA_BYTES)
    file.seek(7)
    assert read(file) == EXPECTED_RECORDS
    assert not file.closed


def test_a_member_of_a_zip_archive_can_be_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.fa", FASTA_BYTES)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive, archive.open("a.fa") as file:
        assert read(file) == EXPECTED_RECORDS


class GivesText:
    """A binary file object whose read returns text."""

    def __init__(self):
        self.read = io.StringIO(">a\nAC\n").read


@pytest.mark.parametrize("text", [io.StringIO(">a\nAC\n"), GivesText()])
def test_a_text_file_object_is_an_error(text):
    with pytest.raises(ArgumentError, match='binary mode, "rb"'):
        open_sequences(text)


@pytest.mark.parametrize("thing", [7])
def test_a_file_object_without_a_read_method_is_an_error(thing):
    with pytest.raises(ArgumentError, match="a binary file object, got int"):
        open_sequences(thing)


class Liar:
    """A file object whose readinto returns a wrong number of bytes."""

    def __init__(self, answer):
        self.readinto = lambda _: answer


@pytest.mark.parametrize("answer", [-1, 1 << 40, "all"])
def test_a_file_object_that_returns_too_many_bytes_is_an_error(answer):
    with pytest.raises(ArgumentError, match=f"Liar returned the byte count {answer}"):
        open_sequences(cast("Any", Liar(answer)))


class GivesNumbers:
    """An object whose read method has another meaning."""

    def read(self, _):
        return 5


def test_a_file_object_that_returns_no_bytes_is_an_error():
    with pytest.raises(ArgumentError, match=r"GivesNumbers returns .*int.*, expected"):
        open_sequences(cast("Any", GivesNumbers()))


@pytest.mark.parametrize("threads", [1, 2])
def test_exceptions_raised_by_a_file_object_are_passed_on(threads):
    with pytest.raises(ZeroDivisionError, match="disk on fire"):
        open_sequences(Broken(), num_threads=threads)


def test_a_file_object_closed_during_reading_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(FASTA_BYTES * 100_000)
    file = (tmp_path / "a").open("rb", buffering=0)
    with open_sequences(file) as reader:
        batches = reader.batches(10)
        next(batches)
        file.close()
        with pytest.raises(ValueError, match="closed"):
            list(batches)


def test_sequences_can_be_read_from_standard_input():
    command = [sys.executable, "-c", STDIN_SCRIPT]
    done = subprocess.run(command, input=gzip.compress(FASTA_BYTES), stdout=-1, check=True)
    assert done.stdout == b"[('a', b'ACGT'), ('b', b'GG')] gzip\n"


def test_sequences_are_read_from_a_replaced_sys_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FASTA_BYTES)))
    assert read("-") == EXPECTED_RECORDS


def test_a_program_can_exit_before_it_has_read_a_whole_file():
    done = subprocess.run(
        [sys.executable, "-c", EXIT_EARLY_SCRIPT], capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"r0\n", b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("pack", ALL_COMPRESSORS.values(), ids=ALL_COMPRESSORS)
def test_a_named_pipe_can_be_read_once(tmp_path, pack):
    os.mkfifo(tmp_path / "a")
    content = pack(FASTA_BYTES)
    writer = threading.Thread(target=(tmp_path / "a").write_bytes, args=(content,))
    writer.start()
    assert read(tmp_path / "a") == EXPECTED_RECORDS
    writer.join()


FASTQ_BYTES = b"".join(
    b"@r%d\n%s\n+\n%s\n" % (i, b"ACGT" * 30, b"I" * 120) for i in range(9999)
)


def overwrite(path, place):
    """Overwrite part of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"@more")


FILE_CHANGE_FUNCTIONS = {
    "shorter": os.truncate,
    "longer": lambda path, _: path.write_bytes(path.read_bytes() + b"@more"),
    "other": overwrite,
}


@pytest.mark.parametrize("change", FILE_CHANGE_FUNCTIONS)
@pytest.mark.parametrize("pack", ALL_COMPRESSORS.values(), ids=ALL_COMPRESSORS)
def test_a_file_that_changes_during_reading_is_an_error_or_complete(tmp_path, pack, change):
    content = pack(FASTQ_BYTES)
    for step in range(20):
        path = tmp_path / f"{step}"
        path.write_bytes(content)
        assert read_and_change(path, change, step) in {9999, None}


def read_and_change(path, change, step):
    """Return the number of records read from a file during a write, or None."""
    try:
        with open_sequences(path, num_threads=1 + step % 2) as reader:
            count = len(next(reader.batches(1 + 400 * step)))
            FILE_CHANGE_FUNCTIONS[change](path, path.stat().st_size * step // 20)
            return count + sum(map(len, reader.batches(1000)))
    except (FileError, FormatError):
        return None


def test_batches_do_not_change_when_later_batches_are_read(tmp_path):
    text = b"".join(b">r%d\n%s\n" % (i, b"ACGT" * (i % 7)) for i in range(2000))
    (tmp_path / "a.fa").write_bytes(text)
    with open_sequences(tmp_path / "a.fa") as reader:
        kept = list(reader.batches(100))
    assert [row for batch in kept for row in rows(batch)] == read(tmp_path / "a.fa")
