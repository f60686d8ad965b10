"""Specification 3: one tensor over any array library.

Deviation from the specification: tensors have no ``.grad``, and ``no_grad`` does not
exist. Gradients are returned as values, and parameters are on the backend that
``Autodiff`` wraps. Gradients are released at the end of the scope that created them, or
by Python when nothing refers to them.
"""

import gc
import json
import threading
from typing import Any

import jax
import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom.errors import SeqloomError
from seqloom.nn import functional as F
from torch_engine import TorchEngine

BACKEND_NAMES = ["numpy", "torch", "jax"]
RNG = np.random.default_rng(5)
INPUT_ARRAY = RNG.normal(size=(4, 6)).astype(np.float32)
WEIGHT_ARRAY = RNG.normal(size=(3, 6)).astype(np.float32)


@pytest.fixture(params=BACKEND_NAMES)
def backend(request):
    return sl.tensor.backend(request.param)


@pytest.fixture
def tracked(backend):
    return sl.tensor.Autodiff(backend)


def network(x, w):
    return F.gelu(x @ w.T).sum()


def expected_gradient():
    w = torch.tensor(WEIGHT_ARRAY, requires_grad=True)
    torch.nn.functional.gelu(torch.tensor(INPUT_ARRAY) @ w.T).sum().backward()
    return w.grad.numpy()


def test_a_function_has_the_values_of_pytorch_on_every_backend(backend):
    found = F.softmax(backend.tensor(INPUT_ARRAY) @ backend.tensor(WEIGHT_ARRAY).T).numpy()
    wanted = torch.softmax(
        torch.tensor(INPUT_ARRAY) @ torch.tensor(WEIGHT_ARRAY).T, -1
    ).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_autodiff_over_any_backend_has_the_gradient_of_pytorch(tracked):
    w = tracked.tensor(WEIGHT_ARRAY, requires_grad=True)
    gradients = network(tracked.tensor(INPUT_ARRAY), w).backward()
    np.testing.assert_allclose(gradients.wrt(w).numpy(), expected_gradient(), rtol=1e-4)


def test_the_pytorch_engine_can_implement_the_autodiff_interface():
    engine = TorchEngine(sl.tensor.backend("torch"))
    w = engine.tensor(WEIGHT_ARRAY, requires_grad=True)
    gradients = network(engine.tensor(INPUT_ARRAY), w).backward()
    np.testing.assert_allclose(gradients.wrt(w).numpy(), expected_gradient(), rtol=1e-4)


def test_autodiff_of_autodiff_computes_a_second_derivative(backend):
    x, v = backend.tensor([3.0]), backend.tensor([1.0])
    second = sl.tensor.grad(sl.tensor.grad(lambda x: x**3))
    assert second(x[0]).item() == pytest.approx(18.0)
    _, product = sl.tensor.hvp(lambda x: (x**3).sum(), x, v)
    assert product.numpy().tolist() == pytest.approx([18.0])


def test_nested_derivatives_do_not_mix_their_variables(backend):
    # The derivative of x * d(x + y)/dy by x is 1.
    y = backend.tensor(2.0)
    found = sl.tensor.grad(lambda x: x * sl.tensor.grad(lambda y: x + y)(y))
    assert found(backend.tensor(3.0)).item() == 1.0


def test_a_tensor_is_immutable_and_copies_its_input(backend):
    array = np.ones(3, np.float32)
    x = backend.tensor(array)
    array[:] = 7
    assert x.numpy().tolist() == [1, 1, 1]
    with pytest.raises((TypeError, SeqloomError)):
        x[0] = 2.0


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(None, None, 2), (slice(None), 1), [0, 2], Ellipsis, (0, None)],
    ids=str,
)
def test_an_index_selects_the_same_elements_as_in_numpy(backend, index):
    np.testing.assert_array_equal(
        backend.tensor(INPUT_ARRAY)[index].numpy(), INPUT_ARRAY[index]
    )


def test_dtypes_are_promoted_like_in_the_array_api_standard(backend):
    one = backend.tensor(np.ones(2, np.int32)) + backend.tensor(np.ones(2, np.int8))
    assert str(one.dtype) == "int32"


