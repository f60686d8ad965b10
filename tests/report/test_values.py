"""The plain values refuse what cannot be shown."""

import pytest

from seqloom.errors import ShapeError
from seqloom.report import Confusion, Scatter, Table


def test_a_short_row_is_named():
    with pytest.raises(ShapeError, match="row 1 has 1 cells, the heading has 2"):
        Table("scores", ("model", "accuracy"), [("linear", 0.9), ("cnn",)])


def test_counts_must_be_as_wide_as_the_classes():
    with pytest.raises(ShapeError, match=r"'test'.*\(2, 2\), 3 classes need \(3, 3\)"):
        Confusion("test", ("EI", "IE", "N"), [[1, 0], [0, 1]])


def test_true_and_predicted_values_pair_up():
    with pytest.raises(ShapeError, match=r"true values have the shape \(2,\)"):
        Scatter("gc", [0.1, 0.2], [0.1])


def test_a_confusion_counts_what_is_right():
    confusion = Confusion("test", ("a", "b"), [[5, 2], [1, 4]])
    assert (confusion.correct, confusion.total) == (9, 12)
