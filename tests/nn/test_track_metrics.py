"""The Jensen-Shannon distance of profiles equals that of SciPy and bpnet-lite."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from bpnet_files import expected_arrays
from seqloom.errors import NotFiniteError, OutOfRangeError, ShapeError
from seqloom.nn import _track_metrics, jensen_shannon

distance = pytest.importorskip("scipy.spatial.distance")
counts = arrays(np.float64, (6, 3, 5), elements=st.integers(0, 4).map(float))


@settings(max_examples=30, deadline=None)
@given(counts, counts)
def test_the_distance_is_that_of_scipy_over_profiles_with_counts(labels, predicted):
    predicted += 0.25
    found = jensen_shannon(labels, predicted)
    has_counts = labels.any(axis=-1)
    if not has_counts.any():
        assert np.isnan(found)
        return
    pairs = zip(labels[has_counts], predicted[has_counts], strict=True)
    expected = np.mean([distance.jensenshannon(*pair) for pair in pairs])
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_distance_is_that_of_bpnet_lite():
    arrays = expected_arrays()
    logits = arrays["profile"].reshape(4, -1).astype(np.float64)
    found = jensen_shannon(arrays["tracks"].reshape(4, -1), np.exp(logits))
    assert found == pytest.approx(arrays["distances"].mean(), rel=1e-5)


def test_the_distance_is_0_for_equal_profiles_and_root_of_log_2_for_disjoint_profiles():
    profile = np.random.default_rng(0).random((3, 50))
    assert jensen_shannon(profile * 7, profile) == pytest.approx(0.0, abs=1e-7)
    one, other = np.eye(2, dtype=np.float32)
    assert jensen_shannon([one], [other]) == pytest.approx(np.sqrt(np.log(2)))


def test_blocks_do_not_change_the_distances(monkeypatch):
    random = np.random.default_rng(1)
    labels, predicted = random.poisson(1.0, (20, 30)), random.random((20, 30))
    expected = jensen_shannon(labels, predicted)
    monkeypatch.setattr(_track_metrics, "_BLOCK_VALUES", 64)
    assert jensen_shannon(labels, predicted) == expected


def test_profiles_that_are_not_counts_are_refused():
    ones = np.ones((2, 3))
    with pytest.raises(OutOfRangeError, match="labels must be 0 or more, got -1"):
        jensen_shannon(-ones, ones)
    with pytest.raises(OutOfRangeError, match="predicted has a profile with the sum 0"):
        jensen_shannon(ones, 0 * ones)
    with pytest.raises(NotFiniteError, match="predicted holds 6 NaN"):
        jensen_shannon(ones, np.nan * ones)
    with pytest.raises(ShapeError, match="two or three axes"):
        jensen_shannon(ones[0], ones[0])
