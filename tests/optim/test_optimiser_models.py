"""Optimisers whose model is renamed, replaced, moved, or unfrozen after some steps."""

import copy

import numpy as np
import pytest

import seqloom as sl
from counted_calls import calls_of
from optimiser_steps import (
    BACKEND_NAMES,
    INPUT_ARRAY,
    new_model,
    plain_step,
    run,
    values_of,
)
from seqloom.errors import ArgumentError, DTypeError, RecordError

torch = pytest.importorskip("torch")


def make_twin(model):
    """Return a PyTorch network with the weights of a model."""
    parts = [torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)]
    for part, layer in zip(parts, model.layers, strict=True):
        part.weight.data[:] = torch.tensor(layer.weight.numpy())
        part.bias.data[:] = torch.tensor(layer.bias.numpy())
    return torch.nn.Sequential(*parts)


def torch_run(net, optimizer, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        (net(torch.tensor(INPUT_ARRAY)) ** 2).mean().backward()
        optimizer.step()


def assert_like(model, net):
    theirs = [each.detach().numpy() for each in net.parameters()]
    for ours, expected in zip(values_of(model), theirs, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-4, atol=2e-6)


# Parameters whose path changes ------------------------------------------------------------


class Wrapped(sl.nn.Module):
    """Module that contains a model, which adds a prefix to the parameter paths."""

    inner: sl.nn.Module

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


def test_momentum_continues_in_a_wrapped_model_as_in_pytorch(step, backend):
    ours = new_model(backend)
    theirs = make_twin(ours)
    optimizer = sl.optim.SGD(momentum=0.9)
    judge = torch.optim.SGD(theirs.parameters(), lr=0.05, momentum=0.9)
    run(step, ours, optimizer)
    wrapped = Wrapped(ours).bind(ours.backend, sl.Key(0))
    run(step, wrapped, optimizer)
    torch_run(theirs, judge, 6)
    assert_like(ours, theirs)
    paths = [path for path, _ in wrapped.parameters()]
    assert list(optimizer.to_record()) == [f"{path}.momentum" for path in paths]


def test_momentum_stays_with_parameters_that_swap_their_names(step):
    def make(first, second):
        return sl.nn.Sequential(first, second).bind("numpy", sl.Key(0))

    layers = [sl.nn.Linear(3, 3), sl.nn.Linear(3, 3)]
    model, optimizer = make(*layers), sl.optim.SGD(momentum=0.9)
    run(step, model, optimizer)
    before = optimizer.to_record()
    model, grads = _gradients(make(*reversed(layers)))
    optimizer.step(0.0, model, grads)
    after = optimizer.to_record()
    expected = 0.9 * before["layers.0.bias.momentum"] + grads.wrt(layers[0].bias).numpy()
    np.testing.assert_allclose(after["layers.1.bias.momentum"], expected, rtol=1e-5)


def _gradients(model):
    x = model.backend.tensor(INPUT_ARRAY)
    _, grads = sl.nn.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
    return model, grads


def test_optimiser_states_for_other_paths_are_rejected_at_the_first_step(step):
    model, optimizer = new_model(), sl.optim.AdamW()
    run(step, model, optimizer)
    other = sl.optim.AdamW().load_record(optimizer.to_record())
    wrapped = Wrapped(new_model()).bind("numpy", sl.Key(0))
    before = values_of(wrapped)
    message = (
        r"states for layers.0.weight, .* but this model has no such parameters; "
        r"for inner.layers.0.weight, .* would start at 0\. .*keys="
    )
    with pytest.raises(RecordError, match=message):
        run(step, wrapped, other, 1)
    for one, same in zip(values_of(wrapped), before, strict=True):
        np.testing.assert_array_equal(one, same)


def test_optimiser_states_resume_bitwise_at_renamed_paths(step):
    def train(steps, paths):
        model, optimizer = new_model().freeze("layers.0.*"), sl.optim.AdamW()
        run(step, model, optimizer, 2)
        run(step, model.unfreeze(), optimizer, 2)
        if paths is None:
            return run(step, model, optimizer, steps)
        other = sl.optim.AdamW().load_record(optimizer.to_record(), keys=paths)
        wrapped = Wrapped(new_model()).bind("numpy", sl.Key(0))
        wrapped.load_record(model.to_record(), keys=paths)
        return run(step, wrapped, other, steps)

    expected = values_of(train(3, None))
    for keys in ({"*": "inner.*"}, lambda path: f"inner.{path}"):
        for one, same in zip(values_of(train(3, keys)), expected, strict=True):
            np.testing.assert_array_equal(one, same)


def test_optimiser_states_that_keys_drops_restart_at_zero(step):
    model, optimizer = new_model(), sl.optim.SGD(momentum=0.9)
    run(step, model, optimizer)
    other = sl.optim.SGD(momentum=0.9)
    other.load_record(optimizer.to_record(), keys={"layers.1.*": None})
    assert list(other.to_record()) == ["layers.0.weight.momentum", "layers.0.bias.momentum"]
    run(step, model, other, 1)
    assert len(other.to_record()) == 4


def test_an_average_and_accumulated_gradients_follow_a_wrapped_model():
    model = new_model()
    average, sums = sl.optim.WeightAverage(), sl.optim.GradientsAccumulator()
    average.update(model)
    _, grads = _gradients(model)
    sums.accumulate(model, grads)
    bias = model.layers[0].bias
    first, gradient = bias.numpy(), grads.wrt(bias).numpy()
    bias.assign(first + 2)
    wrapped = Wrapped(model).bind("numpy", sl.Key(0))
    mean = average.apply_average(wrapped).inner.layers[0].bias.numpy()
    np.testing.assert_array_equal(mean, first)
    average.update(wrapped)
    mean = average.apply_average(wrapped).inner.layers[0].bias.numpy()
    np.testing.assert_allclose(mean, first + 1)
    np.testing.assert_allclose(sums.take(wrapped).wrt(bias).numpy(), gradient)


def test_an_average_for_other_paths_is_an_error():
    average = sl.optim.WeightAverage()
    average.update(new_model())
    other = sl.optim.WeightAverage().load_record(average.to_record())
    wrapped = Wrapped(new_model()).bind("numpy", sl.Key(0))
    with pytest.raises(RecordError, match=r"no values of inner.layers.0.weight"):
        other.apply_average(wrapped)
    other.load_record(average.to_record(), keys={"*": "inner.*"}).apply_average(wrapped)


def test_a_parameter_group_that_matches_no_path_is_rejected(step):
    # `Wrapped` adds the prefix only when the parameters are bound again.
    optimizer = sl.optim.SGD().group("inner.*", lr_factor=0.0)
    with pytest.raises(ArgumentError, match=r"'inner.\*' matches no parameter"):
        run(step, Wrapped(new_model()), optimizer, 1)


# Parameters that are unfrozen later ------------------------------------------------------


def test_parameters_that_are_frozen_and_unfrozen_match_pytorch(step, backend):
    ours = new_model(backend)
    theirs = make_twin(ours)
    optimizer = sl.optim.AdamW(weight_decay=0.1)
    judge = torch.optim.AdamW(theirs.parameters(), lr=0.05, weight_decay=0.1)
    for frozen in (0, None, 1, None):
        ours.unfreeze()
        theirs.requires_grad_(requires_grad=True)
        if frozen is not None:
            ours.freeze(f"layers.{frozen}.*")
            theirs[frozen].requires_grad_(requires_grad=False)
        run(step, ours, optimizer, 2)
        torch_run(theirs, judge, 2)
        assert_like(ours, theirs)
    assert optimizer.step_count == 8


def test_a_record_keeps_step_counts_of_later_parameters(step, tmp_path):
    def train(between):
        model, optimizer = new_model().freeze("*.weight"), sl.optim.AdamW()
        run(step, model, optimizer)
        run(step, model.unfreeze(), optimizer, 1)
        model, optimizer = between(model, optimizer)
        return run(step, model, optimizer, 2)

    def reload(model, optimizer):
        path = tmp_path / "states.safetensors"
        optimizer.to_record().save(path)
        again = new_model(seed=1).load_record(model.to_record())
        return again, sl.optim.AdamW().load_record(sl.record.load(path))

    whole, halves = train(lambda *both: both), train(reload)
    for (_, one), (_, other) in zip(whole.parameters(), halves.parameters(), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_an_optimiser_resumes_from_a_record_with_a_common_step_count():
    model, optimizer = new_model(), sl.optim.AdamW()
    record = run(plain_step, model, optimizer).to_record()
    states = optimizer.to_record()
    assert states.metadata == {"step_count": 3}
    again = new_model(seed=1).load_record(record)
    run(plain_step, again, sl.optim.AdamW().load_record(states))
    run(plain_step, model, optimizer)
    np.testing.assert_array_equal(
        again.layers[0].weight.numpy(), model.layers[0].weight.numpy()
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"step_count": -1},
        {"step_count": "3"},
        {"step_count": 3, "step_counts": [1]},
        {"step_count": 3, "step_counts": {"weight": 0.5}},
    ],
)
def test_invalid_step_counts_are_rejected(facts):
    with pytest.raises(RecordError, match="integers from 0 up"):
        sl.optim.AdamW().load_record(sl.record.Record({}, metadata=facts))


