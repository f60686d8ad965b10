"""Tests of `custom_gradient` and `stop_gradient`."""

import numpy as np
import pytest

import seqloom as sl

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)
grad = sl.tensor.grad

cube = sl.tensor.custom_gradient(
    lambda x: x * x * x, lambda args, _out, grad: (grad * args[0] * args[0] * 3.0,)
)
doubled = sl.tensor.custom_gradient(
    lambda x: x * 1.0, lambda _args, _out, grad: (grad * 2.0,)
)


def test_a_custom_rule_replaces_the_gradient():
    assert grad(lambda x: doubled(x) * 5.0)(NUMPY.tensor(1.0)).item() == 10.0


def test_a_custom_gradient_of_an_untracked_tensor_is_not_recorded():
    assert doubled(NUMPY.tensor(3.0)).backend is NUMPY


def test_second_derivatives_follow_from_the_custom_rule():
    assert grad(grad(cube))(NUMPY.tensor(2.0)).item() == 12.0


def test_inner_autodiff_levels_use_the_custom_rule():
    x = NUMPY.tensor(1.0)
    assert grad(lambda x: grad(lambda y: y * y)(doubled(x)))(x).item() == 4.0


def test_a_custom_rule_may_return_none_for_an_argument():
    swap = sl.tensor.custom_gradient(
        lambda x, y, power: x * y**power,
        lambda args, _out, grad: (grad * args[1], grad * args[0], None),
    )
    x, y = (
        AUTODIFF.tensor(2.0, requires_grad=True),
        AUTODIFF.tensor(5.0, requires_grad=True),
    )
    grads = swap(x, y, 1).backward()
    assert (grads.wrt(x).item(), grads.wrt(y).item()) == (5.0, 2.0)


def test_a_custom_rule_gets_a_gradient_for_each_result():
    both = sl.tensor.custom_gradient(
        lambda x: (x * 2.0, x * 3.0),
        lambda _args, _out, grad: (grad[0] * 20.0 if grad[1] is None else grad[1],),
    )
    x = AUTODIFF.tensor(1.0, requires_grad=True)
    assert both(x)[0].backward().wrt(x).item() == 20.0


def test_a_custom_gradient_rule_with_too_few_gradients_is_an_error():
    wrong = sl.tensor.custom_gradient(lambda x, y: x * y, lambda _args, _out, grad: (grad,))
    x = AUTODIFF.tensor(1.0, requires_grad=True)
    with pytest.raises(sl.errors.GradientError, match="1 gradients for 2 arguments"):
        wrong(x, x).backward()


def test_stop_gradient_applies_to_all_levels_of_autodiff():
    def square(x):
        return sl.tensor.stop_gradient(x) * x

    assert grad(square)(NUMPY.tensor(3.0)).item() == 3.0
    assert grad(grad(lambda x: square(x) * x))(NUMPY.tensor(3.0)).item() == 6.0


def test_a_dropped_result_frees_the_saved_values_of_a_custom_rule():
    import gc
    import weakref

    array = np.ones(3)
    x = AUTODIFF.tensor(array, requires_grad=True)
    out = cube(x)
    watch = weakref.ref(out)
    del out
    gc.collect()
    assert watch() is None


def run_rule(rule):
    """Run the backward pass of a function of three numbers that has a custom rule."""
    x = AUTODIFF.tensor([1.0, 2.0, 3.0], requires_grad=True)
    function = sl.tensor.custom_gradient(lambda x: x * 2.0, rule)
    return function(x).sum().backward().wrt(x)


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (NUMPY.tensor([1.0]), r"float32 of shape \(1,\)"),
        (NUMPY.tensor([[1.0, 2.0], [3.0, 4.0]]), r"float32 of shape \(2, 2\)"),
        (NUMPY.tensor([1, 2, 3]), r"int64 of shape \(3,\)"),
        (1.0, "float, not a tensor"),
    ],
)
def test_a_gradient_of_the_wrong_shape_or_type_is_an_error(part, found):
    expected = rf"argument 0 .* is {found}; expected float32 of shape \(3,\)"
    with pytest.raises(sl.errors.GradientError, match=expected):
        run_rule(lambda _args, _out, _grad: (part,))


def test_a_gradient_of_another_library_is_an_error():
    pytest.importorskip("torch")
    part = sl.tensor.backend("torch").tensor([1.0, 2.0, 3.0])
    with pytest.raises(sl.errors.GradientError, match="is on torch"):
        run_rule(lambda _args, _out, _grad: (part,))


@pytest.mark.parametrize("parts", [None, 1.0, "grad"])
def test_a_custom_gradient_rule_must_return_a_tuple(parts):
    with pytest.raises(sl.errors.GradientError, match=r"must return a tuple .* \(grad,\)"):
        run_rule(lambda _args, _out, grad: grad if parts == "grad" else parts)


def test_a_custom_rule_may_use_constants_of_the_autodiff_level():
    factor = AUTODIFF.tensor(2.0)
    assert run_rule(lambda _args, _out, grad: (grad * factor,)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("out", [None, 1.0, [1.0]])
def test_a_custom_gradient_function_must_return_a_tensor(out):
    function = sl.tensor.custom_gradient(lambda _x: out, lambda _args, _out, grad: (grad,))
    with pytest.raises(
        sl.errors.GradientError, match=f"must return a tensor .* got {type(out).__name__}"
    ):
        function(AUTODIFF.tensor([1.0], requires_grad=True))


def test_a_tracked_tensor_that_is_not_an_argument_is_an_error():
    x = AUTODIFF.tensor([1.0], requires_grad=True)
    hidden = x * x
    function = sl.tensor.custom_gradient(
        lambda _x: hidden, lambda _args, _out, grad: (grad,)
    )
    with pytest.raises(sl.errors.GradientError, match="as an argument"):
        function(x)
