"""Tests of value_and_grad: tracked values, nested calls and rejected results."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import seqloom as sl

NUMPY = sl.tensor.backend("numpy", num_threads=1)
INPUT_ARRAY = np.array([[1.0, 2.0]], np.float32)


def layer(backend=NUMPY):
    return sl.nn.Linear(2, 1).bind(backend, sl.Key(0))


def square(model, x):
    return (model(x) ** 2).sum()


def test_inputs_get_gradients_if_requested():
    model, x = layer(), NUMPY.tensor(INPUT_ARRAY)
    _, grads = sl.nn.value_and_grad(square, inputs=(0,))(model, x)
    out = model(x).item()
    np.testing.assert_allclose(
        grads.wrt(x).numpy(), 2 * out * model.weight.numpy(), rtol=1e-6
    )
    np.testing.assert_allclose(
        grads.wrt(model.weight).numpy(), 2 * out * INPUT_ARRAY, rtol=1e-6
    )


def test_input_gradients_are_separate_from_parameter_gradients():
    model = layer()
    _, grads = sl.nn.value_and_grad(square, inputs=(0,))(model, NUMPY.tensor(INPUT_ARRAY))
    assert len(grads) == 2


def test_a_frozen_module_still_gives_input_gradients():
    model, x = layer(), NUMPY.tensor(INPUT_ARRAY)
    for _, param in model.parameters():
        param.trainable = False
    _, grads = sl.nn.value_and_grad(square, inputs=(0,))(model, x)
    assert grads.wrt(x).shape == (1, 2)


def test_an_input_that_is_not_a_tensor_is_an_error():
    with pytest.raises(sl.errors.ArgumentError, match="inputs=0"):
        sl.nn.value_and_grad(square, inputs=(0,))(layer(), INPUT_ARRAY)


def test_parameters_on_two_backends_are_an_error_that_names_both():
    model = sl.nn.Sequential(layer(), layer(sl.tensor.backend("numpy", num_threads=2)))
    with pytest.raises(sl.errors.BackendError, match="numpy and on numpy"):
        sl.nn.value_and_grad(lambda m: m.layers[0].weight.value.sum())(model)


def test_additional_results_of_a_loss_are_on_the_backend_of_the_module():
    loss, out, grads = sl.nn.value_and_grad(lambda m, x: (square(m, x), m(x)))(
        layer(), NUMPY.tensor(INPUT_ARRAY)
    )
    assert (loss.backend, out.backend, grads.backend) == (NUMPY, NUMPY, NUMPY)


@pytest.mark.parametrize(
    "view",
    [
        lambda weight: weight,
        lambda weight: weight.reshape(-1),
        lambda weight: sl.tensor.apply("stack", [weight[0]]),
    ],
    ids=["itself", "reshaped", "stacked"],
)
def test_a_result_that_shares_parameter_memory_survives_the_next_step(view):
    model = layer()
    step = sl.nn.value_and_grad(lambda m, x: (square(m, x), view(m.weight.value)))
    _, kept, grads = step(model, NUMPY.tensor(INPUT_ARRAY))
    before = kept.numpy().copy()
    sl.optim.AdamW().step(0.1, model, grads)
    np.testing.assert_array_equal(kept.numpy(), before)


def test_a_parameter_changed_inside_the_loss_is_named():
    def writing(model, x):
        model.weight.assign(model.weight.numpy() * 2)
        return square(model, x)

    model = sl.nn.Sequential(sl.nn.Linear(2, 1)).bind("numpy", sl.Key(0))
    with pytest.raises(sl.errors.GradientError, match=r"layers\.0\.weight was changed"):
        sl.nn.value_and_grad(lambda m, x: writing(m.layers[0], x))(
            model, NUMPY.tensor(INPUT_ARRAY)
        )


def test_nested_calls_give_products_with_second_derivatives():
    model, x = layer(), NUMPY.tensor(INPUT_ARRAY)

    def slope(model):
        _, grads = sl.nn.value_and_grad(square)(model, x)
        return grads.wrt(model.weight).sum()

    _, grads = sl.nn.value_and_grad(slope)(model)
    # d/dw of sum(2 (w x + b) x) is 2 sum(x) x.
    np.testing.assert_allclose(
        grads.wrt(model.weight).numpy(), 2 * 3.0 * INPUT_ARRAY, rtol=1e-6
    )
    np.testing.assert_allclose(grads.wrt(model.bias).numpy(), [2 * 3.0], rtol=1e-6)


def test_a_gradient_of_the_input_can_be_part_of_the_loss():
    model, x = layer(), NUMPY.tensor(INPUT_ARRAY)

    def penalty(model):
        by_x = sl.tensor.grad(lambda x: model(x).sum())(x)
        return (by_x * by_x).sum()

    _, grads = sl.nn.value_and_grad(penalty)(model)
    np.testing.assert_allclose(
        grads.wrt(model.weight).numpy(), 2 * model.weight.numpy(), rtol=1e-6
    )


def test_no_operation_is_recorded_after_value_and_grad_returns():
    model = layer()
    sl.nn.value_and_grad(square)(model, NUMPY.tensor(INPUT_ARRAY))
    assert model(NUMPY.tensor(INPUT_ARRAY)).backend is NUMPY


def test_each_thread_records_only_its_own_parameters():
    def train(seed):
        model = sl.nn.Linear(2, 1).bind(NUMPY, sl.Key(seed))
        return [
            sl.nn.value_and_grad(square)(model, NUMPY.tensor(INPUT_ARRAY))[1].norm()
            for _ in range(20)
        ]

    alone = [train(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(train, range(4))) == alone


@pytest.mark.parametrize("kind", [list, lambda several: dict(enumerate(several))])
def test_value_and_grad_rejects_a_list_of_results(kind):
    x = NUMPY.tensor(INPUT_ARRAY)
    with pytest.raises(
        sl.errors.GradientError, match=r"a (list|dict).*tuple.*\(loss, other\)"
    ):
        sl.nn.value_and_grad(lambda model, x: kind([model(x).sum(), x]))(layer(), x)


def new_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("kind", ["a new thread", "a pool"])
def test_loss_terms_computed_in_another_thread_have_gradients(library, kind):
    pytest.importorskip(library)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # The thread starts before the call of value_and_grad.

        def elsewhere(function):
            return (
                new_thread(function) if kind != "a pool" else pool.submit(function).result()
            )

        model = sl.nn.Sequential(
            layer(library), sl.nn.Linear(1, 1).bind(library, sl.Key(1))
        )
        x = model.backend.tensor(INPUT_ARRAY)

        def loss(model, x):
            hidden = elsewhere(lambda: model.layers[0](x))
            return square(model.layers[1], hidden)

        _, grads = sl.nn.value_and_grad(loss)(model, x)
    _, wanted = sl.nn.value_and_grad(square)(model, x)
    for _, param in model.parameters():
        np.testing.assert_array_equal(grads.wrt(param).numpy(), wanted.wrt(param).numpy())


def test_a_thread_started_by_a_compiled_step_cannot_read_parameters():
    model = layer()

    def read(found):
        try:
            model(NUMPY.tensor(INPUT_ARRAY))
        except sl.errors.CaptureError as error:
            found.append(str(error))

    @sl.tensor.compile
    def step(model, x):
        def loss(model, x):
            found = []
            thread = threading.Thread(target=read, args=(found,))
            thread.start()
            thread.join()
            raise sl.errors.CaptureError(found[0])

        return sl.nn.value_and_grad(loss)(model, x)[0]

    with pytest.raises(sl.errors.CaptureError, match="in a thread that the compiled step"):
        step(model, NUMPY.tensor(INPUT_ARRAY))
