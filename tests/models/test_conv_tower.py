"""ConvTower predicts binned tracks."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from bpnet_files import one_hot
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models import BPNetConfig, ConvTowerConfig

F = sl.nn.functional
DNA = sl.encode.OneHot("dna")


def regions(length, positions, tracks=2, encoder=DNA, **arrays) -> Any:
    """Return the part of a dataset that `for_data` reads."""
    batch = {"inputs": np.zeros((1, 4, length)), "tracks": np.zeros((1, tracks, positions))}
    return SimpleNamespace(
        batch=lambda _: batch | arrays, lengths=[length], encoder=encoder
    )


def outputs_of(model, x):
    return model.logits(model.backend.tensor(x)).numpy()


@pytest.mark.parametrize(("bin_size", "trimming"), [(1, 0), (2, 3), (32, 1)])
def test_outputs_are_bins_without_the_trimmed_ends(bin_size, trimming):
    x = one_hot(np.random.default_rng(0).integers(0, 4, (2, 256)))
    settings = {"bin_size": bin_size, "channels": 4, "top_channels": 6, "layers": 1}
    whole = ConvTowerConfig(3, **settings).init("numpy", sl.Key(0)).eval()
    part = ConvTowerConfig(3, **settings, trimming=trimming).init("numpy", sl.Key(0)).eval()
    expected = outputs_of(whole, x)
    assert expected.shape == (2, 3, 256 // bin_size)
    expected = expected[:, :, trimming : 256 // bin_size - trimming]
    np.testing.assert_array_equal(outputs_of(part, x), expected)


def test_an_output_moves_with_the_sequence_by_bins():
    config = ConvTowerConfig(1, 8, channels=4, top_channels=4, layers=1, trimming=8)
    model = config.init("numpy", sl.Key(3)).eval()
    x = one_hot(np.random.default_rng(1).integers(0, 4, (1, 264)))
    one, other = outputs_of(model, x[:, :, :-8]), outputs_of(model, x[:, :, 8:])
    np.testing.assert_allclose(one[:, :, 1:], other[:, :, :-1], atol=1e-5)


def test_training_lowers_the_poisson_loss():
    random = np.random.default_rng(2)
    codes = random.integers(0, 4, (64, 128))
    rates = (codes == 2).reshape(64, 1, 8, 16).sum(axis=3) * 1.0
    y = random.poisson(rates).astype(np.float32)
    config = ConvTowerConfig(1, 16, channels=8, top_channels=8, layers=1, dropout=0.0)
    model = config.init("numpy", sl.Key(0))
    run = sl.train.fit(
        model,
        {"x": one_hot(codes), "y": y},
        objective=sl.train.Objective(loss=F.poisson_nll_loss),
        epochs=30,
        lr=0.01,
    )
    losses = [row["train_loss"] for row in run.history]
    mean = y.mean()
    assert losses[-1] < float(mean - mean * np.log(mean)) < losses[0]


def test_settings_fit_the_widths_of_the_data():
    config = ConvTowerConfig.for_data(regions(2048, 8), bin_size=128)
    assert (config.tracks, config.bin_size, config.trimming) == (2, 128, 4)
    controls = np.zeros((1, 3, 2114))
    config = BPNetConfig.for_data(regions(2114, 1000, controls=controls))
    assert (config.tracks, config.margin, config.controls) == (2, 557, 3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (regions(2048, 9), "448 bases on each side; expected a multiple of bin_size=128"),
        (regions(2047, 8), "the difference must be even"),
        (regions(100, 8), "the difference must be even and 0 or more"),
        (regions(2048, 8, encoder=sl.encode.OneHot("protein")), "reads one-hot DNA"),
        (
            SimpleNamespace(batch=lambda _: {}, lengths=[9], encoder=DNA),
            "the dataset has no tracks; open it with tracks=",
        ),
    ],
)
def test_data_that_do_not_fit_are_refused(data, message):
    with pytest.raises(ArgumentError, match=message):
        ConvTowerConfig.for_data(data, bin_size=128)


def test_a_length_between_bins_is_refused():
    model = ConvTowerConfig(1, 32, trimming=1).init("numpy").eval()
    for length in (100, 64):
        with pytest.raises(ShapeError, match="multiple of 32 and at least 96"):
            outputs_of(model, np.zeros((1, 4, length), np.float32))
    with pytest.raises(ArgumentError, match="bin_size must be a power of 2, got 24"):
        ConvTowerConfig(1, 24)
