"""Tests that the report of a run contains the results of the run."""

import platform
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.report import percent


@pytest.fixture
def run(toy, small):
    """A finished run with a validation and a test set."""
    return sl.train.fit(small, toy(), toy(30), test=toy(20), epochs=2)


def test_the_first_key_figure_is_the_test_accuracy(run):
    tile = run.report.tiles[0]
    assert tile.name == "test accuracy"
    assert tile.value == percent(run.test.metrics["accuracy"])
    assert tile.note.startswith("95 % interval")


def test_the_report_has_a_confusion_matrix_for_each_set(run):
    names = [(it.name, it.total, it.correct) for it in run.report.confusions]
    right = [
        round(it.metrics["accuracy"] * it.metrics["n"]) for it in (run.test, run.valid)
    ]
    assert names == [("test", 20, right[0]), ("validation", 30, right[1])]


def test_the_learning_curves_equal_the_history(run):
    loss, accuracy = run.report.curves
    assert list(loss.series["training"]) == [row["train_loss"] for row in run.history]
    assert list(accuracy.series["validation"]) == [
        row["valid_accuracy"] for row in run.history
    ]


def test_the_best_epoch_is_marked_only_with_a_validation_set(run, toy, small):
    assert run.report.best_epoch == run.best_epoch
    assert sl.train.fit(small, toy(), epochs=1).report.best_epoch is None


def test_the_report_lists_all_settings_of_the_run(run):
    facts = run.report.facts
    assert facts["training records"] == 48
    assert (facts["seed"], facts["epochs"], facts["lr"]) == (0, 2, 0.001)


def test_the_report_names_the_backend_and_its_device(run):
    facts = run.report.facts
    assert (facts["backend"], facts["device"]) == ("numpy", "cpu")
    assert facts["threads"] >= 1
    python, numpy = platform.python_version(), np.__version__
    assert facts["versions"].endswith(f", Python {python}, NumPy {numpy}")


def test_the_report_of_a_regression_has_a_scatter_plot(toy):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(4,))
    data = toy(labels="gc", task="regress")
    report = sl.train.fit(config, data, data, epochs=1).report
    assert [it.name for it in report.scatters] == ["label"]
    assert not report.confusions


def test_sequences_without_a_label_are_counted(toy, small):
    data = toy(labels=None)
    table = {
        name: "yes" if number % 2 else "no" for number, name in enumerate(data.ids[:40])
    }
    some = sl.data.SequenceDataset(
        data.paths, encoder=data.encoder, labels=sl.data.Labels(table, unlabelled="skip")
    )
    report = sl.train.fit(small, some, epochs=1).report
    assert report.notes == ("8 sequences have no label and were left out.",)


@pytest.mark.parametrize("augment", [None, sl.augment.ReverseComplement()])
def test_records_that_are_in_no_set_are_counted_once(toy, small, augment):
    data = toy(labels=None)
    labels = {name: "yes" if i % 2 else "no" for i, name in enumerate(data.ids[:40])}
    options: dict[str, Any] = {
        "encoder": data.encoder,
        "labels": sl.data.Labels(labels, unlabelled="skip"),
        "augment": augment,
    }
    train, valid = sl.data.split(sl.data.SequenceDataset(data.paths, **options), (0.8, 0.2))
    test = sl.data.SequenceDataset(data.paths, **options).plain()
    report = sl.train.fit(small, train, valid, test=test, epochs=1).report
    told = [note for note in report.notes if "no label" in note]
    assert told == ["16 sequences have no label and were left out."]


def test_intervals_that_are_dropped_are_counted(small, tmp_path):
    (tmp_path / "g.fa").write_text(">c\n" + "ACGT" * 50 + "\n")
    (tmp_path / "a.bed").write_text(
        "".join(f"c\t{i}\t{i + 24}\t{'xy'[i % 2]}\n" for i in range(179))
    )
    options: dict[str, Any] = {"labels": "name", "edge": "drop", "jitter": 1}
    whole = sl.data.IntervalDataset(
        tmp_path / "g.fa", tmp_path / "a.bed", encoder=sl.encode.OneHot("dna"), **options
    )
    report = sl.train.fit(small, *sl.data.split(whole, (0.8, 0.2)), epochs=1).report
    # Shifted by one base, interval 0 can begin before the chromosome of 200 bases, and
    # intervals 176 to 178 can end after it.
    assert report.notes[0].startswith("4 intervals extend beyond their chromosome")


def test_report_false_writes_all_files_except_the_html_pages(toy, small, tmp_path):
    run = sl.train.fit(
        small,
        toy(),
        toy(20),
        epochs=1,
        out=sl.train.RunFolder(tmp_path / "run", report=False),
    )
    names = {path.name for path in run.folder.iterdir()}
    assert "report.html" not in names
    assert {"model.safetensors", "scores-valid.tsv"} <= names
    assert run.report.title == "run"


def test_the_report_lists_the_limitations_of_its_metrics(toy, small, tmp_path):
    run = sl.train.fit(small, toy(), toy(30, name="valid"), epochs=1, out=tmp_path / "run")
    limits = next(it for it in run.report.sections if it.title == "Limitations")
    assert "The best epoch was chosen on the validation set" in limits.note
    assert "few records of some classes: 15 of no, 15 of yes" in limits.note
    card = (tmp_path / "run" / "README.md").read_text()
    assert "The best epoch was chosen on the validation set" in card
