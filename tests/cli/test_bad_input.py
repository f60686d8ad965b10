"""Bad input: exit code 2, one or two lines that say what and where, nothing written."""

import gzip
import lzma
from pathlib import Path

import pytest

TWO = ">a\nACGT\n>b\nGGCC\n"
LABELS = "id\tlabel\na\tyes\nb\tno\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to stand in, with two sequences and their labels."""
    monkeypatch.chdir(tmp_path)
    Path("two.fa").write_text(TWO)
    Path("two.tsv").write_text(LABELS)
    return tmp_path


@pytest.fixture
def refused(here, call):
    """Calls, and checks the manner of the refusal; gives the message."""

    def run(*words):
        said = call(*words)
        assert said.code == 2
        assert said.err.startswith("error: ")
        assert 1 <= len(said.err.splitlines()) <= 2
        assert not list(here.rglob("*.safetensors"))
        return said.err

    return run


def train(*words, fasta="two.fa", labels="two.tsv"):
    """The words of a training run on DNA."""
    return ["train", fasta, "--labels", labels, "--alphabet", "dna", "--out", "run", *words]


FILES = {
    "empty": (b"", "empty"),
    "text": (b"Dear reader,\n", "text"),
    "xz": (lzma.compress(TWO.encode()), "xz"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG"),
    "cut gzip": (gzip.compress(TWO.encode() * 99)[:-9], "cut|truncated|end"),
}


@pytest.mark.parametrize(("content", "name"), FILES.values(), ids=FILES)
def test_what_is_no_sequence_file_is_named(refused, content, name):
    Path("odd.fa").write_bytes(content)
    message = refused("inspect", "odd.fa")
    assert "odd.fa" in message
    assert any(each in message for each in name.split("|"))


@pytest.mark.parametrize("name", ["none.fa", "."], ids=["missing", "folder"])
def test_a_file_that_cannot_be_read_is_named(refused, name):
    assert name in refused(*train(fasta=name))


TABLES = {
    "id without a label": ("id\tlabel\na\tyes\n", ["1 of 2", "b"]),
    "one id, two values": (LABELS + "a\tno\n", ["'a'", "'no'", "'yes'", "line 4"]),
    "a single class": ("id\tlabel\na\tyes\nb\tyes\n", ["'yes'", "two classes"]),
    "fractions": ("id\tlabel\na\t0.5\nb\t0.7\n", ["0.5", "--task regress"]),
    "no such column": ("name\tlabel\na\tyes\n", ["id"]),
}


@pytest.mark.parametrize(("table", "expected"), TABLES.values(), ids=TABLES)
def test_labels_that_do_not_fit_are_explained(refused, table, expected):
    Path("odd.tsv").write_text(table)
    message = refused(*train(labels="odd.tsv"))
    assert [word for word in expected if word not in message] == []


def test_an_id_that_stands_twice_is_named(refused):
    Path("odd.fa").write_text(TWO + ">a\nTTTT\n")
    assert "'a' stands twice" in refused(*train(fasta="odd.fa"))


def test_a_foreign_letter_is_located(refused):
    Path("odd.fa").write_text(">a\nACGT\n>b\nGGEC\n")
    message = refused(*train(fasta="odd.fa"))
    found = ["odd.fa", "record 1", "line 4", "byte 13", "ACGT", "'E'"]
    assert [word for word in found if word not in message] == []


def test_an_alphabet_that_cannot_be_told_is_asked_for(refused):
    message = refused("train", "two.fa", "--labels", "two.tsv", "--out", "run")
    assert "DNA and protein both fit" in message


OPTIONS = {
    "epochs": (["--epochs", "0"], "epochs must be at least 1, got 0"),
    "lr": (["--lr", "nan"], "lr must be a number above 0, got nan"),
    "share": (["--valid-share", "1"], "--valid-share must be"),
    "two cuts": (["--valid", "two.fa", "--folds", "2"], "--valid and --folds exclude"),
    "judged folds": (["--folds", "2", "--test", "two.fa"], "without --folds"),
    "both": (["--resume", "--overwrite"], "--resume and --overwrite exclude each other"),
    "backend": (["--backend", "abacus"], "no backend is called 'abacus'"),
}


@pytest.mark.parametrize(("words", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_that_makes_no_sense_is_named(refused, words, expected):
    cut = (
        [] if {"--valid", "--valid-share", "--folds"} & {*words} else ["--valid-share", "0"]
    )
    assert expected in refused(*train(*cut, *words))


def test_labels_are_asked_for(refused):
    assert "--labels TABLE" in refused("train", "two.fa", "--out", "run")


def test_a_file_where_the_run_folder_should_be_is_an_error(refused):
    Path("run").write_text("mine")
    assert "run: " in refused(*train("--valid-share", "0"))
    assert Path("run").read_text() == "mine"


def test_a_folder_of_other_files_is_never_used(refused):
    Path("run").mkdir()
    Path("run", "notes.txt").write_text("mine")
    assert "choose an empty folder" in refused(*train("--valid-share", "0", "--overwrite"))
    assert Path("run", "notes.txt").read_text() == "mine"


def test_a_table_of_scores_needs_its_folder(refused):
    message = refused("predict", "run", "two.fa", "--out", "none/scores.tsv")
    assert "there is no folder none" in message


def test_predicting_without_a_run_says_so(refused):
    assert "expected a run folder" in refused("predict", "run", "two.fa", "--out", "s.tsv")
