"""The tables of a report: what a metric hides."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from seqloom.infer import Scores
from seqloom.models import Classify, Multilabel, Regress
from seqloom.train import Part
from seqloom.train._tables import make_tables

SCORES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], np.float32)


def tables(task, labels, scores=SCORES):
    """The tables of records r0, r1, ..."""
    ids = [f"r{i}" for i in range(len(scores))]
    part = Part(Scores(ids, task.columns, scores), np.asarray(labels), {})
    return list(make_tables(task, "test", part))


def test_the_surest_mistake_comes_first():
    (table,) = tables(Classify(("no", "yes")), [1, 1, 1, 0])
    assert table.title == "Worst mistakes"
    assert [row[:3] for row in table.rows] == [
        ("r0", "yes", "no"),
        ("r3", "no", "yes"),
        ("r2", "yes", "no"),
    ]
    assert table.rows[0][3] == pytest.approx(0.9)


def test_of_many_mistakes_ten_are_listed_and_all_are_counted():
    (table,) = tables(Classify(("no", "yes")), [1] * 30, np.tile([[0.7, 0.3]], (30, 1)))
    assert len(table.rows) == 10
    assert "Of 30 wrong answers on the test part" in table.note


def test_no_mistake_is_no_table():
    assert tables(Classify(("no", "yes")), [0, 1, 0, 1]) == []


def test_each_label_has_its_own_area():
    labels = np.array([[1, 0], [0, 1], [1, 1], [1, 0]])
    (table,) = tables(Multilabel(("TATA", "CAAT")), labels)
    names, counts, auroc, auprc = zip(*table.rows, strict=True)
    assert (names, counts) == (("TATA", "CAAT"), (3, 2))
    expected = [
        [score(true, own) for true, own in zip(labels.T, SCORES.T, strict=True)]
        for score in (roc_auc_score, average_precision_score)
    ]
    np.testing.assert_allclose(np.array([auroc, auprc], float), expected)


def test_a_regression_has_no_table():
    assert tables(Regress(("a", "b")), SCORES) == []