def test_dlpack_exports_and_imports_tensors(backend):
    x = backend.tensor(INPUT_ARRAY)
    assert np.array_equal(np.asarray(x), INPUT_ARRAY)
    if "torch" in backend.name:
        assert torch.from_dlpack(x).shape == (4, 6)
    assert (
        sl.tensor.from_dlpack(INPUT_ARRAY.copy()).numpy().tolist() == INPUT_ARRAY.tolist()
    )


def test_the_repr_contains_shape_dtype_and_values(backend):
    text = repr(backend.tensor([1.5, 2.0]))
    assert "float32" in text
    assert "1.5" in text


def test_an_error_names_operation_and_shapes(backend):
    with pytest.raises(SeqloomError, match=r"(?s)matmul.*6|6.*matmul"):
        backend.tensor(INPUT_ARRAY) @ backend.tensor(INPUT_ARRAY)


def test_a_matrix_product_does_not_broadcast_an_axis_of_length_1(backend):
    from seqloom.errors import ShapeError

    xp = backend.tensor(INPUT_ARRAY).__array_namespace__()
    with pytest.raises(ShapeError):
        xp.vecdot(xp.ones(3), xp.ones(1))
    with pytest.raises(ShapeError):
        xp.tensordot(xp.ones((2, 3)), xp.ones((1, 2)), axes=1)


def test_ties_in_topk_are_in_the_order_of_positions(backend):
    _, places = sl.tensor.topk(backend.tensor([1.0, 2.0, 2.0, 1.0, 2.0]), 4)
    assert places.numpy().tolist() == [1, 2, 4, 0]


def test_random_numbers_equal_those_of_jax_on_every_backend(backend):
    key = sl.Key(7)
    ours = np.asarray(backend.random_bits(key, (5,)))
    theirs = jax.random.bits(
        jax.random.wrap_key_data(jax.numpy.asarray(key.words, "uint32")), (5,)
    )
    np.testing.assert_array_equal(ours, np.asarray(theirs))


def test_checkpoint_gives_the_gradient_of_the_plain_call(tracked):
    w = tracked.tensor(WEIGHT_ARRAY, requires_grad=True)
    again = sl.tensor.checkpoint(network)
    found = again(tracked.tensor(INPUT_ARRAY), w).backward().wrt(w).numpy()
    np.testing.assert_allclose(found, expected_gradient(), rtol=1e-4)


def test_stop_gradient_and_custom_gradients_take_effect(tracked):
    x = tracked.tensor([2.0], requires_grad=True)
    assert (x * sl.tensor.stop_gradient(x)).sum().backward().wrt(x).item() == 2.0
    double = sl.tensor.custom_gradient(
        lambda x: x * 2, lambda _args, _out, grad: (grad * 10,)
    )
    assert double(x).sum().backward().wrt(x).item() == 10.0


def test_a_jacobian_equals_that_of_pytorch(backend):
    found = sl.tensor.jacobian(F.softmax)(backend.tensor(INPUT_ARRAY[0]))
    wanted = torch.autograd.functional.jacobian(
        lambda x: torch.softmax(x, -1), torch.tensor(INPUT_ARRAY[0])
    )
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_check_finite_names_the_operation_and_the_line(backend):
    with sl.tensor.check_finite(), pytest.raises(SeqloomError, match=r"log.*test_tensors"):
        sl.tensor.log(backend.tensor([-1.0]))


def make_step():
    @sl.tensor.compile
    def step(model, optimizer, lr, x, y):
        loss, gradients = sl.nn.value_and_grad(lambda m, x, y: F.mse_loss(m(x), y))(
            model, x, y
        )
        optimizer.step(lr, model, gradients)
        return loss

    return step


@pytest.fixture
def parts(backend):
    model = sl.nn.Sequential(sl.nn.Linear(6, 5), sl.nn.Tanh(), sl.nn.Linear(5, 1))
    bound = model.bind(backend, sl.Key(0))
    x, y = backend.tensor(INPUT_ARRAY), backend.tensor(INPUT_ARRAY[:, :1].copy())
    return bound, sl.optim.AdamW(), x, y


