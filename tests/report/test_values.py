"""Tests that invalid values in a report raise errors."""

import pytest

from seqloom.errors import ShapeError
from seqloom.report import Confusion, Scatter, Table


def test_the_error_names_the_first_table_row_that_is_too_short():
    with pytest.raises(ShapeError, match="row 1 has 1 cells, the heading has 2"):
        Table("scores", ("model", "accuracy"), [("linear", 0.9), ("cnn",)])


def test_the_size_of_counts_must_match_the_classes():
    with pytest.raises(ShapeError, match=r"'test'.*\(2, 2\), but 3 classes need \(3, 3\)"):
        Confusion("test", ("EI", "IE", "N"), [[1, 0], [0, 1]])


def test_the_numbers_of_true_and_predicted_values_must_match():
    with pytest.raises(ShapeError, match=r"true values have the shape \(2,\)"):
        Scatter("gc", [0.1, 0.2], [0.1])


def test_a_confusion_matrix_counts_correct_predictions():
    confusion = Confusion("test", ("a", "b"), [[5, 2], [1, 4]])
    assert (confusion.correct, confusion.total) == (9, 12)