def test_a_failed_step_is_not_counted():
    model, optimizer = new_model(), sl.optim.AdamW()
    run(plain_step, model, optimizer)
    wide = model.backend.tensor(INPUT_ARRAY.astype("f8"))
    with pytest.raises(DTypeError, match="float64"):
        plain_step(model, optimizer, wide)
    assert (optimizer.step_count, optimizer.to_record().metadata) == (3, {"step_count": 3})


# Another model ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "optimizer", [sl.optim.AdamW(), sl.optim.SGD(momentum=0.9)], ids=["AdamW", "SGD"]
)
def test_a_second_model_for_an_optimiser_is_rejected_and_unchanged(step, optimizer):
    optimizer, one, other = copy.deepcopy(optimizer), new_model(), new_model(seed=1)
    run(step, one, optimizer)
    run(step, new_model(seed=2), sl.optim.AdamW())  # reuses the compiled step
    before = other.layers[0].weight.numpy()
    with pytest.raises(ArgumentError, match="one optimiser for each model"):
        run(step, other, optimizer)
    np.testing.assert_array_equal(other.layers[0].weight.numpy(), before)
    assert optimizer.step_count == 3
    run(step, one, optimizer)


def test_a_model_that_shares_a_layer_with_another_is_rejected(step):
    model, optimizer = new_model(), sl.optim.AdamW()
    run(step, model, optimizer)
    other = new_model(seed=1)
    other.layers[0] = model.layers[0]
    with pytest.raises(ArgumentError, match=r"layers\.1\.weight"):
        run(step, other, optimizer)


