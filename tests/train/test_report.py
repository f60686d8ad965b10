"""The report of a run: its figures are those of the run."""

import pytest

import seqloom as sl

pytestmark = pytest.mark.usefixtures("without_pictures")


@pytest.fixture
def run(toy, small):
    """A finished run with a validation and a test part."""
    return sl.train.fit(small, toy(), toy(30), test=toy(20), epochs=2)


def test_the_first_figure_is_the_tests_accuracy(run):
    tile = run.report.tiles[0]
    assert tile.name == "test accuracy"
    assert tile.value == f"{run.test.metrics['accuracy']:.1%}"
    assert tile.note.startswith("95 % interval")


def test_the_confusions_count_each_part(run):
    names = [(it.name, it.total, it.correct) for it in run.report.confusions]
    right = [
        round(it.metrics["accuracy"] * it.metrics["n"]) for it in (run.test, run.valid)
    ]
    assert names == [("test", 20, right[0]), ("validation", 30, right[1])]


def test_the_curves_follow_the_history(run):
    loss, accuracy = run.report.curves
    assert list(loss.series["training"]) == [row["train_loss"] for row in run.history]
    assert list(accuracy.series["validation"]) == [
        row["valid_accuracy"] for row in run.history
    ]


def test_the_chosen_epoch_is_marked_only_where_it_was_chosen(run, toy, small):
    assert run.report.best_epoch == run.best_epoch
    assert sl.train.fit(small, toy(), epochs=1).report.best_epoch is None


def test_the_facts_suffice_to_run_it_again(run):
    facts = run.report.facts
    assert facts["training records"] == "48"
    assert (facts["seed"], facts["epochs"], facts["lr"]) == ("0", "2", "0.001")


def test_a_regression_shows_a_scatter(toy):
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
        data.paths, encoder=data.encoder, labels=table, unlabelled="skip"
    )
    report = sl.train.fit(small, some, epochs=1).report
    assert report.notes == ("8 sequences have no label and were left out.",)
