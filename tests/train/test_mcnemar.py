"""Tests of McNemar's test between the best run and other runs, and of Holm's method."""

import json
import shutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import seqloom as sl
from fit_arguments import as_arguments
from seqloom.train._compared import correct_p_values
from seqloom.train._paired import mcnemar

RECORD_COUNT = 20


@pytest.fixture
def run(toy, small, tmp_path):
    """A run folder with an evaluation on twenty records."""
    sl.train.fit(
        small, toy(), test=toy(RECORD_COUNT, name="test"), epochs=1, out=tmp_path / "a"
    )
    return tmp_path / "a"


@pytest.fixture
def copy_run_with_correct(run, tmp_path):
    """Copy the run folder; only the predictions of the given records are correct."""

    def make(name, right):
        home = shutil.copytree(run, tmp_path / "made" / name)
        labels = read(home / "labels-test.tsv")
        is_right = np.isin(np.arange(RECORD_COUNT), right)
        columns = [
            ("0.1", "0.9") if it == "yes" else ("0.9", "0.1") for it in labels.values()
        ]
        rows = [
            "\t".join((key, *(pair if good else pair[::-1])))
            for key, pair, good in zip(labels, columns, is_right, strict=True)
        ]
        (home / "scores-test.tsv").write_text("\n".join(["id\tno\tyes", *rows, ""]))
        change(
            home, lambda part: part["metrics"].update(accuracy=len(right) / RECORD_COUNT)
        )
        return home

    return make


def read(path):
    """Read the class of each record by its id."""
    return dict(line.split("\t") for line in path.read_text().splitlines()[1:])


def change(home, how):
    """Change the results of the test set in results.json."""
    results = json.loads((home / "results.json").read_text())
    how(results["parts"]["test"])
    (home / "results.json").write_text(json.dumps(results))


def paired_of(report):
    """Return the rows of the table of McNemar's tests as dicts; [] without a table."""
    for section in report.sections:
        if section.title == "Compared with the best run":
            _, *names = section.table.columns
            rows = section.table.rows
            return {name: dict(zip(names, row, strict=True)) for name, *row in rows}
    return {}


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_p_value_equals_that_of_a_binomial_test(first, second):
    fewer, total = min(first, second), first + second
    expected: Any = stats.binomtest(fewer, total).pvalue if total else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)


def test_the_p_value_of_many_disagreements_equals_that_of_a_binomial_test():
    expected: Any = stats.binomtest(500_000, 1_001_500).pvalue
    assert mcnemar(500_000, 501_500) == pytest.approx(expected, rel=1e-6)


def test_five_disagreements_in_one_direction_have_p_value_2_of_32():
    assert mcnemar(5, 0) == mcnemar(0, 5) == pytest.approx(2 / 2**5)


def test_holm_corrected_p_values_equal_those_computed_by_hand():
    # The sorted p-values are multiplied by 4, 3, 2 and 1, and made monotonic.
    expected = pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert correct_p_values([0.01, 0.04, 0.03, 0.005]) == expected
    assert correct_p_values([0.6, 0.7]) == [1.0, 1.0]
    assert correct_p_values([]) == []


def test_two_runs_are_tested_on_records_where_exactly_one_is_right(copy_run_with_correct):
    best, other = (
        copy_run_with_correct("best", range(2, 18)),
        copy_run_with_correct("other", range(9)),
    )
    (found,) = paired_of(sl.train.compare([other, best])).items()
    # On records 0 and 1, only the other run is right; on records 9 to 17, only the best
    # run.
    p = 2 * (1 + 11 + 55) / 2**11
    expected = {
        "accuracy difference": "-0.3500",
        "only this run right": "2",
        "only best run right": "9",
        "p": f"{p:.4f}",
    }
    assert found == ("other", expected)


def test_p_values_of_three_runs_are_corrected_for_all_pairs(copy_run_with_correct):
    right = {"best": range(18), "middle": range(10), "last": range(4)}
    report = sl.train.compare([copy_run_with_correct(it, right[it]) for it in right])
    found = paired_of(report)
    # Number of records on which only one run of a pair is right: 8 for best and middle,
    # 14 for best and last, 6 for middle and last.
    middle, last = 2 / 2**8, 2 / 2**14
    assert found["middle"]["p"] == f"{middle:.4f}"
    assert found["middle"]["p (Holm)"] == f"{2 * middle:.4f}"
    assert found["last"]["p (Holm)"] == f"{3 * last:.4f}"
    assert "corrected for all 3 pairs of runs" in report.sections[1].note
    assert "p is not corrected" in report.sections[1].note


