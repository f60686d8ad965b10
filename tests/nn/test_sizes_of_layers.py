"""Tests of layer sizes that are integers, lists, NumPy integers, or invalid."""

import numpy as np
import pytest
import torch
from torch.nn import functional as torch_functional

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import functional as F

INPUT_ROW = sl.tensor.backend("numpy").tensor(np.ones((1, 1, 4), np.float32))
INPUT_ARRAY = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


@pytest.mark.parametrize("size", [3, [3], (3,), np.int64(3)])
def test_normalized_shape_may_be_an_integer(size):
    x = sl.tensor.backend("numpy").tensor(INPUT_ARRAY)
    wanted = torch_functional.layer_norm(torch.tensor(INPUT_ARRAY), (3,)).numpy()
    layer = nn.LayerNorm(size).bind("numpy", sl.Key(0))
    for found in (F.layer_norm(x, size), layer(x)):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    wanted = torch_functional.rms_norm(torch.tensor(INPUT_ARRAY), (3,)).numpy()
    np.testing.assert_allclose(F.rms_norm(x, size).numpy(), wanted, rtol=1e-5)


def test_a_layer_rejects_a_length_that_is_not_an_integer():
    with pytest.raises(ArgumentError, match="normalized_shape"):
        nn.LayerNorm("3")  # pyright: ignore[reportArgumentType]


def test_zero_attention_heads_are_rejected():
    with pytest.raises(ArgumentError, match="heads"):
        nn.SelfAttention(8, 0)


def test_the_error_for_a_key_mask_shows_how_to_reshape_it():
    layer = nn.SelfAttention(8, 2).bind("numpy", sl.Key(0))
    x = layer.backend.tensor(np.ones((2, 5, 8), np.float32))
    keys = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
    with pytest.raises(ShapeError, match=r"mask\[:, None, None, :\]"):
        layer(x, keys)
    assert layer(x, keys[:, None, None, :]).shape == x.shape


INVALID_SIZES = {
    "in_features": lambda: nn.Linear("3", 2),  # pyright: ignore[reportArgumentType]
    "in_features must be an integer": lambda: nn.Linear(3.0, 2),  # pyright: ignore[reportArgumentType]
    "out_features": lambda: nn.Linear(3, -1),
    "kernel_size must be at least 1": lambda: nn.Conv1d(3, 2, 0),
    "kernel_size": lambda: nn.Conv2d(3, 2, (3, 0)),
    "in_channels": lambda: nn.Conv1d("3", 2, 3),  # pyright: ignore[reportArgumentType]
    "stride": lambda: nn.Conv1d(3, 2, 3, stride=0),
    "num_features": lambda: nn.BatchNorm1d(3.0),  # pyright: ignore[reportArgumentType]
    "momentum must be a number": lambda: nn.BatchNorm1d(3, momentum="0.1"),  # pyright: ignore[reportArgumentType]
    "in_channels must be a multiple of groups=2": lambda: nn.Conv1d(3, 4, 3, groups=2),
    "out_channels must be a multiple of": lambda: nn.ConvTranspose1d(4, 3, 3, groups=2),
    "padding_mode must be": lambda: nn.Conv1d(4, 4, 3, padding_mode="mirror"),
    "output_padding 2 must be below": lambda: nn.ConvTranspose1d(3, 4, 3, 2, 0, 2),
    "num_channels must be a multiple of": lambda: nn.GroupNorm(2, 3),
    "num_parameters": lambda: nn.PReLU(0),
    "approximate must be": lambda: nn.GELU("tan"),
    "output_size must be": lambda: F.adaptive_avg_pool1d(INPUT_ROW, (1, 2, 3)),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("wanted", INVALID_SIZES)
def test_invalid_layer_sizes_are_rejected_by_name(wanted):
    with pytest.raises(ArgumentError, match=wanted):
        INVALID_SIZES[wanted]()


def test_a_convolution_accepts_tuples_of_one_number():
    theirs = torch.nn.Conv1d(3, 2, (3,), (2,), (1,), (2,))
    ours = nn.Conv1d(3, 2, (3,), (2,), (1,), (2,)).bind("numpy", sl.Key(0))
    ours.load_record(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(1, 3, 12)).astype(np.float32)
    wanted = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours(ours.backend.tensor(x)).numpy(), wanted, atol=1e-5)


def test_the_error_for_the_interpolation_mode_area_suggests_pooling():
    x = sl.tensor.backend("numpy").tensor(np.ones((1, 2, 4), np.float32))
    with pytest.raises(ArgumentError, match=r"got 'area'; .*avg_pool1d"):
        F.interpolate(x, 2, mode="area")


LAYERS_AND_WRONG_SHAPES = {
    "Linear": (lambda: sl.nn.Linear(4, 4), (2, 5), r"\(\.\.\., 4\), got \(2, 5\)"),
    "Conv1d": (
        lambda: sl.nn.Conv1d(4, 4, 3),
        (2, 9, 4),
        r"\(n, 4, length\), got \(2, 9, 4\)",
    ),
    "Conv2d": (
        lambda: sl.nn.Conv2d(4, 4, 1),
        (2, 3, 5, 5),
        r"\(n, 4, height, width\), got",
    ),
    "ConvTranspose1d": (
        lambda: sl.nn.ConvTranspose1d(4, 2, 3),
        (2, 9, 4),
        r"\(n, 4, length\), got \(2, 9, 4\)",
    ),
    "LayerNorm": (lambda: sl.nn.LayerNorm(4), (2, 5), r"\(\.\.\., 4\), got \(2, 5\)"),
    "RMSNorm": (lambda: sl.nn.RMSNorm(4), (2, 5), r"\(\.\.\., 4\), got \(2, 5\)"),
    "GroupNorm": (
        lambda: sl.nn.GroupNorm(2, 4),
        (2, 6, 3),
        r"\(n, 4, \.\.\.\), got \(2, 6, 3\)",
    ),
    "BatchNorm1d": (
        lambda: sl.nn.BatchNorm1d(4),
        (2, 5, 3),
        r"4 channels, got shape \(2, 5, 3\)",
    ),
    "GRU": (lambda: sl.nn.GRU(4, 4), (2, 5, 6), r"in=4, got shape \(2, 5, 6\)"),
}


WRONG_SHAPE_CASES = [
    *(("numpy", kind) for kind in LAYERS_AND_WRONG_SHAPES),
    ("torch", "Linear"),
    ("torch", "Conv1d"),
]


@pytest.mark.parametrize(
    ("name", "kind"), [*WRONG_SHAPE_CASES, ("jax", "Linear"), ("jax", "Conv1d")]
)
def test_the_error_for_a_wrong_shape_has_the_path_of_the_layer(name, kind):
    pytest.importorskip(name)
    make, shape, message = LAYERS_AND_WRONG_SHAPES[kind]
    model = sl.nn.Sequential(sl.nn.Identity(), make()).bind(name, sl.Key(0))
    x = model.backend.tensor(np.zeros(shape, np.float32))
    match = rf"layers\.1 \({kind}\).*{message}"
    for call in (
        model,
        sl.nn.value_and_grad(lambda model, x: model(x).sum()),
        sl.tensor.compile(lambda model, x: model(x)),
    ):
        with pytest.raises(sl.errors.ShapeError, match=match):
            call(x) if call is model else call(model, x)
