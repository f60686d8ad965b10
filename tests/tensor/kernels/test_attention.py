"""Rust kernels of attention, compared with PyTorch in double precision."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom import Key
from seqloom.tensor import backend

ATTENTION_SHAPES = [
    (2, 3, 7, 5, 4),
    (1, 2, 300, 280, 64),
    (2, 1, 1, 33, 16),
    (1, 1, 40, 1, 3),
]
shapes = pytest.mark.parametrize("shape", ATTENTION_SHAPES, ids=str)


def arrays(shape: tuple[int, ...], dtype: type) -> tuple[Any, ...]:
    """Return queries, keys and values as views of one array, and a gradient."""
    n, h, queries, keys, depth = shape
    sizes = [queries, keys, keys, queries]
    return tuple(
        normal((n, size, h, depth), dtype, seed).swapaxes(1, 2)
        for seed, size in enumerate(sizes)
    )


def torch_attention(
    q: Any, k: Any, v: Any, grad: Any, seen: Any = None, **options: Any
) -> Any:
    leaves = [leaf(np.ascontiguousarray(x)) for x in (q, k, v)]
    mask = None if seen is None else torch.tensor(np.ascontiguousarray(seen))
    mask = mask if mask is None or mask.dtype == torch.bool else mask.double()
    attend: Any = torch.nn.functional.scaled_dot_product_attention
    out = attend(*leaves, mask, **options)
    out.backward(torch.tensor(np.ascontiguousarray(grad), dtype=torch.float64))
    return out, [x.grad for x in leaves]


@both_dtypes
@both_threads
@shapes
def test_attention_and_its_gradients_equal_torch(
    shape: tuple[int, ...], dtype: type, threads: int
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    q, k, v, grad = arrays(shape, dtype)
    out, lse = b.attention(q, k, v)
    expected, grads = torch_attention(q, k, v, grad)
    assert_close(out, expected)
    found = b.attention_grad(grad, q, k, v, None, None, out, lse)
    for each, judge in zip(found, grads, strict=True):
        assert_close(each, judge)


@both_dtypes
@shapes
def test_causal_attention_ignores_later_keys(shape: tuple[int, ...], dtype: type) -> None:
    b: Any = backend("numpy")
    q, k, v, grad = arrays(shape, dtype)
    out, lse = b.attention(q, k, v, causal=True, scale=0.3)
    seen = np.tril(np.ones((q.shape[2], k.shape[2]), bool))
    expected, grads = torch_attention(q, k, v, grad, seen, scale=0.3)
    assert_close(out, expected)
    rule = {"causal": True, "scale": 0.3}
    found = b.attention_grad(grad, q, k, v, None, None, out, lse, **rule)
    for each, judge in zip(found, grads, strict=True):
        assert_close(each, judge)


@pytest.mark.parametrize("axes", ["nhls", "n11s", "11ls", "1111", "ls", "n1l1"])
@pytest.mark.parametrize("kind", ["allowed", "added"])
def test_a_mask_broadcasts_to_all_query_key_pairs(axes: str, kind: str) -> None:
    b: Any = backend("numpy")
    sizes = {"n": 2, "h": 3, "l": 9, "s": 5, "1": 1}
    q, k, v, grad = arrays((2, 3, 9, 5, 4), np.float32)
    mask = normal(tuple(sizes[axis] for axis in axes), np.float32, 7)
    mask = mask > -2.5 if kind == "allowed" else mask
    out, lse = b.attention(q, k, v, mask)
    expected, grads = torch_attention(q, k, v, grad, np.broadcast_to(mask, (2, 3, 9, 5)))
    assert_close(out, expected)
    found = b.attention_grad(grad, q, k, v, mask, None, out, lse)
    for each, judge in zip(found, grads, strict=True):
        assert_close(each, judge)


@pytest.mark.parametrize("kind", ["allowed", "added"])
def test_a_query_without_keys_gives_zero_and_no_gradient(kind: str) -> None:
    b: Any = backend("numpy")
    q, k, v, grad = arrays((1, 2, 3, 5, 4), np.float32)
    mask = np.ones((3, 5), bool)
    mask[1] = False
    mask = mask if kind == "allowed" else np.where(mask, 0, -np.inf)
    out, lse = b.attention(q, k, v, mask)
    assert (out[:, :, 1] == 0).all()
    assert (lse[:, :, 1] == -np.inf).all()
    found = b.attention_grad(grad, q, k, v, mask, None, out, lse)
    assert (found[0][:, :, 1] == 0).all()
    assert all(np.isfinite(each).all() for each in found)


def test_the_log_sum_exp_equals_that_of_the_scores() -> None:
    q, k, v, _ = arrays((2, 3, 7, 5, 4), np.float64)
    scores = np.matmul(q, k.swapaxes(2, 3)) / math.sqrt(4)
    lse = backend("numpy").attention(q, k, v)[1]
    np.testing.assert_allclose(lse, np.log(np.exp(scores).sum(-1)), rtol=1e-14)


@both_threads
@pytest.mark.parametrize("causal", [False, True])
def test_attention_dropout_equals_dropout_of_the_weights_with_the_same_key(
    *, threads: int, causal: bool
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    *inputs, grad = arrays((2, 3, 70, 300, 8), np.float64)
    rule = {"dropout": 0.3, "causal": causal}
    out, lse = b.attention(*inputs, None, Key(3), **rule)
    leaves = [leaf(np.ascontiguousarray(x)) for x in inputs]
    kept = b.dropout(np.ones((2, 3, 70, 300)), Key(3), 0.3)
    expected = (weights(*leaves[:2], causal=causal) * torch.tensor(kept)) @ leaves[2]
    expected.backward(torch.tensor(np.ascontiguousarray(grad)))
    assert_close(out, expected)
    found = b.attention_grad(grad, *inputs, None, Key(3), out, lse, **rule)
    for each, judge in zip(found, leaves, strict=True):
        assert_close(each, judge.grad)


def weights(q: torch.Tensor, k: torch.Tensor, *, causal: bool) -> torch.Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[-2:]).tril() == 0
        scores = scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    q, k, v, grad = arrays((2, 3, 70, 300, 8), np.float32)

    def run_all(threads: int) -> list[Any]:
        b = backend("numpy", num_threads=threads)
        out, lse = b.attention(q, k, v)
        return [out, lse, *b.attention_grad(grad, q, k, v, None, None, out, lse)]

    for one, two in zip(run_all(1), run_all(2), strict=True):
        np.testing.assert_array_equal(one, two)


def test_attention_reads_heads_of_one_projection_without_a_copy() -> None:
    b: Any = backend("numpy")
    joined = normal((2, 9, 3, 5, 4), np.float32)
    parts = [joined[:, :, part].swapaxes(1, 2) for part in range(3)]
    out, _ = b.attention(*parts)
    np.testing.assert_array_equal(out, b.attention(*(part.copy() for part in parts))[0])
    joined_again = out.swapaxes(1, 2).reshape(2, 9, 20)
    assert np.shares_memory(joined_again, out)


def test_attention_can_write_to_output_arrays() -> None:
    b: Any = backend("numpy")
    q, k, v, grad = arrays((2, 3, 7, 5, 4), np.float32)
    out, lse = b.attention(q, k, v)
    room = np.empty(out.shape, np.float32), np.empty(lse.shape, np.float32)
    assert b.attention(q, k, v, out=room)[0] is room[0]
    np.testing.assert_array_equal(room[0], out)
    rooms = tuple(np.empty(each.shape, np.float32) for each in (q, k, v))
    given = grad, q, k, v, None, None, out, lse
    found = b.attention_grad(*given, out=rooms)
    for each, expected in zip(found, b.attention_grad(*given), strict=True):
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize("shape", [(0, 2, 3, 3, 4), (2, 2, 0, 3, 4), (2, 2, 3, 0, 4)])
def test_empty_arrays_give_empty_or_zero_results(shape: tuple[int, ...]) -> None:
    b: Any = backend("numpy")
    q, k, v, grad = arrays(shape, np.float32)
    out, lse = b.attention(q, k, v)
    assert out.shape == q.shape
    assert (out == 0).all()
    found = b.attention_grad(grad, q, k, v, None, None, out, lse)
    assert [each.shape for each in found] == [q.shape, k.shape, v.shape]


def test_attention_propagates_nan() -> None:
    q, k, v, _ = arrays((1, 1, 3, 5, 4), np.float32)
    q[0, 0, 1, 0] = np.nan
    out = backend("numpy").attention(q, k, v)[0]
    assert np.isnan(out[0, 0, 1]).all()
    assert np.isfinite(out[0, 0, [0, 2]]).all()
