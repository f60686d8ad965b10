"""Tests of layers: padding, initial values, dropout, and comparisons with PyTorch."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, ShapeError

torch = pytest.importorskip("torch")
RANDOM_GENERATOR = np.random.default_rng(0)
INPUT_ARRAY = RANDOM_GENERATOR.normal(size=(5, 4, 12)).astype("f4")
POSITION_MASK = (np.arange(12) < np.array([[12], [7], [1], [9], [3]])).astype("f4")


def bound(layer) -> Any:
    return layer.bind("numpy", sl.Key(0))


def tensor(array):
    return sl.tensor.backend("numpy").tensor(array)


def test_initial_weights_are_within_the_bounds_of_pytorch():
    weight = bound(sl.nn.Conv1d(4, 64, 9)).weight.numpy()
    assert abs(weight).max() <= (4 * 9) ** -0.5
    assert weight.std() == pytest.approx((4 * 9) ** -0.5 / 3**0.5, rel=0.05)


def test_running_averages_of_batch_norm_match_pytorch():
    ours, theirs = bound(sl.nn.BatchNorm1d(4)), torch.nn.BatchNorm1d(4)
    for _ in range(3):
        ours(tensor(INPUT_ARRAY))
        theirs(torch.tensor(INPUT_ARRAY))
    np.testing.assert_allclose(ours.running_mean.numpy(), theirs.running_mean, atol=1e-6)
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.running_var, rtol=1e-5)
    np.testing.assert_allclose(
        ours.eval()(tensor(INPUT_ARRAY)),
        theirs.eval()(torch.tensor(INPUT_ARRAY)).detach(),
        atol=1e-5,
    )


def test_batch_norm_ignores_padding():
    padded = np.where(POSITION_MASK[:, None] > 0, INPUT_ARRAY, 99.0).astype("f4")
    ours, theirs = bound(sl.nn.BatchNorm1d(4)), torch.nn.BatchNorm1d(4)
    out = ours(tensor(padded), mask=tensor(POSITION_MASK)).numpy()
    places = torch.tensor(INPUT_ARRAY.transpose(0, 2, 1)[POSITION_MASK > 0])
    np.testing.assert_allclose(
        out.transpose(0, 2, 1)[POSITION_MASK > 0], theirs(places).detach(), atol=1e-5
    )
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.running_var, rtol=1e-5)
    assert not out.transpose(0, 2, 1)[POSITION_MASK == 0].any()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_batch_norm_accepts_boolean_and_float_masks(name, training):
    backend = sl.tensor.backend(name)
    layer = sl.nn.BatchNorm1d(4).bind(name, sl.Key(0)).train(training)
    given = backend.tensor(INPUT_ARRAY)
    ones = layer(given, mask=backend.tensor(POSITION_MASK.astype("f4"))).numpy()
    for truths in (POSITION_MASK > 0, backend.tensor(POSITION_MASK > 0)):
        np.testing.assert_array_equal(layer(given, mask=truths).numpy(), ones)


def run_batch_norm(x, backend, *, training):
    """Return the output of masked batch norm, and gradients for input and weight."""
    level = sl.tensor.Autodiff(backend)
    x, mask = level.tensor(x, requires_grad=True), level.tensor(POSITION_MASK.astype("f4"))
    scale = level.tensor(np.full(4, 2.0, "f4"), requires_grad=True)
    shift = level.tensor(np.ones(4, "f4"))
    if training:
        out = sl.tensor.apply("batch_norm", x, scale, shift, mask, eps=1e-5)[0]
    else:
        out = sl.tensor.apply("scale_shift", x, scale, shift, mask)
    slopes = (out * out * out).sum().backward()
    return [out.numpy(), slopes.wrt(x).numpy(), slopes.wrt(scale).numpy()]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_batch_norm_ignores_nan_in_padding(name, training):
    backend = sl.tensor.backend(name)
    clean = np.where(POSITION_MASK[:, None] > 0, INPUT_ARRAY, 0).astype("f4")
    dirty = np.where(POSITION_MASK[:, None] > 0, INPUT_ARRAY, np.nan).astype("f4")
    pairs = [run_batch_norm(x, backend, training=training) for x in (clean, dirty)]
    for expected, found in zip(*pairs, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_accepts_a_flipped_mask_and_its_copy(training):
    layer = sl.nn.BatchNorm1d(4).bind("numpy", sl.Key(0)).train(training)
    given, mask = (layer.backend.tensor(it) for it in (INPUT_ARRAY, POSITION_MASK))
    flipped = sl.tensor.apply("flip", mask.astype("float32"), axis=1)
    copied = layer.backend.tensor(flipped.numpy().copy())
    found, expected = (layer(given, mask=it).numpy() for it in (flipped, copied))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("summary", ["masked_mean", "masked_max"])
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_masked_mean_and_max_ignore_nan_in_padding(name, summary):
    backend = sl.tensor.backend(name)
    call = getattr(sl.nn.functional, summary)
    clean = np.where(POSITION_MASK[:, None] > 0, INPUT_ARRAY, 0).astype("f4")
    dirty = np.where(POSITION_MASK[:, None] > 0, INPUT_ARRAY, np.nan).astype("f4")
    expected = call(backend.tensor(clean), POSITION_MASK).numpy()
    np.testing.assert_array_equal(
        call(backend.tensor(dirty), POSITION_MASK).numpy(), expected
    )


def test_batch_norm_accepts_rows_like_pytorch():
    rows = INPUT_ARRAY[:, :, 0]
    ours, theirs = bound(sl.nn.BatchNorm1d(4)), torch.nn.BatchNorm1d(4)
    np.testing.assert_allclose(
        ours(tensor(rows)), theirs(torch.tensor(rows)).detach(), atol=1e-5
    )


def test_batch_norm_in_evaluation_is_differentiable():
    norm = bound(sl.nn.BatchNorm1d(4)).eval()
    _, grads = sl.nn.value_and_grad(lambda m: (m(tensor(INPUT_ARRAY)) * 2).sum())(norm)
    np.testing.assert_allclose(grads.wrt(norm.bias), np.full(4, 2.0 * 5 * 12), rtol=1e-5)


def test_dropout_in_training_without_a_key_raises_with_a_hint():
    with pytest.raises(ArgumentError, match=r"key=sl\.Key"):
        sl.nn.Dropout(0.5)(tensor(INPUT_ARRAY))


def test_dropout_keeps_the_mean():
    out = sl.nn.Dropout(0.3)(tensor(np.ones(100_000, "f4")), key=sl.Key(1)).numpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.7)}
    assert out.mean() == pytest.approx(1, abs=0.01)


def test_dropout_in_evaluation_changes_nothing():
    assert sl.nn.Dropout(0.5).eval()(x := tensor(INPUT_ARRAY)) is x


def test_sequential_passes_each_stochastic_layer_a_different_key():
    twice = sl.nn.Sequential(sl.nn.Dropout(0.5), sl.nn.Dropout(0.5))
    kept = (twice(tensor(np.ones(10_000, "f4")), key=sl.Key(0)).numpy() > 0).mean()
    assert kept == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("summary", ["masked_mean", "masked_max"])
def test_masked_mean_and_max_ignore_padding(summary):
    function = getattr(sl.nn.functional, summary)
    out = function(tensor(INPUT_ARRAY), tensor(POSITION_MASK)).numpy()
    alone = [
        function(tensor(INPUT_ARRAY[i : i + 1, :, : int(POSITION_MASK[i].sum())])).numpy()[
            0
        ]
        for i in range(5)
    ]
    np.testing.assert_allclose(out, alone, rtol=1e-6)


@pytest.mark.parametrize("summary", ["masked_mean", "masked_max"])
def test_masked_mean_and_max_of_an_empty_record_are_zero(summary):
    out = getattr(sl.nn.functional, summary)(
        tensor(INPUT_ARRAY[:1]), tensor(np.zeros((1, 12), "f4"))
    )
    assert not out.numpy().any()


def test_same_padding_needs_stride_one():
    with pytest.raises(ArgumentError, match='"same" needs stride 1'):
        sl.nn.Conv1d(4, 4, 3, stride=2, padding="same")


def test_batch_norm_of_images_ignores_padding():
    mask = np.broadcast_to(POSITION_MASK[:, None], (5, 3, 12))
    images = RANDOM_GENERATOR.normal(size=(5, 4, 3, 12)).astype("f4")
    rows, norms = images.reshape(5, 4, 36), [bound(sl.nn.BatchNorm2d(4)) for _ in "ab"]
    padded = tensor(np.where(mask[:, None] > 0, images, np.nan).astype("f4"))
    out = norms[0](padded, mask=mask).numpy()
    flat = bound(sl.nn.BatchNorm1d(4))
    wanted = flat(tensor(rows), mask=mask.reshape(5, 36)).numpy()
    np.testing.assert_allclose(out.reshape(5, 4, 36), wanted, rtol=1e-6)
    np.testing.assert_allclose(norms[0].running_var, flat.running_var, rtol=1e-6)


@pytest.mark.parametrize("wanted", [18, 19, 20])
def test_a_transposed_convolution_returns_the_requested_length(wanted):
    ours = bound(sl.nn.ConvTranspose1d(4, 2, 3, 2, 1))
    theirs = torch.nn.ConvTranspose1d(4, 2, 3, 2, 1)
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    x = RANDOM_GENERATOR.normal(size=(1, 4, 10)).astype("f4")
    if wanted == 18:
        with pytest.raises(ShapeError, match=r"between \[19\] and \[20\]"):
            ours(tensor(x), output_size=[wanted])
        return
    expected = theirs(torch.tensor(x), output_size=[wanted]).detach()
    np.testing.assert_allclose(ours(tensor(x), output_size=[wanted]), expected, atol=1e-5)


INITIALISED_LAYERS = {
    "Conv1d": (8, 64, 9, 2, 0, 1, 4),
    "Conv2d": (8, 64, 3),
    "ConvTranspose1d": (8, 64, 9, 2, 0, 0, 4),
    "Linear": (32, 64),
}


@pytest.mark.parametrize("name", INITIALISED_LAYERS)
def test_initial_values_are_distributed_like_pytorch(name):
    ours = bound(getattr(sl.nn, name)(*INITIALISED_LAYERS[name])).weight.numpy()
    theirs = getattr(torch.nn, name)(*INITIALISED_LAYERS[name]).weight.detach().numpy()
    assert ours.shape == theirs.shape
    bound_of = abs(theirs).max()
    assert abs(ours).max() == pytest.approx(bound_of, rel=0.02)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.05)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_linear_layer_without_inputs_returns_its_bias(name):
    pytest.importorskip(name)
    layer = sl.nn.Linear(0, 2).bind(name, sl.Key(0))
    x = sl.tensor.backend(name).tensor(np.zeros((3, 0), "f4"))
    assert layer.weight.value.shape == (2, 0)
    assert layer(x).tolist() == [[0, 0]] * 3
