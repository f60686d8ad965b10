"""Numbers made from a confusion matrix."""

import math

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from seqloom.report import Confusion, class_table


def test_precision_recall_and_f1_equal_those_of_scikit_learn():
    true = np.repeat([0, 0, 1, 1, 2], 7)
    called = np.tile([0, 1, 1, 2, 2, 0, 2], 5)
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (true, called), 1)
    rows = class_table(Confusion("test", ("a", "b", "c"), counts)).rows
    expected = precision_recall_fscore_support(true, called)
    np.testing.assert_allclose(np.array([r[2:] for r in rows], float).T, expected[:3])
    assert [r[1] for r in rows] == expected[3].tolist()


def test_a_class_that_was_never_called_has_no_precision():
    row = class_table(Confusion("test", ("a", "b"), [[3, 0], [2, 0]])).rows[1]
    assert math.isnan(float(row[2]))
    assert row[3:] == (0.0, pytest.approx(0.0))
