"""Tests of the tensors that a scope releases or keeps, and of the error messages."""

import threading

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ReleasedError

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def is_released(tensor):
    try:
        tensor.shape  # noqa: B018
    except ReleasedError:
        return True
    return False


def test_tensors_created_in_a_scope_are_released_at_its_end():
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0])
        y = x + x
    assert is_released(x)
    assert is_released(y)


def test_tensors_created_before_a_scope_are_kept():
    x = NUMPY.tensor([1.0])
    with sl.tensor.scope():
        x + x
    assert x.item() == 1


def test_the_error_names_the_line_of_the_tensor_and_explains_keep():
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0]) * 2  # The error names this line.
    line = test_the_error_names_the_line_of_the_tensor_and_explains_keep
    number = line.__code__.co_firstlineno + 2
    with pytest.raises(ReleasedError, match=rf"test_scope\.py:{number} .*\.keep\(\)"):
        x.item()


USES_OF_A_TENSOR = {
    "an operator": lambda x: x + 1,
    "an operator on the right": lambda x: 1 + x,
    "an operator with a tensor": lambda x: NUMPY.tensor([1.0]) * x,
    "a comparison": lambda x: x == NUMPY.tensor([1.0]),
    "a method": lambda x: x.sum(),
    "an index": lambda x: x[0],
    "iteration": list,
    "its length": len,
    "its shape": lambda x: x.shape,
    "its type": lambda x: x.dtype,
    "its truth": bool,
    "its number": float,
    "its values": lambda x: x.numpy(),
    "its list": lambda x: x.tolist(),
    "NumPy": np.asarray,
    "DLPack": np.from_dlpack,
    "detaching": lambda x: x.detach().numpy(),
    "moving": lambda x: x.to(AUTODIFF) + 1,
    "a function": lambda x: sl.tensor.apply("concat", [NUMPY.tensor([1.0]), x], axis=0),
    "a choice": lambda x: sl.tensor.apply("where", NUMPY.tensor([True]), x, x),
}


@pytest.mark.parametrize("use", USES_OF_A_TENSOR)
def test_every_use_of_a_released_tensor_is_an_error(use):
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0])
    with pytest.raises(ReleasedError, match="released when its scope ended"):
        USES_OF_A_TENSOR[use](x)


@pytest.mark.parametrize("name", ["torch", "jax"])
@pytest.mark.parametrize("use", ["an operator", "an index", "a method", "its values"])
def test_other_libraries_reject_a_released_tensor(name, use):
    pytest.importorskip(name)
    with sl.tensor.scope():
        x = sl.tensor.backend(name).tensor([1.0])
    with pytest.raises(ReleasedError):
        USES_OF_A_TENSOR[use](x)


def test_a_released_tracked_tensor_gives_no_gradients():
    with sl.tensor.scope():
        x = AUTODIFF.tensor([1.0], requires_grad=True)
        y = (x * x).sum()
    with pytest.raises(ReleasedError):
        y.backward()


def test_a_released_tensor_can_be_printed():
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0])
    assert "released" in repr(x)
    assert "test_scope.py" in repr(x)


def test_kept_tensors_survive_the_scope():
    with sl.tensor.scope():
        x = (NUMPY.tensor([1.0]) * 3).keep()
    assert x.item() == 3


def test_tensors_kept_by_an_inner_scope_belong_to_the_outer_scope():
    with sl.tensor.scope():
        with sl.tensor.scope():
            x, y = NUMPY.tensor([1.0]).keep(), NUMPY.tensor([1.0])
        assert (is_released(x), is_released(y)) == (False, True)
    assert is_released(x)


def test_a_tensor_of_the_outer_scope_survives_the_inner_one():
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0])
        with sl.tensor.scope():
            x + x
        assert x.item() == 1


def test_keep_in_an_inner_scope_keeps_a_tensor_of_the_outer_scope():
    with sl.tensor.scope():
        x = NUMPY.tensor([1.0])
        with sl.tensor.scope():
            x.keep()
    assert x.item() == 1


