import bz2
import gzip
import lzma
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from seqloom.errors import (
    ArgumentError,
    FileError,
    FormatError,
    MissingFileError,
)
from seqloom.io import SequenceIndex, SequenceRecord, open_sequences

word = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1)
header = st.lists(word.filter(lambda text: ">" not in text), min_size=1, max_size=3).map(
    " ".join
)
letters = st.text("ACGTNacgtn", max_size=200)


def read(path):
    with open_sequences(path) as reader:
        return list(reader)


def reference(text):
    """A FASTA parser in four lines of Python, like Biopython's SimpleFastaParser."""
    for entry in text.split(">")[1:]:
        head, *lines = entry.splitlines()
        name, _, description = head.partition(" ")
        yield SequenceRecord(name, description.strip(), "".join(lines).encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(header, letters), min_size=1),
    st.integers(1, 90),
    st.sampled_from([open, gzip.open]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_sequences_are_read_like_by_a_reference_parser(tmp_path, rows, width, opener, end):
    parts = [
        [f">{head}", *(seq[i : i + width] for i in range(0, len(seq), width))]
        for head, seq in rows
    ]
    text = end.join(line for part in parts for line in part) + end
    with opener(tmp_path / "a.fa", "wb") as file:
        file.write(text.encode())
    assert read(tmp_path / "a.fa") == list(reference(text))


def test_a_batch_ends_at_its_limit_of_records_or_bytes(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nAC\n>c\nG\n>d\nT\n")
    with open_sequences(tmp_path / "a.fa") as reader:
        assert [b.ids for b in reader.batches(3)] == [["a", "b", "c"], ["d"]]
    with open_sequences(tmp_path / "a.fa") as reader:
        sizes = [batch.sequences.data.size for batch in reader.batches(9, max_bytes=4)]
    assert sum(sizes) == 8
    assert max(sizes) == 4


def test_a_batch_of_long_records_has_at_most_4_mib(tmp_path):
    (tmp_path / "a.fa").write_text(f">a\n{'ACGT' * (1 << 18)}\n" * 10)
    with open_sequences(tmp_path / "a.fa") as reader:
        assert [len(batch) for batch in reader.batches(9)] == [4, 4, 2]


def test_batches_contain_the_same_sequences_as_records(tmp_path):
    (tmp_path / "a.fa").write_text(">a one two\nACGT\n>b\nAC\n")
    with open_sequences(tmp_path / "a.fa") as reader:
        (batch,) = reader.batches(9)
    assert batch.headers.to_list() == [b"a one two", b"b"]
    assert list(batch) == [batch[0], batch[1]] == read(tmp_path / "a.fa")
    assert batch[0] == SequenceRecord("a", "one two", b"ACGT")
    assert batch.qualities is None


def test_a_header_that_is_not_utf8_can_be_printed(tmp_path):
    (tmp_path / "a.fa").write_bytes(b">caf\xe9\nACGT\n")
    assert read(tmp_path / "a.fa")[0].id == r"caf\xe9"


def test_gzip_is_detected_from_the_content(tmp_path):
    (tmp_path / "a.fa").write_bytes(gzip.compress(b">a\nAC\n") + gzip.compress(b">b\nG\n"))
    with open_sequences(tmp_path / "a.fa") as reader:
        assert (reader.format, reader.compression) == ("fasta", "gzip")
        assert [record.id for record in reader] == ["a", "b"]


COMPRESSION_MODULES = {"gzip": gzip, "bzip2": bz2, "xz": lzma}


@pytest.mark.parametrize("name", ["a.fa", "a.fa.gz", "a.fa.xz", "a.fa.bz2"])
@pytest.mark.parametrize("container", COMPRESSION_MODULES)
def test_the_suffix_of_a_sequence_file_does_not_affect_reading(tmp_path, container, name):
    (tmp_path / name).write_bytes(COMPRESSION_MODULES[container].compress(b">a\nAC\n"))
    with open_sequences(tmp_path / name) as reader:
        assert reader.compression == container
        assert [record.id for record in reader] == ["a"]


@pytest.mark.parametrize("outer", COMPRESSION_MODULES)
@pytest.mark.parametrize("inner", COMPRESSION_MODULES)
def test_a_file_that_was_compressed_twice_is_an_error(tmp_path, outer, inner):
    data = COMPRESSION_MODULES[outer].compress(
        COMPRESSION_MODULES[inner].compress(b">a\nAC\n")
    )
    (tmp_path / "a.fa.gz").write_bytes(data)
    with pytest.raises(FormatError, match=f"found {inner} data.*inside {outer}"):
        read(tmp_path / "a.fa.gz")


def test_the_error_for_a_missing_sequence_file_names_the_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"nope\.fa: no such file"):
        open_sequences(tmp_path / "nope.fa")


def test_a_folder_is_not_a_sequence_file(tmp_path):
    with pytest.raises(FileError, match="folder"):
        open_sequences(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_sequence_file_is_an_error(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    (tmp_path / "a.fa").chmod(0)
    with pytest.raises(FileError):
        open_sequences(tmp_path / "a.fa")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "empty"),
        (b"hello\n", "text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG"),
        (b"\xfd7zXZ\x00" + bytes(20), "xz"),
        (b"PK\x03\x04" + bytes(30), "(?i)zip"),
    ],
)
def test_the_error_for_another_file_format_names_the_format(tmp_path, content, found):
    (tmp_path / "a.fa").write_bytes(content)
    with pytest.raises(FormatError, match=found):
        read(tmp_path / "a.fa")


