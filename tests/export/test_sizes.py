"""Integers that follow from sizes: found from a few traces, right at every other size."""

from math import prod

import pytest
from hypothesis import given, strategies as st

from seqloom.export._size import Size, find_size
from seqloom.export._trace import _BATCHES as BATCHES, _LENGTHS

LENGTHS = _LENGTHS[0]

SIZES = {"batch": BATCHES, "length": LENGTHS}


def series(function):
    """What a function of both sizes gives in each trace."""
    return tuple(map(function, BATCHES, LENGTHS))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda _, length: length, Size(("length",))),
        (lambda batch, length: batch * length, Size(("batch", "length"))),
        (lambda _, length: length - 1, Size(("length",), plus=-1)),
        (lambda _, length: length // 2, Size(("length",), over=2)),
        (lambda _, length: length // 2 + 6, Size(("length",), over=2, plus=6)),
        (lambda _, length: 4 * length + 2, Size(("length",), times=4, plus=2)),
        (lambda _, length: -length, Size(("length",), times=-1)),
        (lambda _, length: length**2, Size(("length", "length"))),
    ],
)
def test_the_simplest_form_is_found(function, expected):
    assert find_size(series(function), SIZES) == expected


@pytest.mark.parametrize(
    "function",
    [lambda _, length: length % 7, lambda _, length: length.bit_length() ** 3],
    ids=["remainder", "bits"],
)
def test_what_follows_from_no_size_is_not_found(function):
    assert find_size(series(function), SIZES) is None


@given(
    of=st.sampled_from([("batch",), ("length",), ("batch", "length")]),
    times=st.integers(1, 4),
    over=st.integers(1, 16),
    plus=st.integers(-20, 20),
    batch=st.integers(1, 500),
    length=st.integers(1, 5000),
)
def test_what_is_found_is_right_at_every_size(of, times, over, plus, batch, length):
    over = over if len(of) == 1 else 1

    def compute(**sizes):
        return prod(sizes[name] for name in of) * times // over + plus

    wanted = series(lambda batch, length: compute(batch=batch, length=length))
    found = find_size(wanted, SIZES)
    assert found is not None
    at = found.at({"batch": (batch,), "length": (length,)})
    assert at == (compute(batch=batch, length=length),)