def test_a_run_in_memory_and_its_folder_give_equal_p_values(toy, small, tmp_path):
    part = {"test": toy(RECORD_COUNT, name="test")}
    homes = [tmp_path / name for name in ("short", "long")]
    runs = [
        sl.train.fit(small, toy(), **as_arguments(epochs=epochs, lr=0.1, **part, out=home))
        for epochs, home in zip((1, 8), homes, strict=True)
    ]
    in_memory, on_disk = (paired_of(sl.train.compare(it)) for it in (runs, homes))
    assert in_memory == on_disk
    assert len(in_memory) == 1


def test_a_run_evaluated_on_other_records_is_named_and_not_tested(copy_run_with_correct):
    right = {"best": range(18), "alike": range(12), "strange": range(4)}
    homes = [copy_run_with_correct(it, right[it]) for it in right]
    change(homes[2], lambda part: part.update(records="0" * 16))
    report = sl.train.compare(homes)
    assert set(paired_of(report)) == {"alike"}
    assert (
        "No test of strange: the run was not evaluated on the same records, labels"
        in report.sections[0].note
    )


def test_runs_evaluated_on_different_records_are_not_tested(toy, small, tmp_path):
    homes = [tmp_path / name for name in ("one", "two")]
    for count, home in zip((20, 30), homes, strict=True):
        sl.train.fit(small, toy(), test=toy(count, name=home.name), epochs=1, out=home)
    report = sl.train.compare(homes)
    assert not paired_of(report)
    assert (
        "labels and classes, in the same order, as the best run" in report.sections[0].note
    )


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("labels-test.tsv", None, "labels-test.tsv: no such file"),
        ("scores-test.tsv", None, "scores-test.tsv: no such file"),
        ("labels-test.tsv", "mine\n", "not a table of ids and labels"),
        ("labels-test.tsv", "id\tlabel\nx\tyes\n", "the ids of scores and labels differ"),
        ("scores-test.tsv", "id\tno\tyes\nx\t1", "truncated"),
    ],
)
def test_a_run_with_unreadable_tables_is_not_tested_and_a_note_explains_why(
    copy_run_with_correct, file, text, said
):
    homes = [
        copy_run_with_correct("best", range(18)),
        copy_run_with_correct("other", range(9)),
    ]
    (homes[1] / file).unlink()
    if text is not None:
        (homes[1] / file).write_text(text)
    report = sl.train.compare(homes)
    assert not paired_of(report)
    assert "No test of other: " in report.sections[0].note
    assert said in report.sections[0].note


def test_scores_that_do_not_match_the_results_are_not_tested(copy_run_with_correct):
    homes = [
        copy_run_with_correct("best", range(18)),
        copy_run_with_correct("other", range(9)),
    ]
    shutil.copy(homes[0] / "scores-test.tsv", homes[1])
    report = sl.train.compare(homes)
    assert not paired_of(report)
    assert "other: scores and labels do not match results.json" in report.sections[0].note


def test_an_unfinished_run_is_named_and_not_tested(toy, small, tmp_path):
    homes = [tmp_path / name for name in ("ended", "stopped")]
    for home in homes:
        sl.train.fit(small, toy(), toy(RECORD_COUNT, name="valid"), epochs=1, out=home)
    (homes[1] / "results.json").unlink()
    note = sl.train.compare(homes).sections[0].note
    assert "No test of stopped: the run has not finished, so its scores are" in note


def test_a_regression_is_not_tested_and_a_note_explains_why(toy, tmp_path):
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(4,))
    data = toy(labels="gc", task="regress")
    homes = [tmp_path / name for name in ("one", "two")]
    for seed, home in enumerate(homes):
        sl.train.fit(config, data, data, epochs=1, seed=seed, out=home)
    report = sl.train.compare(homes)
    assert not paired_of(report)
    assert "McNemar's test needs runs that predict one class" in (report.sections[0].note)
    assert "sorted by r2, the best first" in report.sections[0].note


def test_every_task_writes_labels_in_the_order_of_its_scores(toy, small, tmp_path):
    data = toy(RECORD_COUNT)
    sl.train.fit(small, data, data, epochs=1, out=tmp_path / "classes")
    kept = read(tmp_path / "classes/labels-valid.tsv")
    assert list(kept) == data.ids
    assert list(kept.values()) == [data.classes[it] for it in data.labels]
    values = toy(RECORD_COUNT, labels="gc", task="regress")
    config = sl.models.SequenceCNNConfig(channels=4, outputs=1, widths=(4,))
    sl.train.fit(config, values, values, epochs=1, out=tmp_path / "values")
    table = sl.infer.Scores.read_tsv(tmp_path / "values/labels-valid.tsv")
    np.testing.assert_array_equal(table.to_numpy()[:, 0], np.ravel(values.labels))
