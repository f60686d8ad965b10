"""`seqloom explain` writes a page or a table of contributions."""

import subprocess
import sys
from datetime import date
from importlib import metadata

import numpy as np
import pytest

import seqloom as sl
from seqloom import _demo

FASTA_OF_TEST_SET = _demo.example_path("test.fa.gz")


@pytest.fixture
def few(tmp_path):
    """A file with five windows of the demo."""
    with sl.io.open_sequences(FASTA_OF_TEST_SET) as records:
        rows = [(record.id, record.sequence.decode()) for record in records][:5]
    (tmp_path / "few.fa").write_text("".join(f">{name}\n{text}\n" for name, text in rows))
    return tmp_path / "few.fa"


def test_the_command_explain_writes_the_table_of_the_function(trained, few, tmp_path):
    words = ["explain", trained, few, "--out", tmp_path / "t.tsv", "--target", "EI"]
    command = [sys.executable, "-m", "seqloom", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sl.infer.explain(trained, few, target="EI").to_tsv(tmp_path / "python.tsv")
    assert (tmp_path / "t.tsv").read_bytes() == (tmp_path / "python.tsv").read_bytes()
    assert f"explained 5 sequences: {tmp_path / 't.tsv'}" in done.stdout


def test_explain_reads_standard_input_and_writes_standard_output(trained, few):
    words = ["explain", str(trained), "-", "--out", "-", "--method", "mutations"]
    command = [sys.executable, "-m", "seqloom", *words]
    done = subprocess.run(command, input=few.read_bytes(), capture_output=True, check=True)
    head, *rows = done.stdout.decode().splitlines()
    assert head == "id\ttarget\tposition\tletter\tA\tC\tG\tT"
    assert len(rows) == 5 * 60


def test_an_explanation_page_reports_the_number_of_omitted_sequences(
    call, trained, few, tmp_path
):
    page = tmp_path / "letters.html"
    said = call("explain", trained, few, "--out", page, "--limit", 2)
    assert said.code == 0
    assert "3 more sequences are not on the page: --limit 5 adds them" in said.out
    text = page.read_text()
    assert text.count("<h3>") == 2
    assert "the first 2 of 5 sequences, without the other 3" in text


def test_an_explanation_page_shows_model_files_date_version(call, trained, few, tmp_path):
    call("explain", trained, few, "--out", tmp_path / "letters.html")
    text = (tmp_path / "letters.html").read_text()
    today = date.today().isoformat()  # noqa: DTZ011 - the day of this machine
    for fact in (trained.name, "few.fa", today, f"seqloom {metadata.version('seqloom')}"):
        assert f">{fact}<" in text
    assert str(tmp_path) not in text


def test_the_option_window_of_explain_sets_the_window_size(call, trained, few, tmp_path):
    call("explain", trained, few, "--out", tmp_path / "t.tsv", "--window", 20)
    rows = (tmp_path / "t.tsv").read_text().splitlines()[1:]
    weights = np.array([row.split("\t")[4] for row in rows], float).reshape(5, 3, 20)
    assert (weights == weights[..., :1]).all()


def test_explain_accepts_genome_intervals(call, trained, tmp_path):
    genome, peaks = tmp_path / "g.fa", tmp_path / "p.bed"
    genome.write_text(f">chr1\n{'ACGTTGCATA' * 20}\n")
    peaks.write_text("chr1\t40\t80\nchr1\t90\t110\n")
    options = ["--intervals", peaks, "--length", 60, "--limit", 1]
    said = call("explain", trained, genome, *options, "--out", tmp_path / "letters.html")
    assert (said.err, "explained 1 sequence:" in said.out) == ("", True)


INVALID_ARGUMENTS = {
    "ending": (["--out", "letters.txt"], "--out must end in .html (a page) or in .tsv"),
    "target": (["--out", "t.tsv", "--target", "XX"], "must be one of EI, IE, N, got 'XX'"),
    "both": (
        ["--out", "t.tsv", "--method", "mutations", "--window", "3"],
        "mutations change one residue at a time",
    ),
}


@pytest.mark.parametrize(
    ("words", "expected"), INVALID_ARGUMENTS.values(), ids=INVALID_ARGUMENTS.keys()
)
def test_invalid_arguments_of_explain_write_no_file(
    call, trained, few, monkeypatch, words, expected
):
    monkeypatch.chdir(few.parent)
    said = call("explain", trained, few, *words)
    assert (said.code, expected in said.err) == (2, True)
    assert [it.name for it in few.parent.iterdir()] == ["few.fa"]


def test_the_command_explain_rejects_genotypes(call, trained, tmp_path):
    said = call(
        "explain", trained, _demo.example_path("example.bed"), "--out", tmp_path / "t.tsv"
    )
    assert (said.code, "but FILES are genotypes" in said.err) == (2, True)


def test_an_explanation_page_is_replaced_only_with_the_option_overwrite(
    call, trained, few, tmp_path
):
    (tmp_path / "t.tsv").write_text("mine")
    words = ["explain", trained, few, "--out", tmp_path / "t.tsv"]
    assert "--overwrite replaces it" in call(*words).err
    assert (tmp_path / "t.tsv").read_text() == "mine"
    assert call(*words, "--overwrite").code == 0
    assert (tmp_path / "t.tsv").read_text().startswith("id\t")


def test_explain_with_the_option_quiet_prints_nothing(call, trained, few, tmp_path):
    said = call("explain", trained, few, "--out", tmp_path / "t.html", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_explain_rejects_an_exported_model(call, trained, few, tmp_path):
    sl.export.save(trained, tmp_path / "x.zip")
    said = call("explain", tmp_path / "x.zip", few, "--out", tmp_path / "letters.html")
    assert said.code == 2
    assert "model is an exported model" in said.err
