"""The loss scale of float16 compared with PyTorch after each step."""

import numpy as np
import pytest
import torch

import seqloom as sl

BACKENDS_AND_COMPILATION = [
    ("numpy", False),
    ("numpy", True),
    ("torch", False),
    pytest.param("torch", True, marks=pytest.mark.soak),
    pytest.param("jax", False, marks=pytest.mark.soak),
    ("jax", True),
]


def test_the_loss_scale_matches_pytorch_after_every_step():
    theirs = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=3)
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    ours, plain = sl.optim.LossScale(16.0, interval=3), sl.tensor.backend("numpy")
    for bad in [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]:
        gradient = np.array([1.0, np.inf if bad else 2.0], "float32")
        theirs.scale(torch.ones(()))  # initialises PyTorch's scale
        parameter.grad = torch.tensor(gradient)
        before = theirs.get_scale()
        assert ours.value == before
        theirs.step(optimizer)
        theirs.update()
        found = ours.unscale(sl.tensor.Gradients({1: plain.asarray(gradient)}, plain))
        assert (found is None) == bool(bad)
        if found is not None:
            np.testing.assert_array_equal(found.get(1), gradient / before)
    assert ours.value == theirs.get_scale()


def test_loss_scale_defaults_match_pytorch():
    ours, theirs = sl.optim.LossScale(), torch.amp.GradScaler("cpu")
    assert (ours.growth, ours.backoff, ours.interval) == (
        theirs.get_growth_factor(),
        theirs.get_backoff_factor(),
        theirs.get_growth_interval(),
    )
    assert ours.value == theirs.get_scale()


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # from NumPy
@pytest.mark.parametrize(("backend", "compiled"), BACKENDS_AND_COMPILATION)
def test_an_overflow_leaves_parameters_and_state_unchanged(backend, compiled):
    layer = sl.nn.Linear(2, 1).bind(backend, 0)
    optimizer, scale = sl.optim.AdamW(), sl.optim.LossScale(2.0**15)
    x = layer.backend.tensor(np.array([[2.0, 4.0]], "float32"))

    def scaled_loss(layer, x, factor):
        with sl.tensor.autocast("float16", allow_slow=True):
            return layer(x).astype("float32").sum() * factor

    step = sl.nn.value_and_grad(scaled_loss)
    step = sl.tensor.compile(step) if compiled else step

    def run():
        gradients = scale.unscale(step(layer, x, scale.value)[1])
        if gradients is not None:
            optimizer.step(0.01, layer, gradients)

    before = layer.state_dict()
    run()  # the loss, 4 * 2 ** 15, is infinite in float16
    assert scale.value == 2.0**14
    assert optimizer.step_count == 0
    for path, values in layer.state_dict().items():
        np.testing.assert_array_equal(values, before[path])
    run()  # the loss, 4 * 2 ** 14, is also infinite in float16
    run()
    assert (scale.value, optimizer.step_count) == (2.0**13, 1)
    assert not np.array_equal(layer.weight.numpy(), before["weight"])


def test_a_record_restores_the_loss_scale(tmp_path):
    scale = sl.optim.LossScale(8.0, interval=5)
    plain = sl.tensor.backend("numpy")
    scale.unscale(sl.tensor.Gradients({1: plain.asarray([1.0])}, plain))
    scale.to_record().save(tmp_path / "scale.safetensors")
    twin = sl.optim.LossScale(interval=5).load_record(
        sl.record.load(tmp_path / "scale.safetensors")
    )
    assert (twin.value, twin.good_steps) == (8.0, 1)


def test_a_loss_scale_rejects_the_record_of_another_object():
    with pytest.raises(sl.errors.RecordError, match="loss_scale"):
        sl.optim.LossScale().load_record(sl.optim.AdamW().to_record())


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"value": 0}, "value"),
        ({"growth": 1.0}, "growth"),
        ({"backoff": 1.5}, "backoff"),
        ({"interval": 0}, "interval"),
    ],
)
def test_the_error_for_an_invalid_loss_scale_setting_contains_its_name(options, name):
    with pytest.raises(sl.errors.ArgumentError, match=name):
        sl.optim.LossScale(**options)
