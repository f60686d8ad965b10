"""How probabilities are compared with what came true."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.calibration import calibration_curve

from seqloom.report import calibration_section
from seqloom.report._calibration import Calibration

# Hundredths: many lie on the edge of a bin.
ANSWERS = st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=1, max_size=80)


@given(ANSWERS)
def test_bins_equal_those_of_scikit_learn(answers):
    right, hundredths = map(np.array, zip(*answers, strict=True))
    found = Calibration.of(right, hundredths / 100)
    share, sure = calibration_curve(right, hundredths / 100, n_bins=10, pos_label=True)
    full = found.counts > 0
    np.testing.assert_allclose(found.right[full], share)
    np.testing.assert_allclose(found.sure[full], sure)
    assert found.counts.sum() == len(answers)


def test_the_error_is_the_mean_gap_of_the_answers():
    # Four answers of 0.9, of which half are right, and one of 0.2 that is not.
    found = Calibration.of([1, 1, 0, 0, 0], [0.9, 0.9, 0.9, 0.9, 0.2])
    assert found.error == pytest.approx((4 * 0.4 + 1 * 0.2) / 5)


def test_answers_that_are_as_right_as_they_are_sure_have_no_error():
    assert Calibration.of([1, 1, 1, 0], [0.75] * 4).error == pytest.approx(0)


def test_the_table_counts_the_answers_of_each_bin():
    section = calibration_section([1, 0, 1], [0.95, 0.55, 0.52], name="test")
    assert [row[:2] for row in section.details.rows] == [
        ("0.5 to 0.6", 2),
        ("0.9 to 1.0", 1),
    ]