def test_an_optimiser_rejects_another_model_after_its_first_was_deleted(step):
    optimizer = sl.optim.AdamW()
    run(step, new_model(), optimizer)
    with pytest.raises(ArgumentError, match="one optimiser for each model"):
        run(step, new_model(seed=1), optimizer)


def test_an_optimiser_with_a_loaded_record_may_have_another_model(step):
    model, optimizer, again = new_model(), sl.optim.AdamW(), new_model(seed=1)
    run(step, model, optimizer)
    again.load_record(model.to_record())
    run(step, again, sl.optim.AdamW().load_record(optimizer.to_record()))
    run(step, model, optimizer)
    np.testing.assert_array_equal(
        again.layers[0].weight.numpy(), model.layers[0].weight.numpy()
    )


def test_training_continues_with_copies_of_model_and_optimiser(step):
    model, optimizer = new_model(), sl.optim.AdamW()
    run(step, model, optimizer)
    twin, its = copy.deepcopy((model, optimizer))
    run(step, twin, its)
    run(step, model, optimizer)
    np.testing.assert_array_equal(
        twin.layers[0].weight.numpy(), model.layers[0].weight.numpy()
    )


# A model that is moved -------------------------------------------------------------------

BACKEND_MOVES = [
    *[("numpy", name, kind) for name in BACKEND_NAMES for kind in ("float32", "bfloat16")],
    *[("numpy", name, "float64") for name in ("numpy", "torch")],
    ("torch", "numpy", "float16"),
    ("torch", "jax", "float32"),
    ("jax", "numpy", "float32"),
    ("jax", "torch", "bfloat16"),
]