def test_a_truncated_gzip_is_an_error(tmp_path):
    whole = gzip.compress(b">a\n" + os.urandom(9999).hex().encode() + b"\n")
    (tmp_path / "a.fa.gz").write_bytes(whole[:-100])
    with pytest.raises(FormatError, match=r"a\.fa\.gz"):
        read(tmp_path / "a.fa.gz")


OPTIONS_WITH_CHOICES = ["format", "quality", "on_error", "comments", "whitespace"]


@pytest.mark.parametrize(
    "option", [{name: "bam"} for name in OPTIONS_WITH_CHOICES], ids=OPTIONS_WITH_CHOICES
)
def test_the_error_for_an_unknown_option_value_lists_the_choices(option):
    with pytest.raises(ArgumentError, match=r"must be \".*\" or \".*\", got 'bam'"):
        open_sequences("a.fa", **option)


def test_a_batch_limit_below_1_is_an_error():
    with pytest.raises(ArgumentError, match="must be at least 1, got 0"):
        open_sequences("a.fa", max_record=0)


def test_a_fasta_file_read_as_fastq_is_an_error(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    with pytest.raises(FormatError, match="expected FASTQ, found FASTA"):
        open_sequences(tmp_path / "a.fa", format="fastq")


def test_reading_from_a_closed_reader_is_an_error(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    with open_sequences(tmp_path / "a.fa") as reader:
        pass
    with pytest.raises(ArgumentError, match="closed"):
        list(reader)


def test_a_batch_size_of_zero_is_an_error(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    with open_sequences(tmp_path / "a.fa") as reader, pytest.raises(ArgumentError):
        reader.batches(0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_reading_a_pipe_a_second_time_is_an_error(tmp_path):
    os.mkfifo(tmp_path / "a.fa")
    writer = threading.Thread(target=(tmp_path / "a.fa").write_text, args=(">a\nACGT\n",))
    writer.start()
    with open_sequences(tmp_path / "a.fa") as reader:
        assert [record.sequence for record in reader] == [b"ACGT"]
    writer.join()


def test_a_fastq_record_without_sequence_suggests_remedies(tmp_path):
    (tmp_path / "a.fq").write_text("@a\n+\n\n@b\nAC\n+\nII\n")
    message = r'write an empty line .* on_error="skip"'
    with (
        open_sequences(tmp_path / "a.fq") as reader,
        pytest.raises(FormatError, match=message),
    ):
        list(reader)
    with open_sequences(tmp_path / "a.fq", on_error="skip") as reader:
        assert [record.id for record in reader] == ["b"]
    with pytest.raises(FormatError, match="seqloom convert --on-error skip"):
        SequenceIndex(tmp_path / "a.fq")


@pytest.mark.parametrize(
    ("rest", "message"), [(1 << 20, "checksum"), (66 << 20, "expected a residue")]
)
def test_a_reader_checks_at_most_64_mib_after_an_invalid_record(tmp_path, rest, message):
    packed = bytearray(gzip.compress(b">a\nA\x01\n" + b"A" * rest, 1))
    packed[-6] ^= 1  # a byte of the final checksum
    (tmp_path / "a.fa.gz").write_bytes(packed)
    with pytest.raises(FormatError, match=message):
        list(open_sequences(tmp_path / "a.fa.gz"))