def test_a_compiled_step_equals_the_eager_step(backend, parts):
    model, optimizer, x, y = parts
    step = make_step()
    found = [step(model, optimizer, 0.01, x, y).item() for _ in range(4)]
    plain = sl.nn.Sequential(sl.nn.Linear(6, 5), sl.nn.Tanh(), sl.nn.Linear(5, 1))
    again, other, wanted = plain.bind(backend, sl.Key(0)), sl.optim.AdamW(), []
    for _ in range(4):
        loss, gradients = sl.nn.value_and_grad(lambda m, x, y: F.mse_loss(m(x), y))(
            again, x, y
        )
        other.step(0.01, again, gradients)
        wanted.append(loss.item())
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_the_learning_rate_is_an_input_of_a_compiled_step(parts):
    model, optimizer, x, y = parts
    step = make_step()
    step(model, optimizer, 0.01, x, y)
    before = step(model, optimizer, 0.0, x, y).item()
    assert step(model, optimizer, 0.0, x, y).item() == pytest.approx(before)


def test_a_compiled_step_uses_changed_values_outside_the_step(backend):
    class Scale:
        beta = 2.0

        def __call__(self, x):
            return x * self.beta

    scale = Scale()
    step = sl.tensor.compile(lambda x: scale(x) + 1)
    assert step(backend.tensor([1.0])).item() == 3.0
    scale.beta = 5.0
    assert step(backend.tensor([1.0])).item() == 6.0