@pytest.mark.parametrize(("origin", "name", "kind"), BACKEND_MOVES)
def test_the_state_of_an_optimiser_moves_to_another_backend_with_its_model(
    origin, name, kind
):
    for each in (origin, name):
        pytest.importorskip(each)
    model, optimizer = new_model(origin), sl.optim.AdamW()
    run(plain_step, model, optimizer)
    run(plain_step, model.to(name, kind), optimizer)
    assert {each.dtype.name for each in optimizer.to_record().values()} == {kind}
    expected = run(plain_step, new_model("numpy"), sl.optim.AdamW(), 6)
    loose = {"float16": 2e-2, "bfloat16": 1e-1}.get(kind, 1e-5)
    np.testing.assert_allclose(
        model.layers[0].weight.numpy().astype("f4"),
        expected.layers[0].weight.numpy(),
        atol=loose,
    )


@pytest.mark.parametrize(
    ("origin", "name", "kind"),
    [
        ("numpy", "torch", "float32"),
        ("torch", "numpy", "float64"),
        ("numpy", "jax", "float32"),
        ("jax", "numpy", "float32"),
        ("numpy", "numpy", "bfloat16"),
    ],
)
def test_optimiser_state_moves_with_its_model_in_a_compiled_step(origin, name, kind):
    for each in (origin, name):
        pytest.importorskip(each)
    step = sl.tensor.compile(plain_step)
    model, optimizer = new_model(origin), sl.optim.AdamW()
    run(step, model, optimizer)
    run(step, model.to(name, kind), optimizer)
    expected = run(plain_step, new_model("numpy"), sl.optim.AdamW(), 6)
    np.testing.assert_allclose(
        model.layers[0].weight.numpy().astype("f4"),
        expected.layers[0].weight.numpy(),
        atol=1e-1 if kind == "bfloat16" else 1e-5,
    )
    assert optimizer.step_count == 6


def test_a_float64_model_and_its_state_move_to_a_32_bit_backend():
    pytest.importorskip("jax")
    model, optimizer = new_model("numpy", dtype="float64"), sl.optim.AdamW()
    run(plain_step, model, optimizer)
    run(plain_step, model.to("jax", "float32"), optimizer)
    expected = run(plain_step, new_model("numpy"), sl.optim.AdamW(), 6)
    np.testing.assert_allclose(
        model.layers[0].weight.numpy(), expected.layers[0].weight.numpy(), atol=1e-5
    )


def test_the_cost_of_the_first_step_is_linear_in_the_parameters():
    def first_step(count):
        parts = [sl.nn.Linear(3, 3) for _ in range(count)]
        model = sl.nn.Sequential(*parts).bind("numpy", sl.Key(0))
        _, grads = sl.nn.value_and_grad(lambda model: model(INPUT_ARRAY).sum())(model)
        return calls_of(lambda: sl.optim.AdamW().step(0.1, model, grads))

    assert first_step(120) < 4.4 * first_step(30)