def test_keep_outside_of_a_scope_has_no_effect():
    x = NUMPY.tensor([1.0])
    assert x.keep() is x


def test_a_scope_that_ends_with_an_error_releases_its_tensors():
    made = []

    @sl.tensor.scope()
    def fail():
        made.append(NUMPY.tensor([1.0]))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert is_released(made[0])


def test_a_scope_belongs_to_its_thread():
    made = []
    with sl.tensor.scope():
        thread = threading.Thread(target=lambda: made.append(NUMPY.tensor([1.0])))
        thread.start()
        thread.join()
    assert made[0].item() == 1


def test_parameters_buffers_and_optimisers_survive_the_scope():
    layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
    opt = sl.optim.AdamW()
    for _ in range(2):
        with sl.tensor.scope():
            loss, grads = sl.nn.value_and_grad(lambda n, x: n(x).sum())(
                layer, NUMPY.tensor([[1.0, 2.0]])
            )
            loss.item()
            opt.step(0.1, layer, grads)
            layer.bias.assign(NUMPY.tensor([5.0]))
    assert layer.bias.value.item() == 5
    assert layer(NUMPY.tensor([[0.0, 0.0]])).item() == 5


def test_gradients_can_be_read_after_the_scope():
    layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
    with sl.tensor.scope():
        x = NUMPY.tensor([[1.0, 2.0]])
        _, grads = sl.nn.value_and_grad(lambda n: n(x).sum())(layer)
    assert grads.wrt(layer.weight).tolist() == [[1, 2]]


def test_a_scope_can_decorate_a_function():
    @sl.tensor.scope()
    def step():
        return NUMPY.tensor([1.0])

    assert is_released(step())
    assert is_released(step())


def test_tensors_created_while_scopes_are_suspended_are_never_released():
    from seqloom.tensor._origin import suspend_scopes

    with sl.tensor.scope():
        with suspend_scopes():
            x = NUMPY.tensor([1.0])
        y = NUMPY.tensor([1.0])
    assert (is_released(x), is_released(y)) == (False, True)


def open_scope():
    """Return an open scope."""
    opened = sl.tensor.scope()
    opened.__enter__()
    return opened


def test_scopes_that_end_in_the_wrong_order_are_all_closed():
    outer, inner = open_scope(), open_scope()
    outer.__exit__(None, None, None)
    x = NUMPY.tensor([1.0])
    assert not is_released(x)
    inner.__exit__(None, None, None)
    assert is_released(x)
    assert not is_released(NUMPY.tensor([1.0]))
    with sl.tensor.scope():
        y = NUMPY.tensor([1.0])
    assert is_released(y)


def test_the_outermost_scope_stays_open_if_inner_scopes_end_in_the_wrong_order():
    with sl.tensor.scope():
        outer, inner = open_scope(), open_scope()
        outer.__exit__(None, None, None)
        x = NUMPY.tensor([1.0]).keep()
        inner.__exit__(None, None, None)
        y = NUMPY.tensor([1.0])
        assert not is_released(x)
    assert is_released(x)
    assert is_released(y)


def closed_by_another_thread():
    """Return a tensor from the scope of a generator that another thread closed."""

    def holding():
        with sl.tensor.scope():
            yield NUMPY.tensor([1.0])

    generator = holding()
    x = next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()
    return x


def test_a_scope_closed_by_another_thread_releases_its_tensors():
    assert is_released(closed_by_another_thread())
    x, y = NUMPY.tensor([1.0]), AUTODIFF.tensor([1.0], requires_grad=True)
    z = y * y
    with sl.tensor.scope():
        pass
    assert not any(map(is_released, (x, y, z)))


def test_after_a_scope_closed_by_another_thread_the_outer_scope_is_active():
    with sl.tensor.scope():
        closed_by_another_thread()
        x, y = NUMPY.tensor([1.0]), NUMPY.tensor([1.0])
    assert is_released(x)
    assert is_released(y)