def test_reading_a_tensor_value_in_a_compiled_step_is_an_error(backend):
    step = sl.tensor.compile(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(SeqloomError, match="test_tensors"):
        step(backend.tensor([1.0]))


def test_compilation_can_be_disabled(backend):
    step = sl.tensor.compile(lambda x: x if x.sum() > 0 else -x, enabled=False)
    assert step(backend.tensor([1.0])).item() == 1.0


def test_a_scope_releases_its_tensors_and_later_use_is_an_error(backend):
    with sl.tensor.scope():
        kept, gone = (
            (backend.tensor(INPUT_ARRAY) * 2).keep(),
            backend.tensor(INPUT_ARRAY) * 3,
        )
    assert kept.shape == (4, 6)
    with pytest.raises(SeqloomError, match="test_tensors"):
        gone.numpy()


def test_memory_is_reported_by_purpose(backend):
    model = sl.nn.Linear(100, 100).bind(backend, sl.Key(0))
    model(backend.tensor(np.ones((1, 100), np.float32)))
    with sl.tensor.scope():
        made = backend.tensor(np.ones((50, 100), np.float32)) * 2
        report = sl.tensor.memory().by_purpose
        assert report["parameters"] >= 4 * 100 * 100
        assert report["intermediates"] >= 4 * 50 * 100
    del model, made


def test_an_exported_array_keeps_its_values_during_later_steps(backend):
    with sl.tensor.scope():
        array = np.asarray(backend.tensor(INPUT_ARRAY) + 1)
    for _ in range(20):
        with sl.tensor.scope():
            _ = backend.tensor(INPUT_ARRAY) * 9
    np.testing.assert_array_equal(array, INPUT_ARRAY + 1)


def test_a_profile_counts_calls_and_writes_a_trace(tmp_path):
    profile = sl.tensor.Profile(sl.tensor.backend("numpy"))
    x = sl.tensor.Autodiff(profile).tensor(INPUT_ARRAY, requires_grad=True)
    F.relu(x).sum().backward()
    names = {operation.name for operation in profile.operations}
    assert {"relu", "relu_grad"} <= names
    profile.trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_eight_trainings_in_threads_equal_sequential_trainings(backend):
    def train(results, place):
        loss: Any = None
        model = sl.nn.Linear(6, 1).bind(backend, sl.Key(place))
        optimizer = sl.optim.SGD()
        for _ in range(3):
            loss, gradients = sl.nn.value_and_grad(lambda m, x: (m(x) ** 2).sum())(
                model, backend.tensor(INPUT_ARRAY)
            )
            optimizer.step(0.01, model, gradients)
        results[place] = loss.item()

    together: dict[int, float] = {}
    threads = [threading.Thread(target=train, args=(together, n)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone: dict[int, float] = {}
    for place in range(8):
        train(alone, place)
    assert together == alone


def test_discarded_forward_passes_do_not_accumulate_memory():
    tracked = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
    w = tracked.tensor(WEIGHT_ARRAY, requires_grad=True)
    network(tracked.tensor(INPUT_ARRAY), w)
    gc.collect()
    before = sl.tensor.memory().by_purpose["intermediates"]
    for _ in range(200):
        network(tracked.tensor(INPUT_ARRAY), w)
    gc.collect()
    assert sl.tensor.memory().by_purpose["intermediates"] <= before


def test_a_packed_sequence_does_not_attend_to_its_neighbour(backend):
    rows = RNG.normal(size=(7, 1, 4)).astype(np.float32)
    poisoned = rows.copy()
    poisoned[3:] = np.nan
    bounds = backend.tensor(np.array([0, 3, 7], np.int32))

    def attend(values):
        x: Any = backend.tensor(values)
        return np.asarray(F.attention_varlen(x, x, x, bounds, 4))[:3]

    np.testing.assert_array_equal(attend(rows), attend(poisoned))


def test_float64_on_jax_without_x64_is_an_error_that_names_the_switch():
    if jax.config.read("jax_enable_x64"):
        pytest.skip("jax_enable_x64 is on")
    with pytest.raises(SeqloomError, match="jax_enable_x64"):
        sl.tensor.backend("jax").tensor(np.ones(2, np.float64), dtype="float64")


def test_an_unknown_backend_is_an_error_that_lists_all_names():
    with pytest.raises(SeqloomError, match="numpy"):
        sl.tensor.backend("numpie")


def test_an_integer_range_beyond_its_dtype_is_an_error(backend):
    xp = backend.tensor(INPUT_ARRAY).__array_namespace__()
    with pytest.raises(SeqloomError, match="int8"):
        xp.arange(129, dtype=xp.int8)


def test_einsum_equals_that_of_pytorch(backend):
    found = sl.tensor.einsum(
        "ij,kj->ik", backend.tensor(INPUT_ARRAY), backend.tensor(WEIGHT_ARRAY)
    ).numpy()
    wanted = torch.einsum(
        "ij,kj->ik", torch.tensor(INPUT_ARRAY), torch.tensor(WEIGHT_ARRAY)
    ).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_values_are_set_and_added_at_indices_in_a_new_tensor(backend):
    x = backend.tensor([1.0, 2.0, 3.0])
    assert x.at[1].set(9.0).numpy().tolist() == [1, 9, 3]
    assert x.at[[0, 0]].add(backend.tensor([1.0, 1.0])).numpy().tolist() == [3, 2, 3]
    assert x.numpy().tolist() == [1, 2, 3]


def test_sorting_is_stable(backend):
    x = backend.tensor([2.0, 1.0, 2.0, 1.0])
    xp = x.__array_namespace__()
    assert xp.argsort(x).numpy().tolist() == [1, 3, 0, 2]
    assert xp.argsort(x, descending=True).numpy().tolist() == [0, 2, 1, 3]


def test_a_label_or_index_out_of_range_is_an_error_on_every_backend(backend):
    with pytest.raises(SeqloomError):
        F.cross_entropy(backend.tensor([[1.0, 2.0]]), backend.tensor([2]))
    with pytest.raises(SeqloomError):
        F.embedding(backend.tensor([7]), backend.tensor(WEIGHT_ARRAY))


def test_dropout_is_a_function_of_its_key(backend):
    x = backend.tensor(np.ones((50,), np.float32))
    one, same, other = (F.dropout(x, 0.5, sl.Key(n)).numpy() for n in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_step_compiles_one_more_program_for_a_new_shape(backend):
    step = sl.tensor.compile(lambda x: x * 2 + 1)
    for size in (2, 2, 3):
        step(backend.tensor(np.ones(size, np.float32)))
    assert step.recompiles == 1


def test_a_tensor_can_forbid_reductions_over_an_axis(backend):
    with pytest.raises(SeqloomError):
        backend.tensor(INPUT_ARRAY).sum(axis=2)


def test_the_array_api_namespace_accepts_tensors(backend):
    xp = backend.tensor(INPUT_ARRAY).__array_namespace__()
    assert xp.mean(xp.asarray([1.0, 3.0])).item() == 2.0
    assert isinstance(xp.meshgrid(xp.ones(2), xp.ones(3)), tuple)
