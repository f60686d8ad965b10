"""Compiled programs accept scalars, empty arrays and rare dtypes, as NumPy does."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
import seqloom.nn.functional as F
from seqloom.errors import OutOfRangeError

NUMPY = sl.tensor.backend("numpy")
apply = sl.tensor.apply
compile_step: Any = sl.tensor.compile


def agrees_with_eager(step, *arrays):
    """Return whether two calls of the compiled step return the eager result."""
    tensors = [NUMPY.tensor(each) for each in arrays]
    wanted, compiled = step(*tensors).numpy(), compile_step(step)
    found = [compiled(*tensors).numpy() for _ in range(2)]
    kinds = {(each.shape, each.dtype) for each in (wanted, *found)}
    return len(kinds) == 1 and all(np.allclose(each, wanted, rtol=1e-6) for each in found)


SCALAR_STEPS = {
    "cumulative sum": lambda x: apply("cumulative_sum", x),
    "cumulative sum by axis": lambda x: apply("cumulative_sum", x * 2, axis=-1) + 1,
    "cumulative sum from 0": lambda x: apply("cumulative_sum", x, include_initial=True),
    "sum": lambda x: (x * 2).sum(axis=-1, keepdims=True),
    "max": lambda x: x.max(axis=0),
}


@pytest.mark.parametrize("step", SCALAR_STEPS.values(), ids=SCALAR_STEPS)
def test_scalars_have_no_axis_in_compiled_steps(step):
    for run in (step, compile_step(step)):
        with pytest.raises(OutOfRangeError, match="without axes has no axis"):
            run(NUMPY.tensor(np.float32(2)))


TESTED_DTYPES = ("f2", "f8", "i1", "u2", "i8", "u8", "c8", "c16", "g", ">f4")


@pytest.mark.parametrize("kind", TESTED_DTYPES)
def test_compiled_reductions_of_any_type_equal_eager_ones(kind):
    values = np.array([1, 3, 2]).astype(kind)
    assert agrees_with_eager(lambda x: (x * x).sum() + x.max() + x, values)


def test_the_maximum_of_large_integers_is_exact():
    largest = sl.tensor.compile(lambda x: (x + 0).max())
    assert largest(NUMPY.tensor(np.array([2**53 + 1, 3]))).item() == 2**53 + 1


STEPS_ON_EMPTY_ARRAYS = {
    "softmax": lambda x: F.softmax(x + 1, -1) * 2,
    "sum": lambda x: (x * 2 + 1).sum(axis=0) * 2,
    "sum of rows": lambda x: (x * 2 + 1).sum(axis=1),
    "chain": lambda x: apply("erf", x[::-1] * 2) + apply("cumulative_sum", x, axis=0),
}


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0)])
@pytest.mark.parametrize("step", STEPS_ON_EMPTY_ARRAYS.values(), ids=STEPS_ON_EMPTY_ARRAYS)
def test_compiled_steps_accept_empty_arrays(step, shape):
    assert agrees_with_eager(step, np.zeros(shape, "f4"))


STEPS_WITH_REVERSED_VIEWS = {
    "index": lambda x: x[::-1] * 2 + 1,
    "flip": lambda x: apply("flip", x) * 2 + 1,
    "sort": lambda x: apply("sort", x, descending=True) * 2 + 1,
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    "step", STEPS_WITH_REVERSED_VIEWS.values(), ids=STEPS_WITH_REVERSED_VIEWS
)
def test_compiled_steps_accept_reversed_views(step, size):
    assert agrees_with_eager(step, np.arange(size, dtype="f4"))


ARRAYS_OF_EACH_LAYOUT = {
    "turned": np.ones((3, 1), "f4")[:, ::-1],
    "a field of a record": np.zeros(1, [("a", "f4"), ("b", "i2")])["a"],
    "transposed": np.arange(6, dtype="f4").reshape(1, 6).T,
    "every second number": np.arange(6, dtype="f4")[::2],
}


@pytest.mark.parametrize("array", ARRAYS_OF_EACH_LAYOUT.values(), ids=ARRAYS_OF_EACH_LAYOUT)
def test_compiled_steps_accept_any_memory_layout(array):
    assert agrees_with_eager(lambda x: x * 2 + 1, array)


def test_a_reduction_over_an_axis_of_length_1_does_not_overwrite_its_input():
    values = np.array([[3], [1], [-1]], "i4")
    assert agrees_with_eager(
        lambda x: apply("sin", apply("any", apply("equal", x, 1), axis=-1, keepdims=True)),
        values,
    )
