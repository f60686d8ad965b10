"""Where labels come from on the command line, and what is refused."""

from pathlib import Path

import pytest

FASTA = "".join(f">s{i}\n{'ACGT'[i % 4] * 6}\n" for i in range(12))
TRAIN = "train a.fa --labels a.tsv --alphabet dna --epochs 1 --valid-share 0 --out run"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Writes twelve sequences and labels for them into the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(FASTA)

    def write(labels):
        rows = "".join(f"s{i}\t{label}\n" for i, label in enumerate(labels))
        Path("a.tsv").write_text(f"id\tlabel\n{rows}")

    return write


@pytest.mark.parametrize("mark", ["nan", "NA", ".", ""])
def test_a_missing_label_is_an_error_or_left_out_and_counted(call, here, mark):
    here([mark, *["neg", "pos"] * 5, "neg"])
    said = call(*TRAIN.split())
    assert said.code == 2
    assert "1 of 12 sequences have no label in a.tsv: s0" in said.err
    said = call(*TRAIN.split(), "--unlabelled", "skip")
    assert said.code == 0
    assert "neg 6, pos 5" in said.out
    assert "sequences left out, without a label: 1 (s0)" in said.out


def test_a_caller_names_what_is_missing(call, here):
    here(["-9", *["NA", "EU"] * 5, "NA"])
    words = ["--unlabelled", "skip", "--missing", "-9"]
    assert "EU 5, NA 6" in call(*TRAIN.split(), *words).out


def test_numbers_with_a_decimal_comma_are_no_classes(call, here):
    here([f"1,{i}5" for i in range(12)])
    said = call(*TRAIN.split())
    assert said.code == 2
    assert "write a point and say" in said.err
    assert not Path("run/model.safetensors").exists()


def test_a_class_for_each_record_is_an_error(call, here):
    here(range(12))
    said = call(*TRAIN.split())
    assert said.code == 2
    assert "12 different labels for 12 records" in said.err
    assert call(*TRAIN.split(), "--task", "regress").code == 0


def test_a_task_that_is_guessed_says_so(call, here):
    here(["x", "y"] * 6)
    assert "task classify, guessed from the labels" in call(*TRAIN.split()).out
    said = call(*TRAIN.split(), "--overwrite", "--task", "classify")
    assert "guessed" not in said.out
