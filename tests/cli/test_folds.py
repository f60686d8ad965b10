"""``seqloom train --folds`` reports means over folds, and undefined metrics."""

import json
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest


@pytest.fixture
def train(call, tmp_path, monkeypatch):
    """Train three folds on sequences of these classes."""
    monkeypatch.chdir(tmp_path)

    def run(labels, *words):
        rng = np.random.default_rng(0)
        letters = ["".join(rng.choice([*"ACGT"], 20)) for _ in labels]
        records = (f">s{number}\n{text}\n" for number, text in enumerate(letters))
        Path("a.fa").write_text("".join(records))
        rows = (f"s{number}\t{label}\n" for number, label in enumerate(labels))
        Path("a.tsv").write_text("id\tlabel\n" + "".join(rows))
        fixed = ["--labels", "a.tsv", "--alphabet", "dna", "--epochs", 1, "--folds", 3]
        return call("train", "a.fa", *fixed, "--out", "runs", *words)

    return run


LABELS_WITH_TWO_RECORDS_OF_A_CLASS = ["a"] * 2 + ["b"] * 12
LABELS_WITH_ONE_RECORD_OF_A_CLASS = ["a", "b"] * 12 + ["rare"]


def absent(name):
    """Return the numbers of the folds without a validation record of a class."""
    tables = [Path(f"runs/fold-{fold}/labels-valid.tsv").read_text() for fold in (1, 2, 3)]
    return [fold for fold, it in enumerate(tables, 1) if f"\t{name}\n" not in it]


def test_the_mean_over_folds_ignores_folds_with_an_undefined_metric(train):
    found = json.loads(train(LABELS_WITH_TWO_RECORDS_OF_A_CLASS, "--json", "--quiet").out)
    values = [fold["validation"]["auroc"] for fold in found["folds"]]
    (lacking,) = absent("a")
    assert values[lacking - 1] is None
    known = [value for value in values if value is not None]
    assert found["mean"]["auroc"] == pytest.approx(fmean(known))
    assert found["deviation"]["auroc"] == pytest.approx(stdev(known))
    assert (found["folds_in_mean"]["auroc"], found["folds_in_mean"]["accuracy"]) == (2, 3)
    said = f"fold {lacking}: undefined: AUROC and AUPRC; the mean is over the other 2"
    assert said in found["notes"]


def test_the_table_of_folds_shows_the_number_of_folds_in_a_mean(train):
    said = train(LABELS_WITH_TWO_RECORDS_OF_A_CLASS)
    (row,) = [line.split() for line in said.out.split("\n") if line.startswith(" AUROC")]
    assert row[row.index("of") + 1] == "2"
    assert "note: fold" in said.out
    assert "the mean is over the other 2" in said.out


def test_a_note_names_folds_without_validation_records_of_a_class(train):
    found = json.loads(train(LABELS_WITH_ONE_RECORD_OF_A_CLASS, "--json", "--quiet").out)
    first, second = absent("rare")
    assert (
        f"folds {first} and {second}: no validation record has 'rare': ignored there "
        "in balanced accuracy, AUROC and AUPRC"
    ) in found["notes"]


def test_a_note_names_folds_without_training_records_of_a_class(train):
    said = train(LABELS_WITH_ONE_RECORD_OF_A_CLASS)
    (fold,) = {1, 2, 3} - {*absent("rare")}
    assert f"note: fold {fold}: no training record has 'rare', so the model" in said.out
    assert f"warning: fold {fold} of 3: the validation set has the class 'rare'" in said.out


def test_a_note_names_labels_that_are_constant_in_a_fold(train):
    labels = ["x", "x,y", "y", "x", "", "x", "y", "x,y", "z"]
    found = json.loads(train(labels, "--task", "multilabel", "--json", "--quiet").out)
    tables = [Path(f"runs/fold-{it}/labels-valid.tsv").read_text() for it in (1, 2, 3)]
    rows = [[line.split("\t")[3] for line in it.splitlines()[1:]] for it in tables]
    lacking = [str(fold) for fold, row in enumerate(rows, 1) if len({*row}) == 1]
    assert len(lacking) == 2
    (note,) = [it for it in found["notes"] if "'z'" in it]
    assert note.startswith(f"folds {' and '.join(lacking)}: all or no validation records")


def test_a_metric_that_is_undefined_in_all_folds_has_no_mean(train):
    said = train([0.1, 0.5, 0.9], "--task", "regress", "--json", "--quiet")
    found = json.loads(said.out)
    assert (found["mean"]["r2"], found["deviation"]["r2"]) == (None, None)
    assert (found["folds_in_mean"]["r2"], found["folds_in_mean"]["rmse"]) == (0, 3)
    assert "folds 1, 2 and 3: undefined: r2, pearson and spearman" in found["notes"]


def test_folds_in_which_all_metrics_are_defined_have_no_notes(train):
    words = ["--json", "--quiet", "--network", "standard"]
    found = json.loads(train(["a", "b"] * 12, *words).out)
    assert found["notes"] == []
    assert set(found["folds_in_mean"].values()) == {3}
