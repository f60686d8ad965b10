"""``seqloom index``."""

from seqloom import _demo
from seqloom.io import SequenceIndex


def test_index_prints_the_written_files(call, tmp_path):
    file = tmp_path / "train.fa.gz"
    file.write_bytes(_demo.example_path("train.fa.gz").read_bytes())
    said = call("index", file)
    assert said.code == 0
    assert "2,000 records, 120,000 residues, fasta, gzip" in said.out
    assert f"{file}.sli (" in said.out
    assert len(SequenceIndex(file, build=False)) == 2000


def test_index_of_an_uncompressed_file_prints_not_compressed(call, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    assert "4 residues, fasta, not compressed\n" in call("index", tmp_path / "a.fa").out


def test_the_option_fai_writes_samtools_indexes(call, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    said = call("index", tmp_path / "a.fa", "--fai")
    assert "a.fa.fai (10 bytes)" in said.out
    assert (tmp_path / "a.fa.fai").read_text() == "a\t4\t3\t4\t5\n"


def test_a_truncated_sequence_file_is_indexed_only_with_overwrite(call, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    call("index", tmp_path / "a.fa")
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    refused = call("index", tmp_path / "a.fa")
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert "1 records, 2 residues" in call("index", tmp_path / "a.fa", "--overwrite").out


def test_indexing_another_file_format_is_an_error(call, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    said = call("index", tmp_path / "a.txt")
    assert said.code == 2
    assert "a.txt" in said.err


def test_a_folder_with_the_name_of_the_index_is_an_error(call, tmp_path):
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    (tmp_path / "a.fa.sli").mkdir()
    said = call("index", tmp_path / "a.fa")
    assert (said.code, said.out) == (2, "")
    assert "a.fa.sli: is a folder; expected a file path" in said.err


def test_standard_input_cannot_be_indexed(call):
    said = call("index", "-")
    assert (said.code, said.err) == (
        2,
        "error: -: standard input can only be read once; save it to a file first\n",
    )
