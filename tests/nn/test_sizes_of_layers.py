"""Sizes as people write them: one number, a list, NumPy's whole numbers."""

import numpy as np
import pytest
import torch
from torch.nn import functional as torch_functional

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import functional as F

X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.mark.parametrize("size", [3, [3], (3,), np.int64(3)])
def test_norms_of_rows_take_the_length_of_the_last_axis_as_one_number(size):
    x = sl.tensor.backend("numpy").tensor(X)
    wanted = torch_functional.layer_norm(torch.tensor(X), (3,)).numpy()
    layer = nn.LayerNorm(size).bind("numpy", sl.Key(0))
    for found in (F.layer_norm(x, size), layer(x)):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    wanted = torch_functional.rms_norm(torch.tensor(X), (3,)).numpy()
    np.testing.assert_allclose(F.rms_norm(x, size).numpy(), wanted, rtol=1e-5)


def test_a_length_that_is_no_whole_number_is_refused():
    with pytest.raises(ArgumentError, match="normalized_shape"):
        nn.LayerNorm("3")  # pyright: ignore[reportArgumentType]


def test_no_heads_are_refused():
    with pytest.raises(ArgumentError, match="heads"):
        nn.SelfAttention(8, 0)


def test_the_error_of_a_mask_of_keys_says_how_it_is_written():
    layer = nn.SelfAttention(8, 2).bind("numpy", sl.Key(0))
    x = layer.backend.tensor(np.ones((2, 5, 8), np.float32))
    keys = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
    with pytest.raises(ShapeError, match=r"mask\[:, None, None, :\]"):
        layer(x, keys)
    assert layer(x, keys[:, None, None, :]).shape == x.shape
