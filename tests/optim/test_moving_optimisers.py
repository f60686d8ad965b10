"""The state of every optimiser is moved with its model to another backend or dtype."""

import numpy as np
import pytest

import seqloom as sl
from optimiser_steps import OPTIMISER_FUNCTIONS, new_model, plain_step, run, values_of
from seqloom.errors import ArgumentError

pytest.importorskip("torch")

BACKEND_MOVES = [
    ("numpy", "torch", "float32"),
    ("torch", "numpy", "float64"),
    ("numpy", "numpy", "float16"),
    ("numpy", "torch", "bfloat16"),
    *(
        pytest.param(*move, marks=pytest.mark.soak)
        for move in (
            ("torch", "numpy", "float32"),
            ("numpy", "numpy", "float64"),
            ("numpy", "torch", "float64"),
            ("numpy", "torch", "float16"),
            ("torch", "torch", "float64"),
            ("torch", "numpy", "bfloat16"),
            ("numpy", "jax", "float32"),
            ("jax", "numpy", "float64"),
            ("jax", "torch", "bfloat16"),
        )
    ),
]
LEARNING_RATES = [0.02] * 3
DTYPES_OF_32_BITS_OR_MORE = {"float32", "float64"}


def cast(record, kind):
    """Convert the floats of a record to another dtype."""
    like = sl.tensor.backend("numpy").zeros((), dtype=kind).dtype
    arrays = {
        path: array if array.dtype.kind in "iub" else np.asarray(array).astype(like)
        for path, array in record.items()
    }
    return sl.record.Record(arrays, metadata=record.metadata)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize(("origin", "name", "kind"), BACKEND_MOVES)
@pytest.mark.parametrize("optimiser", OPTIMISER_FUNCTIONS)
def test_a_moved_run_equals_a_run_started_on_the_new_backend(
    optimiser, origin, name, kind, compiled
):
    for library in (origin, name):
        pytest.importorskip(library)
    if compiled and name != "numpy":
        pytest.skip("the compilers of libraries are slow; other tests have them")
    make = OPTIMISER_FUNCTIONS[optimiser]
    model, optimizer = new_model(origin), make()
    run(plain_step, model, optimizer, 3, LEARNING_RATES)
    there = new_model(name, dtype=kind).load_record(cast(model.to_record(), kind))
    its = make().load_record(cast(optimizer.to_record(), kind))
    step = sl.tensor.compile(plain_step, enabled=compiled)
    run(step, model.to(name, kind), optimizer, 3, LEARNING_RATES)
    run(plain_step, there, its, 3, LEARNING_RATES)
    rtol = {"float32": 1e-5, "float64": 1e-7}.get(kind, 2e-2)
    for one, other in zip(values_of(model), values_of(there), strict=True):
        assert one.dtype.name == kind
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol / 10)
    if kind in DTYPES_OF_32_BITS_OR_MORE:
        whole = values_of(
            run(plain_step, new_model("numpy"), make(), 6, LEARNING_RATES * 2)
        )
        for one, other in zip(values_of(model), whole, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name", [n for n in OPTIMISER_FUNCTIONS if n != "sgd without state"]
)
def test_every_optimiser_rejects_a_second_model_without_changing_it(name):
    optimizer, other = OPTIMISER_FUNCTIONS[name](), new_model(seed=1)
    run(plain_step, new_model(), optimizer, 1)
    before = values_of(other)
    with pytest.raises(ArgumentError, match="one optimiser for each model"):
        run(plain_step, other, optimizer, 1)
    for one, old in zip(values_of(other), before, strict=True):
        np.testing.assert_array_equal(one, old)


@pytest.mark.parametrize("name", OPTIMISER_FUNCTIONS)
def test_a_parameter_unfrozen_later_is_updated_like_a_new_one(name):
    late, alone = new_model(), new_model().freeze("layers.0.*")
    optimizer, its = OPTIMISER_FUNCTIONS[name](), OPTIMISER_FUNCTIONS[name]()
    for number in range(4):
        for model, used in ((late, optimizer), (alone, its)):
            params = model.parameters() if number > 1 else model.parameters()[:2]
            grads = {p.id: np.full(p.shape, 0.1 * (number - 1.3), "f4") for _, p in params}
            if model is alone:
                grads = {p.id: grads[p.id] for _, p in params[2:]}
            if grads:
                used.step(0.02, model, sl.tensor.Gradients(grads, model.backend))
    for one, other in zip(values_of(late)[2:], values_of(alone)[2:], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_zero_gradient_gives_no_nan_in_half_precision(backend, kind):
    pytest.importorskip(backend)
    for make in OPTIMISER_FUNCTIONS.values():
        model, optimizer = new_model(backend, dtype=kind), make()
        zeros = {
            p.id: p.bound_backend.zeros(p.shape, dtype=kind) for _, p in model.parameters()
        }
        optimizer.step(0.02, model, sl.tensor.Gradients(zeros, model.backend))
        assert all(np.isfinite(each.astype("f4")).all() for each in values_of(model))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_a_weight_average_moves_to_another_backend_with_its_model(kind):
    model, average = new_model(), sl.optim.WeightAverage(0.999)
    average.update(model)
    before = values_of(model)
    average.update(model.to("torch", kind))
    for each in model.parameters():
        each[1].assign(each[1].numpy() + 1)
    average.update(model)
    record = average.to_record()
    wide = "float64" if kind == "float64" else "float32"
    assert {array.dtype.name for array in record.values()} == {wide}
    for found, old in zip(record.values(), before, strict=True):
        np.testing.assert_allclose(found, old + 0.001, atol=6e-4)
        assert not np.array_equal(found, old)


def test_shared_parameters_are_updated_as_in_pytorch():
    import torch

    part = sl.nn.Linear(3, 3)
    model = sl.nn.Sequential(part, part).bind("numpy", sl.Key(0))
    theirs = torch.nn.Linear(3, 3)
    theirs.load_state_dict({n: torch.tensor(p.numpy()) for n, p in part.parameters()})
    judge = torch.optim.AdamW(theirs.parameters(), lr=0.05)
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")
    for _ in range(5):
        judge.zero_grad()
        (theirs(theirs(torch.tensor(x))) ** 2).mean().backward()
        judge.step()
    run(plain_step, model, sl.optim.AdamW(), 5)
    np.testing.assert_allclose(part.weight.numpy(), theirs.weight.detach(), rtol=1e-4)
