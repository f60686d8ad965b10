import gzip
import io
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fastx import FASTQ_SPECIMENS, read
from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io import SequenceRecord, inspect, open_sequences, write_sequences

FORMAT_AND_COMPRESSION_BY_NAME = {
    "a.fa": ("fasta", "none"),
    "a.FASTA": ("fasta", "none"),
    "a.fna.gz": ("fasta", "gzip"),
    "a.faa.bgz": ("fasta", "bgzip"),
    "a.fq": ("fastq", "none"),
    "a.fastq.gz": ("fastq", "gzip"),
    "a.fq.bgz": ("fastq", "bgzip"),
}
RECORDS_TO_WRITE = [
    ("a one  two ", "ACGTN", "II@I!"),
    (b"b\xff", b"", b""),
    ("c\t>x", "acgt-", "+@IJK"),
]
header = st.binary(min_size=1, max_size=30).filter(
    lambda text: bool(text.split()) and not set(text) & set(b"\n\r\0")
)
letters = st.text("ACGTNacgtn*-.", max_size=200).map(str.encode)


@pytest.mark.parametrize("record", [("\udcff", "AC"), SequenceRecord("\udcff", "", b"AC")])
def test_writing_text_that_is_not_valid_utf8_is_an_error(tmp_path, record):
    with pytest.raises(ArgumentError, match="expected UTF-8 text"):
        write_sequences(tmp_path / "a.fa", [record])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "made"), FORMAT_AND_COMPRESSION_BY_NAME.items())
def test_the_file_name_determines_output_format_and_compression(tmp_path, name, made):
    write_sequences(tmp_path / name, RECORDS_TO_WRITE)
    with open_sequences(tmp_path / name) as reader:
        assert (reader.format, reader.compression) == made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(header, letters), min_size=1, max_size=9),
    st.sampled_from(["fasta", "fastq"]),
    st.sampled_from(["none", "gzip", "bgzip"]),
    st.none() | st.integers(1, 70),
    st.integers(0, 9),
)
def test_written_records_are_read_back_unchanged(
    tmp_path, records, form, container, width, level
):
    rows = [(*row, b"~" * len(row[1]) if form == "fastq" else None) for row in records]
    options: Any = {"format": form, "compression": container}
    count = write_sequences(tmp_path / "a", rows, line_width=width, level=level, **options)
    assert count == len(rows)
    assert read(tmp_path / "a", format=form) == rows


@pytest.mark.parametrize(
    "name", ["tricky", "example_dos", "wrapping_as_sanger", "sanger_93"]
)
@pytest.mark.parametrize("kind", ["reader", "batches", "records"])
def test_readers_batches_and_records_are_written_without_changes(tmp_path, name, kind):
    source = FASTQ_SPECIMENS / f"{name}.fastq"
    with open_sequences(source) as reader:
        records = {"reader": reader, "batches": reader.batches(2), "records": iter(reader)}
        write_sequences(tmp_path / "a.fq.gz", records[kind])
    assert read(tmp_path / "a.fq.gz") == read(source)


def test_a_single_batch_can_be_written_to_a_file(tmp_path):
    with open_sequences(FASTQ_SPECIMENS / "example.fastq") as reader:
        batch = next(reader.batches(2))
    assert write_sequences(tmp_path / "a.fq", batch) == 2


def test_fastq_is_written_as_fasta_with_60_residues_a_line(tmp_path):
    write_sequences(tmp_path / "a.fa", [SequenceRecord("a", "b", b"A" * 130, b"I" * 130)])
    lines = (tmp_path / "a.fa").read_text().split("\n")
    assert [len(line) for line in lines] == [4, 60, 60, 10, 0]


def test_an_unchanged_record_is_written_with_its_original_header_line(monkeypatch):
    record = SequenceRecord("a", "b", b"ACGT", header=b"a   b ")
    changed = SequenceRecord("a", "c", b"ACGT", header=b"a   b ")
    out = io.BytesIO()
    text = io.TextIOWrapper(out)
    monkeypatch.setattr("sys.stdout", text)
    write_sequences("-", [record, changed], format="fasta")
    assert out.getvalue() == b">a   b \nACGT\n>a c\nACGT\n"


def test_written_sequence_files_do_not_depend_on_the_number_of_threads(tmp_path):
    rows = [(f"r{i}", "ACGTT" * 40, "I" * 200) for i in range(5000)]
    for threads in (1, 2, 3):
        write_sequences(tmp_path / f"{threads}.fq.bgz", rows, num_threads=threads)
    contents = {(tmp_path / f"{threads}.fq.bgz").read_bytes() for threads in (1, 2, 3)}
    assert len(contents) == 1


def test_written_gzip_can_be_read_by_other_libraries(tmp_path):
    write_sequences(tmp_path / "a.fa.gz", [("a", "ACGT")])
    write_sequences(tmp_path / "a.fa.bgz", [("a", "ACGT")])
    assert gzip.decompress((tmp_path / "a.fa.gz").read_bytes()) == b">a\nACGT\n"
    assert gzip.decompress((tmp_path / "a.fa.bgz").read_bytes()) == b">a\nACGT\n"


