"""Writing read pairs to two files, or interleaved to one."""

import pytest

from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io import SequenceRecord, open_sequences, write_sequences


@pytest.fixture
def mates(tmp_path, monkeypatch):
    """Two files of three pairs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r1.fq").write_text("".join(f"@{n}/1\nAC\n+\nII\n" for n in "abc"))
    (tmp_path / "r2.fq").write_text("".join(f"@{n}/2\nGGT\n+\n!!I\n" for n in "abc"))
    return "r1.fq", "r2.fq"


def pair(one="a/1", other="a/2", letters=b"AC"):
    """Two reads of a pair."""
    return SequenceRecord(one, "", letters), SequenceRecord(other, "", letters)


def columns(reader):
    return reader.batches(2)


@pytest.mark.parametrize(
    "kind", [iter, columns, lambda reader: reader], ids=["records", "columns", "reader"]
)
def test_read_pairs_of_every_type_are_written_without_changes(tmp_path, mates, kind):
    with open_sequences(mates) as reader:
        assert write_sequences(("o1.fq", "o2.fq"), kind(reader)) == 3
    for name in "12":
        written = (tmp_path / f"o{name}.fq").read_bytes()
        assert written == (tmp_path / f"r{name}.fq").read_bytes()


@pytest.mark.parametrize(
    "kind", [iter, columns, lambda reader: reader], ids=["records", "columns", "reader"]
)
def test_one_output_file_contains_interleaved_reads(mates, kind):
    with open_sequences(mates) as reader:
        assert write_sequences("both.fq", kind(reader)) == 6
    with open_sequences("both.fq") as reader:
        assert [record.id for record in reader] == [f"{n}/{m}" for n in "abc" for m in "12"]


def test_each_output_name_of_a_pair_sets_its_compression(mates):
    with open_sequences(mates) as reader:
        write_sequences(("o1.fq.gz", "o2.fa.bgz"), reader)
    with open_sequences(("o1.fq.gz", "o2.fa.bgz")) as reader:
        assert reader.format == "fastq"
        assert len(list(reader)) == 3


def test_more_read_pairs_than_fit_one_batch_are_written(tmp_path):
    paths = (tmp_path / "1.fa", tmp_path / "2.fa")
    assert write_sequences(paths, (pair(f"{n}/1", f"{n}/2") for n in range(5000))) == 5000


INVALID_PAIRS = {
    "a read of another fragment": ([pair(), pair("b/1", "c/2")], "pair 1: .*'b/1'.*'c/2'"),
    "a letter that is none": ([pair(), pair(letters=b"A C")], "position 1"),
    "a single record": ([pair(), SequenceRecord("b", "", b"A")], "expected pairs"),
    "a pair of texts": ([("a", "AC")], "expected pairs"),
}


@pytest.mark.parametrize(("pairs", "words"), INVALID_PAIRS.values(), ids=INVALID_PAIRS)
def test_writing_an_invalid_read_pair_leaves_no_files(tmp_path, pairs, words):
    with pytest.raises((FormatError, ArgumentError), match=words):
        write_sequences((tmp_path / "1.fa", tmp_path / "2.fa"), pairs)
    assert list(tmp_path.iterdir()) == []


def test_batches_of_different_sizes_cannot_be_written_as_pairs(mates, tmp_path):
    with open_sequences(mates[0]) as reader:
        short, long = reader.read_batch(1), reader.read_batch(2)
    for path in ("o.fq", ("o1.fq", "o2.fq")):
        with pytest.raises(ArgumentError, match="found 1 first reads and 2 second reads"):
            write_sequences(path, [(short, long)])
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_folder_for_the_second_file_leaves_no_first_file(tmp_path):
    with pytest.raises(FileError, match=r"none/2\.fa: cannot be written"):
        write_sequences((tmp_path / "1.fa", tmp_path / "none" / "2.fa"), [pair()])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (("a.fa",), "path must be one file or a pair of files, got 1 files"),
        (("a.fa", "b.fa", "c.fa"), "path must be one file or a pair of files, got 3 files"),
        (("a.fa", "./a.fa"), "both paths are the same file; give two files"),
    ],
)
@pytest.mark.usefixtures("mates")
def test_writing_a_pair_to_other_than_two_paths_is_an_error(paths, words):
    with pytest.raises(ArgumentError, match=words):
        write_sequences(paths, [pair()])


def test_standard_output_as_one_file_of_a_pair_is_an_error():
    with pytest.raises(ArgumentError, match="standard output is one file"):
        write_sequences(("-", "b.fa"), [pair()], format="fasta")
