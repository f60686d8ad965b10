"""The 95 % interval of a share."""

import pytest
from hypothesis import given, strategies as st

from seqloom.report import wilson_interval


def test_equals_the_interval_that_newcombe_published():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263, the score method.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_nothing_seen_is_nothing_known():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_lies_inside(counts):
    hits, total = counts
    low, high = wilson_interval(hits, total)
    assert 0 <= low <= hits / total + 1e-12
    assert hits / total - 1e-12 <= high <= 1
