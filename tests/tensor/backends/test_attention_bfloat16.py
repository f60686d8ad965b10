"""Packed attention in bfloat16: by the processor's instructions, and in float32."""

from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

from seqloom._rust import _native
from seqloom.tensor import backend

HALF = ml_dtypes.bfloat16
has_them = pytest.mark.skipif(
    not _native.has_bfloat16(), reason="this processor has no instructions for bfloat16"
)


@pytest.fixture(params=[pytest.param("instructions", marks=has_them), "float32"])
def b(request, monkeypatch) -> Any:
    """NumPy's backend, on this processor and on one without the instructions."""
    if request.param == "float32":
        monkeypatch.setattr(_native, "has_bfloat16", lambda: False)
    return backend("numpy")


def drawn(*shapes, size=1.0):
    """Normal numbers in bfloat16."""
    rng = np.random.default_rng(0)
    return [(size * rng.standard_normal(shape)).astype(HALF) for shape in shapes]


def attend(b: Any, parts: Any, bounds: list[int], **options: Any) -> Any:
    """The result and the log-sum-exp of sequences that lie end to end."""
    longest = int(np.diff(bounds).max())
    ends = np.array(bounds, np.int32)
    return b.attention_varlen(*parts, ends, max_seqlen=longest, **options)


def attend_double(parts, bounds, scale=None):
    """The same by torch in float64, one by one."""
    q, k, v = (torch.from_numpy(x.astype("float64")).transpose(0, 1) for x in parts)
    found = [
        F.scaled_dot_product_attention(
            q[:, start:end], k[:, start:end], v[:, start:end], scale=scale
        )
        for start, end in pairwise(bounds)
    ]
    return torch.cat(found, 1).transpose(0, 1).numpy()


@pytest.mark.parametrize("width", [2, 6, 16, 64])
@pytest.mark.parametrize("bounds", [[0, 1], [0, 7, 40, 40, 203], [0, 33, 64]], ids=len)
def test_it_is_near_torch_in_double_precision(b, width, bounds):
    q, k, v = drawn(*[(bounds[-1], 3, width)] * 3)
    found, _ = attend(b, (q, k, v), bounds)
    expected = attend_double((q, k, v), bounds)
    assert found.dtype == HALF
    assert np.abs(found.astype("float64") - expected).max() < np.abs(expected).max() / 100


@pytest.mark.parametrize("size", [0.01, 30.0])
def test_scores_of_any_size_are_weighed(b, size):
    (q, k), (v,) = drawn((90, 2, 8), (90, 2, 8), size=size), drawn((90, 2, 8))
    found, _ = attend(b, (q, k, v), [0, 90], scale=0.8)
    expected = attend_double((q, k, v), [0, 90], scale=0.8)
    np.testing.assert_allclose(found.astype("float64"), expected, atol=0.03)


def test_the_sums_are_those_of_float32(b):
    q, k, v = drawn(*[(50, 2, 8)] * 3)
    _, found = attend(b, (q, k, v), [0, 11, 50])
    wide = [x.astype("float32") for x in (q, k, v)]
    _, expected = attend(backend("numpy"), wide, [0, 11, 50])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_parts_of_one_array_are_read_where_they_are(b):
    (joined,) = drawn((30, 3, 2, 8))
    parts = [joined[:, number] for number in range(3)]
    found, _ = attend(b, parts, [0, 12, 30])
    copied, _ = attend(b, [*map(np.ascontiguousarray, parts)], [0, 12, 30])
    np.testing.assert_array_equal(found, copied)


def test_heads_of_an_odd_width_and_causal_ones_are_computed_in_float32(b):
    q, k, v = drawn(*[(9, 2, 5)] * 3)
    found, _ = attend(b, (q, k, v), [0, 9])
    expected = attend_double((q, k, v), [0, 9])
    np.testing.assert_allclose(found.astype("float64"), expected, atol=0.02)
    found, _ = attend(b, (q, k, v), [0, 9], causal=True)
    np.testing.assert_array_equal(found[0], v[0])


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_a_sequence_holds_changes_no_bit_of_its_neighbours(b, number):
    clean = drawn(*[(60, 2, 8)] * 3)
    mixed = [x.copy() for x in clean]
    for x in mixed:
        x[30:34] = number
    with np.errstate(all="ignore"):
        found, _ = attend(b, mixed, [0, 20, 41, 60])
    expected, _ = attend(b, clean, [0, 20, 41, 60])
    for rows in (slice(20), slice(41, 60)):
        np.testing.assert_array_equal(found[rows], expected[rows])
    assert np.isnan(found[20:41].astype("float32")).all()


@has_them
@settings(deadline=None, max_examples=25)
@given(lengths=st.lists(st.integers(0, 300), min_size=1, max_size=4))
def test_a_sequence_has_the_same_bits_alone_and_beside_others(lengths):
    bounds = [0, *np.cumsum(lengths).tolist(), sum(lengths) + 1]
    parts = drawn(*[(bounds[-1], 2, 6)] * 3)
    together, _ = attend(backend("numpy", num_threads=2), parts, bounds)
    for start, end in pairwise(bounds):
        if start < end:
            rows = [x[start:end] for x in parts]
            alone, _ = attend(backend("numpy"), rows, [0, end - start])
            np.testing.assert_array_equal(alone, together[start:end])
