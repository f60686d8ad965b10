"""Tests of report tables: wrong predictions, and the metrics of each label."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from seqloom.infer import Scores
from seqloom.models import Classify, Multilabel, Regress
from seqloom.train import Part
from seqloom.train._report import list_label_tables
from seqloom.train._residue_sections import find_mistakes, list_mistakes

CLASS_SCORES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], np.float32)


def part_of(columns, labels, scores=CLASS_SCORES):
    """Return evaluation results for the records r0, r1, ..."""
    ids = [f"r{i}" for i in range(len(scores))]
    return Part(Scores(ids, columns, scores), np.asarray(labels), {})


def tables(task, labels):
    return list(list_label_tables(task, {"test": part_of(task.columns, labels)}))


def test_the_most_confident_mistake_comes_first():
    part = part_of(("no", "yes"), [1, 1, 1, 0])
    table = list_mistakes(part, find_mistakes(Classify(("no", "yes")), part))
    assert [row[:3] for row in table.rows] == [
        ("r0", "yes", "no"),
        ("r3", "no", "yes"),
        ("r2", "yes", "no"),
    ]
    assert table.rows[0][3] == pytest.approx(0.9)


def test_the_report_lists_at_most_ten_mistakes():
    part = part_of(("no", "yes"), [1] * 30, np.tile([[0.7, 0.3]], (30, 1)))
    assert len(find_mistakes(Classify(("no", "yes")), part)) == 30
    assert len(list_mistakes(part, find_mistakes(Classify(("no", "yes")), part)).rows) == 10


def test_each_label_has_its_own_auroc_and_auprc():
    labels = np.array([[1, 0], [0, 1], [1, 1], [1, 0]])
    (table,) = tables(Multilabel(("TATA", "CAAT")), labels)
    names, counts, auroc, auprc = zip(*table.rows, strict=True)
    assert (names, counts) == (("TATA", "CAAT"), (3, 2))
    expected = [
        [score(true, own) for true, own in zip(labels.T, CLASS_SCORES.T, strict=True)]
        for score in (roc_auc_score, average_precision_score)
    ]
    np.testing.assert_allclose(np.array([auroc, auprc], float), expected)


def test_a_regression_has_no_table_of_labels():
    assert tables(Regress(("a", "b")), CLASS_SCORES) == []
