"""Tests of plots of confusion matrices, and of the metrics computed from the counts."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from seqloom.report import Confusion, class_table
from seqloom.report._sections import draw_confusion


def test_precision_recall_and_f1_equal_those_of_scikit_learn():
    true = np.repeat([0, 0, 1, 1, 2], 7)
    called = np.tile([0, 1, 1, 2, 2, 0, 2], 5)
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (true, called), 1)
    rows = class_table(Confusion("test", ("a", "b", "c"), counts)).rows
    expected = precision_recall_fscore_support(true, called)
    np.testing.assert_allclose(np.array([r[2:] for r in rows], float).T, expected[:3])
    assert [r[1] for r in rows] == expected[3].tolist()


def test_a_class_that_was_never_predicted_has_no_precision():
    row = class_table(Confusion("test", ("a", "b"), [[3, 0], [2, 0]])).rows[1]
    assert math.isnan(float(row[2]))
    assert row[3:] == (0.0, pytest.approx(0.0))


def cells_of(confusion):
    """Return the opacity of each cell's colour, by the tooltip of the cell."""
    body = ET.fromstring(f"<svg>{draw_confusion(confusion).body}</svg>")  # noqa: S314 - ours
    opacities = [float(it.attrib["fill-opacity"]) for it in body.iter("rect")]
    return dict(zip((it.text for it in body.iter("title")), opacities, strict=True))


def test_cells_of_a_confusion_matrix_have_tooltips_and_darker_larger_fractions():
    cells = cells_of(Confusion("test", ("a<", "b"), [[9, 1], [2, 1234]]))
    assert list(cells) == [
        "a< predicted as a<: 9 (90.0 %)",
        "a< predicted as b: 1 (10.0 %)",
        "b predicted as a<: 2 (0.2 %)",
        "b predicted as b: 1,234 (99.8 %)",
    ]
    right, wrong, rare, _ = cells.values()
    assert right > wrong > rare > 0


def test_a_confusion_matrix_of_many_classes_draws_only_cells_with_records():
    counts = np.eye(40, dtype=int)
    counts[3, 7] = 2
    cells = cells_of(Confusion("t", [f"class-{it}" for it in range(40)], counts))
    assert len(cells) == 41
    assert "class-3 predicted as class-7: 2 (66.7 %)" in cells
