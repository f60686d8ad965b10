"""AdamW and learning rate schedules compared with PyTorch."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError, DTypeError, RecordError

torch = pytest.importorskip("torch")
INPUT_ARRAY = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")


def loss_of(layer, x):
    return (layer(x) ** 2).mean()


def train(layer, optimizer, steps, lr=0.05):
    x = layer.backend.tensor(INPUT_ARRAY)
    for _ in range(steps):
        _, grads = sl.nn.value_and_grad(loss_of)(layer, x)
        optimizer.step(lr, layer, grads)
    return layer


def new_layer():
    return sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))


def test_adamw_steps_match_pytorch():
    ours, theirs = new_layer(), torch.nn.Linear(3, 2)
    with torch.no_grad():
        theirs.weight[:], theirs.bias[:] = (
            torch.tensor(ours.weight.numpy()),
            torch.tensor(ours.bias.numpy()),
        )
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=0.05, weight_decay=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        (theirs(torch.tensor(INPUT_ARRAY)) ** 2).mean().backward()
        optimizer.step()
    train(ours, sl.optim.AdamW(weight_decay=0.1), 20)
    np.testing.assert_allclose(ours.weight.numpy(), theirs.weight.detach(), atol=2e-6)
    np.testing.assert_allclose(ours.bias.numpy(), theirs.bias.detach(), atol=2e-6)


def test_weights_of_a_parameter_group_without_weight_decay_are_not_shrunk():
    layer, optimizer = new_layer(), sl.optim.AdamW(weight_decay=1.0)
    optimizer.group("*bias", weight_decay=0.0)
    zero = {
        id_: layer.backend.zeros(p.shape)
        for id_, p in ((p.id, p) for _, p in layer.parameters())
    }
    before = layer.bias.numpy(), layer.weight.numpy()
    optimizer.step(0.5, layer, sl.tensor.Gradients(zero, layer.backend))
    assert np.array_equal(layer.bias.numpy(), before[0])
    np.testing.assert_allclose(layer.weight.numpy(), before[1] * 0.5)


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit():
    whole = train(new_layer(), sl.optim.AdamW(), 10)
    optimizer = sl.optim.AdamW()
    half = train(new_layer(), optimizer, 5)
    record = optimizer.to_record()
    again = new_layer().load_record(half.to_record())
    train(again, sl.optim.AdamW().load_record(record), 5)
    assert np.array_equal(again.weight.numpy(), whole.weight.numpy())


def test_adamw_rejects_the_record_of_another_object():
    with pytest.raises(RecordError, match="step_count"):
        sl.optim.AdamW().load_record(new_layer().to_record())


def test_adamw_rejects_a_record_without_its_state():
    optimizer = sl.optim.AdamW()
    train(new_layer(), optimizer, 1)
    record = optimizer.to_record()
    arrays = {path: each for path, each in record.items() if path != "bias.second"}
    with pytest.raises(RecordError, match="lacks the array second for bias"):
        sl.optim.AdamW().load_record(sl.record.Record(arrays, metadata=record.metadata))


@pytest.mark.parametrize("lr", [float("nan"), float("inf"), -1.0])
def test_an_invalid_learning_rate_is_rejected(lr):
    layer = new_layer()
    _, grads = sl.nn.value_and_grad(loss_of)(layer, layer.backend.tensor(INPUT_ARRAY))
    with pytest.raises(ArgumentError, match="learning rate"):
        sl.optim.AdamW().step(lr, layer, grads)


def test_gradients_of_another_model_are_rejected():
    layer, other = new_layer(), new_layer()
    _, grads = sl.nn.value_and_grad(loss_of)(layer, layer.backend.tensor(INPUT_ARRAY))
    with pytest.raises(ArgumentError, match="no gradient belongs"):
        sl.optim.AdamW().step(0.1, other, grads)


def test_the_warmup_cosine_schedule_rises_then_falls_to_its_minimum():
    schedule = sl.optim.WarmupCosine(peak=1.0, warmup=10, total=100, floor=0.1)
    rates = [schedule(step) for step in range(120)]
    assert rates.index(max(rates)) == 10
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100:] == pytest.approx([0.1] * 20)


def test_the_option_one_scale_preserves_the_direction_of_the_gradient():
    layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0))
    before, grad = layer.weight.numpy(), np.arange(1, 7, dtype="f4").reshape(2, 3)
    grads = sl.tensor.Gradients({layer.weight.id: grad}, layer.backend)
    sl.optim.AdamW(weight_decay=0, one_scale=True).step(0.1, layer, grads)
    step = before - layer.weight.numpy()
    np.testing.assert_allclose(step, 0.1 * grad / np.sqrt((grad**2).mean()), rtol=1e-4)


def test_the_option_one_scale_equals_adamw_for_equal_gradients():
    def run(**options):
        layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
        optimizer = sl.optim.AdamW(weight_decay=0.1, **options)
        for gradient in (0.5, -0.2, 0.9):
            grad = {layer.weight.id: np.full((1, 1), gradient, "f4")}
            optimizer.step(0.05, layer, sl.tensor.Gradients(grad, layer.backend))
        return layer.weight.numpy()

    np.testing.assert_allclose(run(one_scale=True), run(), rtol=1e-5)


def test_adamw_with_one_scale_is_resumed_bit_for_bit():
    def new():
        return sl.optim.AdamW().group("weight", one_scale=True)

    whole = train(new_layer(), new(), 10)
    layer, first, second = new_layer(), new(), new()
    train(layer, first, 5)
    train(layer, second.load_record(first.to_record()), 5)
    assert np.array_equal(layer.weight.numpy(), whole.weight.numpy())


def test_a_gradient_of_another_dtype_is_rejected_with_both_dtypes():
    layer = sl.nn.Linear(3, 2).bind("numpy", sl.Key(0)).to("numpy", "float64")
    x = layer.backend.tensor(np.ones((4, 3)))
    _, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
    layer = layer.to("numpy", "float32")
    with pytest.raises(
        DTypeError, match="weight has dtype float32, but its gradient has float64"
    ):
        sl.optim.AdamW().step(1e-3, layer, grads)
