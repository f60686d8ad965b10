"""Gradients, second derivatives, Hessian-vector products and Jacobians of functions."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
F, TF = sl.nn.functional, torch.nn.functional

NUMPY = sl.tensor.backend("numpy", num_threads=1)
grad = sl.tensor.grad


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def test_value_and_grad_returns_the_value_and_the_gradient():
    value, slope = sl.tensor.value_and_grad(lambda x: (x**3).sum())(
        NUMPY.tensor([1.0, 2.0])
    )
    assert value.item() == 9.0
    assert slope.numpy().tolist() == [3.0, 12.0]


def test_each_selected_argument_gets_a_gradient():
    both = grad(lambda x, _, y: (x * y).sum(), argnums=(0, 2))
    by_x, by_y = both(NUMPY.tensor([2.0]), "middle", NUMPY.tensor([5.0]))
    assert (by_x.item(), by_y.item()) == (5.0, 2.0)


def test_an_inner_derivative_is_tracked_by_the_outer_derivative():
    def outer(x):
        return x * grad(lambda y: x + y)(NUMPY.tensor(1.0))

    assert grad(outer)(NUMPY.tensor(2.0)).item() == 1.0


def test_nested_derivatives_do_not_mix_their_variables():
    slope = grad(lambda x: grad(lambda y: x * y)(NUMPY.tensor(3.0)))
    assert slope(NUMPY.tensor(2.0)).item() == 1.0


def test_third_derivatives_follow_from_nesting():
    cube = grad(grad(grad(lambda x: x**4)))
    assert cube(NUMPY.tensor(2.0)).item() == 48.0


def test_the_hessian_vector_product_of_a_linear_function_is_zero():
    product = sl.tensor.hvp(
        lambda x: (x * 3).sum(), NUMPY.tensor([1.0]), NUMPY.tensor([1.0])
    )[1]
    assert product.numpy().tolist() == [0.0]


def test_a_jacobian_equals_torch():
    x, w = values(3), values(4, 3)

    def ours(x):
        return sl.tensor.apply("tanh", sl.tensor.apply("matmul", NUMPY.tensor(w), x))

    theirs = torch.autograd.functional.jacobian(
        lambda x: torch.tanh(torch.tensor(w) @ x), torch.tensor(x)
    )
    found = sl.tensor.jacobian(ours)(NUMPY.tensor(x)).numpy()
    np.testing.assert_allclose(found, theirs.numpy(), rtol=1e-12)


def test_the_jacobian_of_a_constant_is_zero():
    found = sl.tensor.jacobian(lambda _: NUMPY.tensor([1.0, 2.0]))(NUMPY.tensor([3.0]))
    assert found.numpy().tolist() == [[0.0], [0.0]]


def test_the_gradient_of_a_nonscalar_is_an_error():
    with pytest.raises(sl.errors.GradientError, match=r"scalar, got shape \(2,\)"):
        grad(lambda x: x * 2)(NUMPY.tensor([1.0, 2.0]))


def test_an_unused_argument_is_an_error_that_names_its_shape():
    with pytest.raises(sl.errors.GradientError, match=r"shape \(2,\)"):
        grad(lambda _, y: y.sum(), argnums=(0, 1))(
            NUMPY.tensor([1.0, 2.0]), NUMPY.tensor([1.0])
        )


def test_an_argument_that_is_not_a_tensor_is_an_error():
    with pytest.raises(sl.errors.ArgumentError, match="float"):
        grad(lambda x: x)(1.0)


CLASS_LABELS = np.array([2, 0, 1])


@pytest.mark.parametrize("argnum", [1, -2])
def test_a_missing_argument_is_an_error(argnum):
    for derivative in (sl.tensor.grad, sl.tensor.jacobian):
        with pytest.raises(sl.errors.ArgumentError, match=rf"argument {argnum} .* with 1"):
            derivative(lambda x: x, argnum)(NUMPY.tensor(1.0))


def test_negative_argnums_count_from_the_end():
    x, y = NUMPY.tensor([2.0]), NUMPY.tensor([3.0])
    assert sl.tensor.jacobian(lambda x, y: x * y, -1)(x, y).tolist() == [[2]]


@pytest.mark.parametrize("out", [None, 1.0, (1.0, 2.0)])
def test_the_jacobian_of_a_function_that_does_not_return_one_tensor_is_an_error(out):
    with pytest.raises(
        sl.errors.GradientError, match=f"must return one tensor, got {type(out).__name__}"
    ):
        sl.tensor.jacobian(lambda _x: out)(NUMPY.tensor([1.0]))


def test_the_jacobian_of_an_empty_result_is_empty():
    x = NUMPY.tensor(np.zeros((0, 2), "f4"))
    assert sl.tensor.jacobian(lambda x: x * x)(x).shape == (0, 2, 0, 2)
    assert sl.tensor.jacobian(lambda x: x.sum())(x).shape == (0, 2)


@pytest.mark.parametrize("v", [[1.0], [[1.0, 2.0]], 1.0])
def test_a_vector_of_the_wrong_shape_for_a_hessian_is_an_error(v):
    with pytest.raises(sl.errors.ShapeError, match=r"\(2,\)"):
        sl.tensor.hvp(lambda x: (x**3).sum(), NUMPY.tensor([1.0, 2.0]), NUMPY.tensor(v))


def mlp(f, relu, linear):
    return lambda x, w, v: (f(linear(relu(linear(x, w)), v)) ** 2).mean()


HVP_CASES = {
    "MLP": (
        mlp(F.sigmoid, F.gelu, F.linear),
        mlp(torch.sigmoid, TF.gelu, TF.linear),
        [values(3, 4), values(5, 4), values(2, 5)],
    ),
    "conv": (
        lambda x, w, b: (F.tanh(F.conv1d(x, w, b, 2, 1)) ** 2).sum(),
        lambda x, w, b: (torch.tanh(TF.conv1d(x, w, b, 2, 1)) ** 2).sum(),
        [values(2, 4, 9), values(3, 4, 3), values(3)],
    ),
    "layer_norm": (
        lambda x, w, b: (F.layer_norm(x, (4,), w, b) ** 3).sum(),
        lambda x, w, b: (TF.layer_norm(x, (4,), w, b) ** 3).sum(),
        [values(3, 4), values(4), values(4, seed=1)],
    ),
    "batch_norm": (
        lambda x, w, b: (F.batch_norm(x, w, b)[0] ** 3).sum(),
        lambda x, w, b: (TF.batch_norm(x, None, None, w, b, training=True) ** 3).sum(),
        [values(3, 4, 5), values(4), values(4, seed=1)],
    ),
    "attention": (
        lambda q, k, v: (
            F.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2
        ).sum(),
        lambda q, k, v: (
            TF.scaled_dot_product_attention(q, k, v, is_causal=True) ** 2
        ).sum(),
        [values(2, 2, 4, 3), values(2, 2, 4, 3, seed=1), values(2, 2, 4, 3, seed=2)],
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, CLASS_LABELS),
        lambda x: TF.cross_entropy(x, torch.tensor(CLASS_LABELS)),
        [values(3, 4)],
    ),
}


@pytest.mark.parametrize("name", HVP_CASES)
def test_hessian_vector_products_equal_torch(name):
    ours, theirs, points = HVP_CASES[name]
    ways = [values(*point.shape, seed=7) for point in points]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        value, expected = torch.autograd.functional.hvp(
            theirs, tuple(map(torch.tensor, points)), tuple(map(torch.tensor, ways))
        )
    found, products = sl.tensor.hvp(
        ours, [NUMPY.tensor(each) for each in points], [NUMPY.tensor(each) for each in ways]
    )
    np.testing.assert_allclose(found.item(), value.item(), rtol=1e-12)
    for one, other in zip(products, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-9)
