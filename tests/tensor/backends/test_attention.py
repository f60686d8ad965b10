"""Attention and losses on every backend, compared with PyTorch."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import seqloom as sl
from backend_oracle import everywhere, found, in_both, wide


def draw(dtype, *shapes):
    rng = np.random.default_rng(6)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def assert_close(b, got, expected, dtype):
    error = 2e-5 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(b.to_numpy(got), expected, rtol=error, atol=error)


Q, K, V = (2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)
MASKS_BY_NAME = {
    "none": None,
    "bool": np.random.default_rng(0).random((2, 1, 5, 7)) < 0.7,
    "float": np.random.default_rng(0).standard_normal((5, 7)),
    "a fully masked row": np.arange(5)[:, None] > np.zeros(7),
}


def reference_attention(inputs, mask, *, causal, scale):
    """Compute attention with basic PyTorch operations; fully masked rows are 0."""
    q, k, v = inputs
    scores = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    peak = scores.amax(-1, keepdim=True).detach().nan_to_num(neginf=0.0)
    powers = (scores - peak).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, 1.0, total) @ v


@pytest.mark.sample(5)
@everywhere
@in_both
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", MASKS_BY_NAME.values(), ids=MASKS_BY_NAME)
def test_attention_and_its_gradient_equal_a_manual_implementation(
    mask, causal, name, dtype
):
    arrays = draw(dtype, Q, K, V)
    (grad,) = draw(dtype, Q)
    leaves = [torch.from_numpy(a).double().requires_grad_() for a in arrays]
    keep = None if mask is None else torch.from_numpy(mask)
    expected = reference_attention(leaves, keep, causal=causal, scale=0.3)
    slopes = torch.autograd.grad(expected, leaves, torch.from_numpy(grad).double())
    with wide(name, dtype):
        b = found(name)
        given = mask if mask is None or mask.dtype == bool else mask.astype(dtype)
        given = None if given is None else b.asarray(given)
        q, k, v = (b.asarray(a) for a in arrays)
        options = {"causal": causal, "scale": 0.3}
        out, lse = b.attention(q, k, v, given, **options)
        assert_close(b, out, expected.detach(), dtype)
        got = b.attention_grad(b.asarray(grad), q, k, v, given, None, out, lse, **options)
        for mine, truth in zip(got, slopes, strict=True):
            assert_close(b, mine, truth, dtype)


@everywhere
def test_attention_dropout_is_the_same_on_every_backend(name):
    q, k, v = draw("float32", Q, K, V)
    key, b, truth = sl.Key(5), found(name), found("strict")
    expected = truth.attention(*map(truth.asarray, (q, k, v)), None, key, dropout=0.5)[0]
    out = b.attention(*map(b.asarray, (q, k, v)), None, key, dropout=0.5)[0]
    assert_close(b, out, np.asarray(expected), "float32")


@everywhere
@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences_attend_only_to_themselves(causal, name):
    q, k, v, grad = draw("float32", *[(9, 2, 4)] * 4)
    ends = np.array([0, 3, 3, 9], np.int32)
    b = found(name)
    given = [b.asarray(a) for a in (q, k, v)]
    options = {"max_seqlen": 6, "causal": causal}
    out, lse = b.attention_varlen(*given, b.asarray(ends), **options)
    parts = b.attention_varlen_grad(
        b.asarray(grad), *given, b.asarray(ends), out, lse, **options
    )
    for start, stop in ((0, 3), (3, 9)):
        rows = [
            torch.from_numpy(a[None, start:stop]).transpose(1, 2) for a in (q, k, v, grad)
        ]
        leaves = [row.double().requires_grad_() for row in rows[:3]]
        attend: Any = F.scaled_dot_product_attention
        whole = attend(*leaves, is_causal=causal)
        slopes = torch.autograd.grad(whole, leaves, rows[3].double())
        for mine, truth in zip((out, *parts), (whole.detach(), *slopes), strict=True):
            assert_close(
                b,
                b.index(mine, (slice(start, stop), ...)),
                truth[0].transpose(0, 1),
                "float32",
            )
    assert tuple(lse.shape) == (2, 9)


@everywhere
@in_both
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_and_its_gradient_equal_torch(weighted, name, dtype):
    logits, weights, grad = draw(dtype, (6, 4), (4,), (6,))
    labels = np.array([0, 3, 1, 1, 2, 0])
    leaf = torch.from_numpy(logits).double().requires_grad_()
    scale = torch.from_numpy(np.abs(weights)).double() if weighted else None
    expected = F.cross_entropy(leaf, torch.from_numpy(labels), scale, reduction="none")
    (slope,) = torch.autograd.grad(expected, leaf, torch.from_numpy(grad).double())
    with wide(name, dtype):
        b = found(name)
        kind = "int32" if name == "jax" else "int64"
        given = b.asarray(np.abs(weights)) if weighted else None
        args = b.asarray(logits), b.asarray(labels.astype(kind)), given
        losses, fused = b.cross_entropy(*args)
        assert_close(b, losses, expected.detach(), dtype)
        assert_close(b, b.cross_entropy_grad(b.asarray(grad), *args, fused), slope, dtype)
