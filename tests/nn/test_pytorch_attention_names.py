"""Attention functions accept the argument names of PyTorch."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
TORCH_FUNCTIONAL = torch.nn.functional
SL_FUNCTIONAL: Any = sl.nn.functional
libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def parts(library, heads=4):
    pytest.importorskip(library)
    arrays = (values(2, 4, 5, 3), values(2, heads, 6, 3, seed=1), values(2, heads, 6, 3))
    backend = sl.tensor.backend(library)
    return [*map(backend.tensor, arrays)], [*map(torch.tensor, arrays)]


@libraries
def test_attention_accepts_pytorch_argument_names(library):
    (q, k, v), (tq, tk, tv) = parts(library)
    ours = SL_FUNCTIONAL.scaled_dot_product_attention(query=q, key=k, value=v)
    theirs = TORCH_FUNCTIONAL.scaled_dot_product_attention(query=tq, key=tk, value=tv)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


@libraries
def test_grouped_query_attention_matches_pytorch(library):
    (q, k, v), theirs = parts(library, heads=2)
    ours = SL_FUNCTIONAL.scaled_dot_product_attention(q, k, v, enable_gqa=True).numpy()
    wanted = TORCH_FUNCTIONAL.scaled_dot_product_attention(*theirs, enable_gqa=True).numpy()
    np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


def test_indivisible_numbers_of_heads_are_an_error():
    (q, k, v), _ = parts("numpy", heads=3)
    with pytest.raises(
        sl.errors.ShapeError, match=r"heads of query, 4, .* key and value, 3"
    ):
        SL_FUNCTIONAL.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def test_packed_attention_accepts_keyword_arguments():
    x = sl.tensor.backend("numpy").tensor(values(5, 2, 3))
    wanted = SL_FUNCTIONAL.attention_varlen(x, x, x, [0, 2, 5], 3).tolist()
    by_name = SL_FUNCTIONAL.attention_varlen(
        query=x, key=x, value=x, cu_seqlens=[0, 2, 5], max_seqlen=3
    )
    assert by_name.tolist() == wanted
