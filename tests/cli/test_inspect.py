"""``seqloom inspect``."""

import gzip
import io
import json
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

from seqloom import _demo
from seqloom.io import inspect, open_sequences

TRAINING_FASTA = _demo.example_path("train.fa.gz")


def test_inspect_prints_a_summary_table(call):
    said = call("inspect", TRAINING_FASTA)
    assert (said.code, said.err) == (0, "")
    for words in ("gzip", "2,000", "120,000", "all 60", "dna", "52.7 %", "C 26.5 %"):
        assert words in said.out


def test_inspect_with_the_option_json_prints_only_the_summary(call):
    said = call("inspect", TRAINING_FASTA, "--json")
    assert json.loads(said.out) == json.loads(json.dumps(inspect(TRAINING_FASTA).to_dict()))


@pytest.mark.parametrize(("encoding", "block"), [("utf-8", "█"), ("ascii", "#")])
def test_the_most_frequent_length_has_the_longest_histogram_bar(
    call, tmp_path, monkeypatch, encoding, block
):
    monkeypatch.setattr("rich.console.Console.encoding", encoding)
    lengths = [10] * 4 + [100] * 2
    fasta = "".join(f">s{i}\n{'A' * length}\n" for i, length in enumerate(lengths))
    (tmp_path / "a.fa").write_text(fasta)
    lines = call("inspect", tmp_path / "a.fa").out.splitlines()
    bars = [line.count(block) for line in lines if block in line]
    assert bars == [40, 20]


@pytest.fixture
def stdin(monkeypatch):
    """Replace standard input by text."""

    def put(text):
        stream = io.TextIOWrapper(io.BytesIO(text))
        monkeypatch.setattr("sys.stdin", stream)

    return put


def test_inspect_reads_standard_input(call, stdin):
    stdin(TRAINING_FASTA.read_bytes())
    said = call("inspect", "-")
    assert (said.code, said.err) == (0, "")
    for words in (
        f"- ({TRAINING_FASTA.stat().st_size:,} bytes)",
        "gzip",
        "2,000",
        "52.7 %",
    ):
        assert words in said.out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_inspect_rejects_a_pipe_and_suggests_standard_input(call, tmp_path):
    os.mkfifo(tmp_path / "a.fa")
    said = call("inspect", tmp_path / "a.fa")
    assert said.code == 2
    assert said.err.endswith(
        "save it to a file first, or pipe it: seqloom inspect - < FIFO\n"
    )


def test_duplicate_ids_of_standard_input_are_counted_without_examples(call, stdin):
    stdin(b">a\nA\n>a\nA\n>b\nA\n")
    found = json.loads(call("inspect", "-", "--json").out)
    assert (found["path"], found["duplicate_ids"], found["duplicate_examples"]) == (
        "-",
        1,
        [],
    )


def test_an_empty_standard_input_is_an_error(call, stdin):
    stdin(b"")
    said = call("inspect", "-")
    assert (said.code, said.err) == (
        2,
        "error: -: the file is empty, expected FASTA or FASTQ\n",
    )


def test_inspect_prints_the_summary_even_if_it_cannot_write_the_plot(call, tmp_path):
    said = call("inspect", TRAINING_FASTA, "--plot", tmp_path / "none" / "a.svg")
    assert (said.code, "2,000" in said.out) == (2, True)
    assert said.err.endswith("a.svg: cannot be written: No such file or directory\n")


def test_an_unknown_plot_format_is_an_error_before_reading(call):
    said = call("inspect", "none.fa", "--plot", "a.png")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: a.png: a picture is written as SVG; give it a name that ends in .svg\n"
    )


def test_inspect_rejects_a_second_file(call):
    said = call("inspect", TRAINING_FASTA, "b.fa")
    assert (said.code, "Unexpected file or word: b.fa." in said.err) == (
        2,
        True,
    )


@pytest.mark.parametrize("text", [b">a\nACGT\n>\nGG\n", b"@a\nAC\n+\nII\n@\nG\n+\nI\n"])
def test_inspect_can_number_headers_without_ids_in_standard_input(
    call, stdin, tmp_path, text
):
    out = str(tmp_path / "out.fa")
    for words in (["inspect", "-"], ["convert", "-", out]):
        stdin(text)
        said = call(*words)
        assert said.code == 2
        assert "expected an id after" in said.err
        stdin(text)
        assert call(*words, "--ids", "number").code == 0
    assert [record.id for record in open_sequences(out)] == ["a", "1"]


SEQUENCE_TABLE = "id,sequence,label\na,ACGT,x\nb,GGNN,y\na,aT,x\n"


@pytest.mark.parametrize("kind", ["csv", "gzip", "parquet", "no suffix"])
def test_a_table_of_sequences_has_the_summary_of_the_same_fasta(call, tmp_path, kind):
    path = (
        tmp_path
        / {"csv": "t.csv", "gzip": "t.tsv.gz", "parquet": "t", "no suffix": "t"}[kind]
    )
    if kind == "parquet":
        rows = [row.split(",") for row in SEQUENCE_TABLE.split()[1:]]
        columns = zip(["id", "sequence", "label"], zip(*rows, strict=True), strict=True)
        parquet.write_table(pa.table({name: list(cells) for name, cells in columns}), path)
    else:
        text = SEQUENCE_TABLE.replace(",", "\t") if kind == "gzip" else SEQUENCE_TABLE
        path.write_bytes(gzip.compress(text.encode()) if kind == "gzip" else text.encode())
    fasta = tmp_path / "t.fa"
    fasta.write_text(">a\nACGT\n>b\nGGNN\n>a\naT\n")
    said = call("inspect", path, "--json")
    assert said.code == 0, said.err
    found, expected = json.loads(said.out), json.loads(call("inspect", fasta, "--json").out)
    assert (found["format"], found["compression"]) == (
        "table",
        "gzip" if kind == "gzip" else "none",
    )
    apart = {"path", "format", "compression", "file_bytes"}
    assert {key: it for key, it in found.items() if key not in apart} == {
        key: it for key, it in expected.items() if key not in apart
    }


def test_inspect_accepts_other_column_names(call, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(SEQUENCE_TABLE.replace("id,sequence", "name,dna"))
    said = call("inspect", path, "--sequence-column", "dna", "--id-column", "name")
    assert (said.code, "1 (a)" in said.out) == (0, True), said.err
    said = call("inspect", path)
    assert (said.code, "--sequence-column" in said.err) == (2, True)
