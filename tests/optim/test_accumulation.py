"""Tests of gradient accumulation over small batches, and of gradient clipping."""

import numpy as np
import pytest

import seqloom as sl
from optimiser_steps import (
    BACKEND_NAMES,
    INPUT_ARRAY,
    new_model,
    plain_step,
    run,
    values_of,
)
from seqloom.errors import ArgumentError, RecordError

torch = pytest.importorskip("torch")


def loss_of(model, x):
    return (model(x) ** 2).mean()


def add(model, accumulator, x):
    _, grads = sl.nn.value_and_grad(loss_of)(model, x)
    accumulator.accumulate(model, grads, weight=x.shape[0])


def add_and_step(model, accumulator, optimizer, x):
    add(model, accumulator, x)
    optimizer.step(0.05, model, accumulator.take(model))


@pytest.mark.parametrize("library", BACKEND_NAMES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_accumulated_small_batches_give_the_step_of_the_large_batch(library, compiled):
    pytest.importorskip(library)
    if compiled and library != "numpy":
        pytest.skip("the compilers of libraries are slow; the operations are tested there")
    first, last = (sl.tensor.compile(f, enabled=compiled) for f in (add, add_and_step))
    model, optimizer = new_model(library), sl.optim.AdamW()
    accumulator = sl.optim.GradientsAccumulator()
    parts = [model.backend.tensor(part) for part in np.split(INPUT_ARRAY, [3, 4])]
    for _ in range(4):
        first(model, accumulator, parts[0])
        first(model, accumulator, parts[1])
        last(model, accumulator, optimizer, parts[2])
        assert accumulator.weight == 0
    expected = run(plain_step, new_model(), sl.optim.AdamW(), 4)
    for one, other in zip(values_of(model), values_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_gradient_accumulator_resumes_between_small_batches(tmp_path):
    model, accumulator = new_model(), sl.optim.GradientsAccumulator()
    add(model, accumulator, model.backend.tensor(INPUT_ARRAY[:3]))
    accumulator.to_record().save(tmp_path / "sums.safetensors")
    record = sl.record.load(tmp_path / "sums.safetensors")
    again = sl.optim.GradientsAccumulator().load_record(record)
    for each in (accumulator, again):
        add(model, each, model.backend.tensor(INPUT_ARRAY[3:]))
    one, other = accumulator.take(model), again.take(model)
    for _, param in model.parameters():
        np.testing.assert_array_equal(one.wrt(param).numpy(), other.wrt(param).numpy())


def test_half_precision_sums_keep_small_gradients():
    model = new_model(dtype="bfloat16")
    accumulator, weight = sl.optim.GradientsAccumulator(), model.layers[0].weight
    for value in (1.0, *[2**-9] * 8):
        grad = {weight.id: np.full(weight.shape, value, weight.numpy().dtype)}
        accumulator.accumulate(model, sl.tensor.Gradients(grad, model.backend))
    found = accumulator.take(model).wrt(weight).astype("float32").numpy() * 9
    np.testing.assert_allclose(found, 1 + 2**-6, rtol=2**-8)


def test_a_parameter_frozen_during_accumulation_gets_no_gradient():
    model, accumulator = new_model(), sl.optim.GradientsAccumulator()
    add(model, accumulator, model.backend.tensor(INPUT_ARRAY))
    grads = accumulator.take(model.freeze("layers.0.*"))
    assert len(grads) == 2
    assert grads.get(model.layers[0].weight.id) is None


def test_gradient_sums_of_another_model_are_rejected():
    model, accumulator = new_model(), sl.optim.GradientsAccumulator()
    add(model, accumulator, model.backend.tensor(INPUT_ARRAY))
    with pytest.raises(ArgumentError, match="state of another model"):
        add(new_model(), accumulator, model.backend.tensor(INPUT_ARRAY))


@pytest.mark.parametrize("weight", [0, -1, 1.5])
def test_an_accumulation_weight_must_be_a_positive_integer(weight):
    model = new_model()
    _, grads = sl.nn.value_and_grad(loss_of)(model, model.backend.tensor(INPUT_ARRAY))
    with pytest.raises(ArgumentError, match="weight must be an integer"):
        sl.optim.GradientsAccumulator().accumulate(model, grads, weight=weight)


def test_taking_the_gradient_sum_twice_is_an_error():
    model, accumulator = new_model(), sl.optim.GradientsAccumulator()
    add(model, accumulator, model.backend.tensor(INPUT_ARRAY))
    accumulator.take(model)
    with pytest.raises(ArgumentError, match="no gradients were accumulated"):
        accumulator.take(model)


def test_an_accumulator_rejects_the_record_of_another_object():
    with pytest.raises(RecordError, match="step_count"):
        sl.optim.GradientsAccumulator().load_record(new_model().to_record())


# Clipping --------------------------------------------------------------------------------


@pytest.mark.parametrize("library", BACKEND_NAMES)
@pytest.mark.parametrize("limits", [{"norm": 0.3}, {"value": 0.05}, {"norm": 1e9}])
def test_gradient_clipping_matches_pytorch(library, limits):
    pytest.importorskip(library)
    model = new_model(library)
    _, grads = sl.nn.value_and_grad(loss_of)(model, model.backend.tensor(INPUT_ARRAY))
    plain = [grads.wrt(param).numpy() for _, param in model.parameters()]
    theirs = [torch.nn.Parameter(torch.zeros(each.shape)) for each in plain]
    for each, grad in zip(theirs, plain, strict=True):
        each.grad = torch.tensor(grad)
    if "norm" in limits:
        torch.nn.utils.clip_grad_norm_(theirs, limits["norm"])
    else:
        torch.nn.utils.clip_grad_value_(theirs, limits["value"])
    clipped = grads.clip(**limits)
    for (_, param), each in zip(model.parameters(), theirs, strict=True):
        found = clipped.wrt(param).numpy()
        np.testing.assert_allclose(found, each.grad.numpy(), rtol=1e-5)


def test_gradients_of_selected_parameters_are_clipped_separately():
    model = new_model()
    _, grads = sl.nn.value_and_grad(loss_of)(model, model.backend.tensor(INPUT_ARRAY))
    head, rest = model.layers[1], model.layers[0].weight
    clipped = grads.clip(0.01, of=head)
    size = sum((clipped.wrt(param).numpy() ** 2).sum() for _, param in head.parameters())
    assert size**0.5 == pytest.approx(0.01, rel=1e-3)
    np.testing.assert_array_equal(clipped.wrt(rest).numpy(), grads.wrt(rest).numpy())


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "clip needs a norm or a value"),
        ({"norm": 1.0, "value": 1.0}, "clip needs a norm or a value"),
        ({"norm": -1.0}, "norm must be a number above 0, got -1.0"),
        ({"value": float("nan")}, "value must be a number above 0, got nan"),
    ],
)
def test_an_invalid_clipping_limit_is_rejected(limits, message):
    with pytest.raises(ArgumentError, match=message):
        sl.tensor.Gradients({}, sl.tensor.backend("numpy")).clip(**limits)


# Compiled steps
# --------------------------------------------------------------------------------


def test_a_new_learning_rate_or_step_count_compiles_no_new_program():
    def update(model, optimizer, average, x, lr):
        _, grads = sl.nn.value_and_grad(loss_of)(model, x)
        optimizer.step(lr, model, grads.clip(1.0))
        average.update(model)

    step = sl.tensor.compile(update)
    model, optimizer, average = new_model(), sl.optim.AdamW(), sl.optim.WeightAverage(0.9)
    optimizer.group("*.bias", weight_decay=0.0, lr_factor=2.0)
    schedule, x = sl.optim.WarmupCosine(0.1, 3, 12), model.backend.tensor(INPUT_ARRAY)
    recompiles: list[int] = []
    for number in range(12):
        step(model, optimizer, average, x, schedule(number))
        recompiles.append(step.recompiles)
    assert set(recompiles[1:]) == {recompiles[1]}
    assert (optimizer.step_count, average.update_count) == (12, 12)
