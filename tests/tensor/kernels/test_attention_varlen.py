"""Attention over packed sequences equals attention over each sequence alone."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kernel_oracle import both_dtypes, both_threads, normal
from seqloom.errors import SeqloomError
from seqloom.tensor import backend

SEQUENCE_BOUNDS = [[0, 5, 5, 6, 40], [0, 300], [0, 0]]


def heads(x: Any, start: int, end: int) -> Any:
    return x[start:end].swapaxes(0, 1)[None]


def packed(bounds: list[int], dtype: type) -> Any:
    return tuple(normal((bounds[-1], 3, 8), dtype, seed) for seed in range(4))


@both_dtypes
@both_threads
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bounds", SEQUENCE_BOUNDS, ids=str)
def test_each_packed_sequence_attends_only_to_itself(
    *, bounds: list[int], dtype: type, threads: int, causal: bool
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    *inputs, grad = packed(bounds, dtype)
    places, rule = np.asarray(bounds, np.int32), {"max_seqlen": 300, "causal": causal}
    out, lse = b.attention_varlen(*inputs, places, **rule)
    grads = b.attention_varlen_grad(grad, *inputs, places, out, lse, **rule)
    assert out.shape == inputs[0].shape
    assert lse.shape == (3, bounds[-1])
    for start, end in pairwise(bounds):
        parts = [heads(x, start, end) for x in inputs]
        expected = b.attention(*parts, causal=causal)
        np.testing.assert_array_equal(heads(out, start, end), expected[0])
        np.testing.assert_array_equal(lse[None, :, start:end], expected[1])
        given = heads(grad, start, end), *parts, None, None, *expected
        slopes = b.attention_grad(*given, causal=causal)
        for found, slope in zip(grads, slopes, strict=True):
            np.testing.assert_array_equal(heads(found, start, end), slope)


@pytest.mark.parametrize("bounds", [[0, 3], [1, 40], [0, 30, 20, 40], []])
def test_sequence_bounds_that_do_not_cover_all_rows_are_an_error(bounds: list[int]) -> None:
    q, k, v, _ = packed([0, 40], np.float32)
    with pytest.raises((SeqloomError, ValueError), match="cu_seqlens"):
        backend("numpy").attention_varlen(
            q, k, v, np.asarray(bounds, np.int32), max_seqlen=40
        )