PRINT_SCRIPT = """
import seqloom as sl
sl.io.write_sequences("-", [("a", "AC")], format="fasta", compression="gzip")
"""


def test_compressed_sequences_can_be_written_to_standard_output():
    done = subprocess.run([sys.executable, "-c", PRINT_SCRIPT], stdout=-1, check=True)
    assert gzip.decompress(done.stdout) == b">a\nAC\n"


VALID_RECORD: Any = ("first", "A", "I")
INVALID_RECORDS = {
    "an empty id": (("", "AC"), "expected an id"),
    "a line end in a header": (("a\nb", "AC"), "a header is one line"),
    "a space among letters": (("a", "A C"), "position 1: expected a residue, found ' '"),
    "a mark among letters": (("a", "A>C"), "position 1: .*'>'"),
    "too few qualities": (
        ("a", "ACGT", "II"),
        "4 residues need as many qualities, found 2",
    ),
    "a quality that is none": (("a", "AC", "I\t"), "expected a quality from '!' to '~'"),
}


@pytest.mark.parametrize(("row", "words"), INVALID_RECORDS.values(), ids=INVALID_RECORDS)
def test_writing_a_record_that_cannot_be_read_back_leaves_no_file(tmp_path, row, words):
    name = "a.fq" if len(row) == 3 else "a.fa"
    with pytest.raises((FormatError, ArgumentError), match=words):
        write_sequences(tmp_path / name, [VALID_RECORD[: len(row)], row])
    assert list(tmp_path.iterdir()) == []


def test_an_error_during_writing_names_file_and_record(tmp_path):
    rows = [("a", "AC"), ("b", "G G")]
    with pytest.raises(FormatError, match=r"a\.fa: record 1 \(b\): position 1") as caught:
        write_sequences(tmp_path / "a.fa", rows)
    assert caught.value.record == 1


def test_a_source_of_records_that_fails_keeps_the_old_file(tmp_path):
    write_sequences(tmp_path / "a.fq", [("old", "A", "I")])
    before = (tmp_path / "a.fq").read_bytes()
    with (
        open_sequences(FASTQ_SPECIMENS / "error_trunc_in_qual.fastq") as reader,
        pytest.raises(FormatError),
    ):
        write_sequences(tmp_path / "a.fq", reader)
    assert (tmp_path / "a.fq").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_sequence_file_can_be_overwritten_while_it_is_read(tmp_path):
    write_sequences(tmp_path / "a.fa", [("a", "AC" * 9999)])
    with open_sequences(tmp_path / "a.fa") as reader:
        write_sequences(tmp_path / "a.fa", reader, line_width=None)
    assert inspect(tmp_path / "a.fa").longest == 19998


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("a.txt", {}, "the name does not imply a format"),
        ("-", {}, "the name does not imply a format"),
        ("a.fa", {"format": "bam"}, 'format must be "fasta" or "fastq"'),
        ("a.fa", {"compression": "xz"}, 'compression must be "none", "gzip" or "bgzip"'),
        ("a.fa", {"level": 10}, "level must be from 0 to 9"),
        ("a.fa", {"line_width": 0}, "line_width must be at least 1"),
        ("a.fq", {}, "FASTQ needs qualities"),
    ],
)
def test_contradictory_options_of_writing_are_errors(tmp_path, name, options, words):
    path = name if name == "-" else tmp_path / name
    with pytest.raises((ArgumentError, FormatError), match=words):
        write_sequences(path, [("a", "AC")], **options)


@pytest.mark.parametrize("record", [7, ("a",), "ab c"])
def test_writing_an_object_that_is_not_a_record_is_an_error(tmp_path, record):
    with pytest.raises(ArgumentError, match="expected a SequenceRecord"):
        write_sequences(tmp_path / "a.fa", [record])


ENDLESS_WRITE_SCRIPT = """
import seqloom as sl
from itertools import repeat
print("begun", flush=True)
sl.io.write_sequences("a.fa", repeat(("a", "ACGT" * 9999)))
"""


def test_the_next_writer_removes_temporary_files_of_a_killed_one(tmp_path):
    command = [sys.executable, "-c", ENDLESS_WRITE_SCRIPT]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        while not any(part.stat().st_size for part in tmp_path.glob(".*.part")):
            assert writer.poll() is None
            time.sleep(0.01)
        writer.kill()
    write_sequences(tmp_path / "a.fa", [("a", "AC")])
    assert [path.name for path in tmp_path.iterdir()] == ["a.fa"]


@pytest.mark.parametrize("name", ["a.fa.xz", "a.fq.bz2", "a.fa.zst"])
def test_writing_in_a_compression_that_can_only_be_read_is_an_error(tmp_path, name):
    with pytest.raises(ArgumentError, match="but does not write it; use a name that"):
        write_sequences(tmp_path / name, [("a", "AC")])
    assert list(tmp_path.iterdir()) == []


def test_writing_into_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileError):
        write_sequences(tmp_path / "none" / "a.fa", [("a", "AC")])
